package pluginhost

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// nest creates directories of one name, each in the one before, however long their path gets.
func nest(t *testing.T, dir string, levels int, name string) {
	t.Helper()
	at, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	require.NoError(t, err)
	for range levels {
		require.NoError(t, syscall.Mkdirat(at, name, 0o700))
		next, err := syscall.Openat(at, name, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
		require.NoError(t, err)
		require.NoError(t, syscall.Close(at))
		at = next
	}
	require.NoError(t, syscall.Close(at))
}

// asOrdinaryUser calls f in an empty directory. If the tests run as root, the file system sees another user.
func asOrdinaryUser(t *testing.T, f func() error) {
	t.Helper()
	const nobody = 65534
	dir := t.TempDir()
	t.Chdir(dir) // the directories above belong to root
	done := make(chan error)
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(dir, nobody, nobody))
	}
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		if os.Getuid() == 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
		}
		done <- f()
	}()
	require.NoError(t, <-done)
}

// unreadable creates a directory below which others cannot be read.
func unreadable(dir string) error {
	below := filepath.Join(dir, "write-only", "closed")
	return errors.Join(os.MkdirAll(below, 0o700), os.WriteFile(filepath.Join(below, "file"), nil, 0o400),
		os.Chmod(below, 0), os.Chmod(filepath.Dir(below), 0o300), os.Chmod(dir, 0o500))
}

func requireEmpty(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestUnreadableDirectoriesOfAPluginAreRemoved(t *testing.T) {
	asOrdinaryUser(t, func() error { return errors.Join(unreadable("plugin"), removePluginDir("plugin")) })
	requireEmpty(t)
}

func TestUnreadableStaleDirectoriesAreRemoved(t *testing.T) {
	asOrdinaryUser(t, func() error {
		err := errors.Join(unreadable("stale/1"), unreadable("stale/2"),
			os.WriteFile(filepath.Join("stale", lockFileName), nil, 0o600))
		removeStale("stale")
		return err
	})
	requireEmpty(t)
}

func TestNestedDirectoriesAreRemovedWithFewFiles(t *testing.T) {
	const levels = 5000
	dir := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.Mkdir(dir, 0o700))
	nest(t, dir, levels, "d")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "0"), 0o700))
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = min(before.Cur, 200)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	err := removePluginDir(dir)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
	require.NoError(t, err)
	require.NoDirExists(t, dir)
}

func TestRemovalFollowsNoLinks(t *testing.T) {
	kept := t.TempDir()
	file := filepath.Join(kept, "sub", "file")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o500))
	for n, target := range []string{kept, filepath.Dir(file)} {
		link := filepath.Join(t.TempDir(), strconv.Itoa(n))
		require.NoError(t, os.Symlink(target, link))
		require.NoError(t, removePluginDir(link))
		require.NoError(t, os.Symlink(target, link))
		require.NoError(t, removeRuntimeDir(link))
		dir := filepath.Join(filepath.Dir(link), "plugin")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Symlink(target, filepath.Join(dir, "link")))
		require.NoError(t, removePluginDir(dir))
		require.NoDirExists(t, dir)
	}
	info, err := os.Stat(filepath.Dir(file))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o500), info.Mode().Perm())
}
