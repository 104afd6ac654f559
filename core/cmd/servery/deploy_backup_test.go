package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWALSegmentIsArchivedAtomically(t *testing.T) {
	dir := t.TempDir()
	segment, archived := filepath.Join(dir, "segment"), filepath.Join(dir, "archived")
	script, err := filepath.Abs(filepath.Join(root, "deploy", "archive.sh"))
	require.NoError(t, err)
	content := bytes.Repeat([]byte("wal"), 1<<16)
	require.NoError(t, os.WriteFile(segment, content, 0o600))
	archive := func(before string) error {
		return exec.Command("sh", "-c", before+`exec "$0" "$@"`, script, segment, archived).Run()
	}
	require.Error(t, archive("ulimit -f 8; "), "the disk is full")
	require.NoFileExists(t, archived)
	for range 2 { // the second time where the server has lost that it was done
		require.NoError(t, archive(""))
		there, err := os.ReadFile(archived)
		require.NoError(t, err)
		require.Equal(t, content, there)
	}
	require.NoError(t, os.WriteFile(segment, []byte("of another server"), 0o600))
	require.Error(t, archive(""))
	there, err := os.ReadFile(archived)
	require.NoError(t, err)
	require.Equal(t, content, there)
}
