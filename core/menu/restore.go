package menu

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// RestoreJob returns the job of an ordinary request that gives the fields of a difference the values that they had
// before. Present is the object as it is now, in the form of a difference; its price is kept where a request needs one.
//
// RestoreJob returns false if no request can do that. This is so for stores, taxes, charges and associations, for an
// object that did not exist before, and if no changed field had a value.
func RestoreJob(business core.BusinessID, d Difference, present jsontext.Value,
	now time.Time) (core.Job, bool) {
	job := core.Job{ID: core.NewID(now), Business: business, CreatedAt: now}
	if d.Before == nil || d.Relation != "" {
		return job, false
	}
	if d.Entity == TimingsEntity {
		job.Kind = core.TimingJob
		return withBody(job, TimingsEntity, d.Before)
	}
	fields, after := formerFields(d, d.Before), formerFields(d, d.After)
	for name, value := range fields {
		if string(after[name]) == string(value) {
			delete(fields, name)
		}
	}
	if len(fields) == 0 || d.RefID == "" || d.Location == "" && d.After == nil {
		return job, false
	}
	job.Kind, job.Subject = core.MenuJob, MasterLocation
	if d.Location != "" {
		job.Subject = d.Location
	}
	if price, ok := formerFields(d, present)["price"]; ok && fields["price"] == nil {
		fields["price"] = price
	}
	fields["ref_id"], _ = json.Marshal(d.RefID)
	return withBody(job, d.Entity, fields)
}

func withBody(job core.Job, array string, object any) (core.Job, bool) {
	var err error
	job.Body, err = json.Marshal(map[string]any{array: []any{object}}, json.Deterministic(true))
	return job, err == nil
}

// formerFields returns the fields of one side of a difference that a request can set.
func formerFields(d Difference, side jsontext.Value) map[string]jsontext.Value {
	fields := map[string]jsontext.Value{}
	switch d.Entity {
	case Items.String(), Options.String(), Categories.String(), OptionGroups.String():
	default:
		return fields
	}
	if side != nil && d.Location != "" {
		_ = json.Unmarshal(side, &fields)
	} else if side != nil {
		var stored struct {
			Active jsontext.Value            `json:"active"`
			Record map[string]jsontext.Value `json:"record"`
		}
		_ = json.Unmarshal(side, &stored)
		if fields = stored.Record; fields == nil {
			fields = map[string]jsontext.Value{}
		}
		if d.Entity == Categories.String() || d.Entity == OptionGroups.String() {
			fields["active"] = stored.Active
		} else {
			delete(fields, "active")
		}
	}
	delete(fields, "id")
	delete(fields, "ref_id")
	return fields
}
