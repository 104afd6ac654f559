package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJobErrorsAreSummedOverAllKinds(t *testing.T) {
	for result, want := range map[string]int{
		"": 0, "null": 0, "[]": 0, `{"created":3,"updated":1,"errors":2}`: 2,
		`{"stats":{"items":{"created":1,"errors":3},"taxes":{"errors":1}},"warnings":[]}`: 4,
	} {
		require.Equal(t, want, FailedObjects([]byte(result)), result)
	}
}
