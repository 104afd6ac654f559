package pluginhost

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/pluginhost/shim"
)

// sparseFile creates a file that takes no space on the disk.
func sparseFile(t *testing.T, path string, size int64) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, size))
}

func TestPluginWithTooManyFilesIsEnded(t *testing.T) {
	inBothModes(t, func(t *testing.T, s *testHost) {
		s.ready("good")
		first := s.status().PID
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", first))
		require.NoError(t, err)
		environment, err := s.check(t.Context(), "read", "/proc/self/environ")
		require.NoError(t, err)
		require.Contains(t, environment, "TMPDIR="+dir+"\x00")
		below := filepath.Join(dir, "cache")
		require.NoError(t, os.Mkdir(below, 0o700))
		for n := range maxFiles/shim.MaxFileSize + 1 {
			sparseFile(t, filepath.Join(below, fmt.Sprint(n)), shim.MaxFileSize)
		}
		s.advanceUntil("it is replaced", s.replaced(first))
		require.Contains(t, s.lastFault(), "its files had more than 256 MB together")
		require.NoDirExists(t, dir)
	})
}

func TestFilesOfAPluginAreMeasured(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	sparseFile(t, program, 1<<30)
	require.Zero(t, filesBelow(dir, program, maxFiles))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	sparseFile(t, filepath.Join(dir, "a", "b"), 1000)
	require.NoError(t, os.Symlink("/", filepath.Join(dir, "root")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.EqualValues(t, 1000+4*entryCost, filesBelow(dir, program, maxFiles))
	for n := range 2 * entriesAtOnce {
		sparseFile(t, filepath.Join(dir, "a", fmt.Sprint("n", n)), 0)
	}
	require.EqualValues(t, 1000+(4+2*entriesAtOnce)*entryCost, filesBelow(dir, program, maxFiles))
	require.Less(t, filesBelow(dir, program, 10*entryCost), uint64(1000+(10+entriesAtOnce)*entryCost))
	require.Zero(t, filesBelow(filepath.Join(dir, "none"), program, maxFiles))
}
