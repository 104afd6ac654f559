package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	path := filepath.Join(dir, "program")
	sparseFile(t, path, 1<<30)
	program, err := os.Lstat(path)
	require.NoError(t, err)
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

func TestFilesInPlaceOfTheProgramCount(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	sparseFile(t, path, 1<<30)
	kept, err := os.Open(path) // as by its process
	require.NoError(t, err)
	defer kept.Close()
	program, err := kept.Stat()
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	sparseFile(t, path, 1000)
	require.EqualValues(t, 1000+entryCost, filesBelow(dir, program, maxFiles))
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	sparseFile(t, filepath.Join(path, "file"), 1000)
	require.EqualValues(t, 1000+2*entryCost, filesBelow(dir, program, maxFiles))
}

func TestReservedSpaceOfAFileCounts(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "file"))
	require.NoError(t, err)
	defer file.Close()
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	if err := syscall.Fallocate(int(file.Fd()), keepSize, 0, 1<<20); errors.Is(err, syscall.EOPNOTSUPP) {
		t.Skip("this file system cannot reserve space")
	} else {
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, filesBelow(dir, nil, maxFiles), uint64(1<<20))
}

func TestFilesBelowTooLongAPathCount(t *testing.T) {
	dir := t.TempDir()
	nest(t, dir, 25, strings.Repeat("d", 200))
	require.EqualValues(t, uint64(unmeasured), filesBelow(dir, nil, maxFiles))
}

func TestFilesInUnreadableDirectoriesCount(t *testing.T) {
	for _, mode := range []os.FileMode{0o300, 0o600, 0} {
		asOrdinaryUser(t, func() error {
			file := filepath.Join("plugin", "sub", "file")
			err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600),
				os.Chmod(filepath.Dir(file), mode))
			if used := filesBelow("plugin", nil, maxFiles); used != unmeasured {
				err = errors.Join(err, fmt.Errorf("mode %v: %d bytes", mode, used))
			}
			return errors.Join(err, os.Chmod(filepath.Dir(file), 0o700)) // so that the test can remove it
		})
	}
}
