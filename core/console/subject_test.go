package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubjectIsReadFromTheBody(t *testing.T) {
	for body, want := range map[string]string{
		`{"order_id":12}`: "order 12", `{"order_id":"12"}`: "order 12", `{"order":{"details":{"id":12}}}`: "order 12",
		`{"location_ref_id":"S-1","items":[]}`: "location S-1", `{"stores":[]}`: "", `[]`: "", ``: "",
	} {
		require.Equal(t, want, SubjectOf([]byte(body)), body)
	}
}

func TestSubmittedBodyOmitsHubFields(t *testing.T) {
	require.JSONEq(t, `{"items":[{"ref_id":"a","price":9.50}],"flush_items":true}`,
		string(Submitted([]byte(`{"reference":"r","stats":{},"items":[{"ref_id":"a","price":9.50,`+
			`"upipr_status":{"error":false},"warnings":[]}],"flush_items":true}`))))
	require.Contains(t, string(Submitted([]byte(`{"items":[{"price":9.50,"upipr_status":{}}]}`))), "9.50",
		"numbers keep every digit")
	require.Equal(t, "no json", string(Submitted([]byte("no json"))))
}
