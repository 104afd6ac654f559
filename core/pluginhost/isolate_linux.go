package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate sets up the namespaces of which this process is the first: the hidden
// directories are empty, the plugin's own is there, /proc shows what runs inside, and
// there is no network. Then it gives up the capabilities that this took, for good.
func isolate(order shimOrder) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("the namespace of mounts: %w", err)
	}
	own, err := unix.Open(order.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", order.Dir, err)
	}
	for _, dir := range order.Hidden {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue // what cannot be reached needs no hiding
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64k,mode=0755"); err != nil {
			return fmt.Errorf("hiding %s: %w", dir, err)
		}
	}
	if err := showAgain(own, order.Dir); err != nil {
		return fmt.Errorf("showing %s: %w", order.Dir, err)
	}
	for _, dir := range order.Hidden {
		_ = unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	// Refused where parts of /proc are covered, as in containers. The one that is there
	// opens nothing outside: its processes belong to another namespace of users.
	err = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("/proc: %w", err)
	}
	return surrender()
}

// showAgain binds a directory to its path where that is covered now.
func showAgain(own int, dir string) error {
	var before, now unix.Stat_t
	if err := unix.Fstat(own, &before); err != nil {
		return err
	}
	if err := unix.Stat(dir, &now); err == nil && now.Dev == before.Dev && now.Ino == before.Ino {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return unix.Mount(fmt.Sprintf("/proc/self/fd/%d", own), dir, "", unix.MS_BIND, "")
}

// surrender gives up all capabilities of this thread and of what it will start. Other
// threads keep theirs, so nothing may look into this process.
func surrender() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, syscall.EINVAL) { // the last was the one before
			break
		}
		if err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
	}
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return hide()
}
