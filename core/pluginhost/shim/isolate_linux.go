package shim

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharedDir is the directory of shared memory. It is empty and bounded for a plugin, unless the hub's directory of
// temporary files is below it.
const sharedDir = "/dev/shm"

// isolate sets up the namespaces, as their first process. The hidden directories are empty, except for the plugin's
// own. /proc shows only processes inside, and there is no network. It then drops the capabilities that this required,
// permanently.
func isolate(order Order) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("creating the mount namespace: %w", err)
	}
	own, err := unix.Open(order.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", order.Dir, err)
	}
	for _, dir := range order.Hidden {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue // an unreachable directory needs no hiding
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
			"size=64k,mode=0755"); err != nil {
			return fmt.Errorf("hiding %s: %w", dir, err)
		}
	}
	if _, err := os.Stat(sharedDir); err == nil && !strings.HasPrefix(order.Dir, sharedDir+"/") {
		if err := unix.Mount("tmpfs", sharedDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
			"size="+maxShared+",nr_inodes=1k,mode=1777"); err != nil {
			return fmt.Errorf("bounding %s: %w", sharedDir, err)
		}
	}
	// Mapped as shared, /dev/zero is memory that no limit bounds. /dev/full reads as zeros and cannot be mapped.
	_ = unix.Mount("/dev/full", "/dev/zero", "", unix.MS_BIND, "")
	if err := rebind(own, order.Dir); err != nil {
		return fmt.Errorf("showing %s: %w", order.Dir, err)
	}
	for _, dir := range order.Hidden {
		_ = unix.Mount("", dir, "",
			unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	// Refused if parts of /proc are covered, as in containers. The existing /proc gives no access to outside
	// processes, because they belong to another user namespace.
	err = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return dropCapabilities()
}

// rebind binds a directory to its path if a mount covers it.
func rebind(own int, dir string) error {
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

// dropCapabilities drops all capabilities of this thread and its children. Other threads keep theirs, so this process
// is made undumpable.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping ambient capabilities: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, syscall.EINVAL) { // past the last capability
			break
		}
		if err != nil {
			return fmt.Errorf("dropping the bounding set: %w", err)
		}
	}
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return HideMemory()
}
