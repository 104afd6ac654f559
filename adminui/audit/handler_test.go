package audit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuditEntryShowsItsDifferences(t *testing.T) {
	for detail, want := range map[string][2]string{
		`{}`:   {"", ""},
		`null`: {"", ""},
		`{"why":"moved","before":{"active":true,"role":"a"},"after":{"active":false,"role":"a"}}`: {"moved",
			"active true → false"},
		`{"after":{"username":"till","scope":"pos"}}`: {"", "scope pos, username till"},
		`{"reason":"410 Gone","delivery":"01a1"}`:     {"410 Gone", "delivery 01a1"},
	} {
		why, changes := summarize([]byte(detail))
		require.Equal(t, want, [2]string{why, changes}, detail)
	}
}
