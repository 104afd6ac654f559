package menu_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

func TestRestoreSendsTheValuesBefore(t *testing.T) {
	for name, test := range map[string]struct {
		difference menu.Difference
		present    string
		location   string
		body       string // "": not possible
	}{
		"master record": {
			menu.Difference{Entity: "items", RefID: "dal",
				Before: jsontext.Value(`{"active":true,"record":{"id":1,"ref_id":"dal","title":"Dal","price":5}}`),
				After: jsontext.Value(`{"active":false,"record":{"id":1,"ref_id":"dal","title":"Dal","price":6,` +
					`"serves":2}}`)},
			"", "-1", `{"items":[{"price":5,"ref_id":"dal"}]}`},
		"inactive category": {
			menu.Difference{Entity: "categories", RefID: "hot", Before: jsontext.Value(`{"active":true,"record":{}}`),
				After: jsontext.Value(`{"active":false,"record":{}}`)},
			"", "-1", `{"categories":[{"active":true,"ref_id":"hot"}]}`},
		"values of a store": {
			menu.Difference{Entity: "items", RefID: "dal", Location: "s1", Before: jsontext.Value(`{"price":5}`),
				After: jsontext.Value(`{"price":6}`)},
			"", "s1", `{"items":[{"price":5,"ref_id":"dal"}]}`},
		"title alone": {
			menu.Difference{Entity: "items", RefID: "dal",
				Before: jsontext.Value(`{"active":true,"record":{"title":"Dal","price":5}}`),
				After:  jsontext.Value(`{"active":true,"record":{"title":"Soup","price":5}}`)},
			`{"active":true,"record":{"title":"Stew","price":7}}`,
			"-1", `{"items":[{"price":7,"ref_id":"dal","title":"Dal"}]}`},
		"removed from a store": {
			menu.Difference{Entity: "options", RefID: "egg", Location: "s1", Before: jsontext.Value(`{"price":5}`)},
			"", "s1", `{"options":[{"price":5,"ref_id":"egg"}]}`},
		"timing group": {
			menu.Difference{Entity: "timing_groups", RefID: "Lunch", Before: jsontext.Value(`{"title":"Lunch"}`)},
			"", "", `{"timing_groups":[{"title":"Lunch"}]}`},
		"created": {difference: menu.Difference{Entity: "items", RefID: "dal", After: jsontext.Value(`{"record":{}}`)}},
		"no former value": {difference: menu.Difference{Entity: "items", RefID: "dal",
			Before: jsontext.Value(`{"active":true,"record":{}}`),
			After:  jsontext.Value(`{"active":true,"record":{"serves":2}}`)}},
		"association": {difference: menu.Difference{Entity: "items", RefID: "dal", Relation: "category_ref_ids",
			Before: jsontext.Value(`{"ref_id":"hot","position":1}`)}},
		"tax": {difference: menu.Difference{Entity: "taxes", Before: jsontext.Value(`{"active":true,"record":{"a":1}}`),
			After: jsontext.Value(`{"active":true,"record":{"a":2}}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			job, ok := menu.RestoreJob(7, test.difference, jsontext.Value(test.present), time.Now())
			require.Equal(t, test.body != "", ok)
			if !ok {
				return
			}
			require.JSONEq(t, test.body, string(job.Body))
			require.Equal(t, test.location, job.Subject)
			require.Equal(t, core.BusinessID(7), job.Business)
		})
	}
}
