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
	for range 2 { // again, as if the server had lost the confirmation
		require.NoError(t, archive(""))
		archivedText, err := os.ReadFile(archived)
		require.NoError(t, err)
		require.Equal(t, content, archivedText)
	}
	require.NoError(t, os.WriteFile(segment, []byte("of another server"), 0o600))
	require.Error(t, archive(""))
	archivedText, err := os.ReadFile(archived)
	require.NoError(t, err)
	require.Equal(t, content, archivedText)
}
