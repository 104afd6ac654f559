package access

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRestoredUsesKeepTheLatest(t *testing.T) {
	var usage KeyUsage
	early := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	usage.record(Key{Business: 1, ID: 1}, early)
	usage.record(Key{Business: 1, ID: 2}, early)
	failed := usage.Take()
	require.Empty(t, usage.Take())
	usage.record(Key{Business: 1, ID: 2}, early.Add(time.Minute))
	usage.Restore(failed)
	require.Equal(t, map[KeyRef]time.Time{{1, 1}: early, {1, 2}: early.Add(time.Minute)}, usage.Take())
	usage.Restore(failed)
	require.Equal(t, failed, usage.Take())
}
