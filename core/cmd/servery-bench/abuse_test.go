package main

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHostileJSONHasItsSize(t *testing.T) {
	for _, body := range [][]byte{wideJSON(1 << 10), deepJSON(1 << 10)} {
		require.True(t, json.Valid(body), "%s", body)
		require.InDelta(t, 1<<10, len(body), 20)
	}
}

func TestProcessorTimeIncludesEndedChildren(t *testing.T) {
	used, parent, err := processorTimeOf([]byte("7 (a (odd) name) S 3 7 7 0 -1 4194560 1 2 0 0 10 20 300 4000 20 0 1 0 5"))
	require.NoError(t, err)
	require.Equal(t, 3, parent)
	require.Equal(t, 4330*clockTick, used)
	_, _, err = processorTimeOf([]byte("7 (short) S 3"))
	require.Error(t, err)

	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("the system has no /proc")
	}
	used, parent, err = processorTimeOf(stat)
	require.NoError(t, err)
	require.Equal(t, os.Getppid(), parent)
	require.Less(t, used, 24*time.Hour)
}
