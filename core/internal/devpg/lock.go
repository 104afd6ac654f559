package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core"
)

const lockInterval = 25 * time.Millisecond

// fileLock is an flock on a file. The kernel releases it when the process dies.
type fileLock struct {
	path string
	file *os.File
}

// acquire takes the lock, shared or exclusive, and waits until ctx ends. If it must wait and waiting is not nil, it
// calls waiting once.
func acquire(ctx context.Context, path string, how int, waiting func()) (*fileLock, error) {
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		lock, err := openAndTry(path, how)
		if err != nil || lock != nil {
			return lock, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}

// openAndTry returns the acquired lock. It returns nil if another process holds the lock or the file was replaced
// meanwhile.
func openAndTry(path string, how int) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, os.ErrPermission) {
		return nil, core.WithRemedy(
			fmt.Errorf("open lock: %w (another user, perhaps root, runs this data directory)", err), ownerRemedy)
	}
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	lock := &fileLock{path: path, file: file}
	ok, err := lock.try(how)
	if err != nil {
		lock.release()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok || !lock.isCurrent() {
		lock.release()
		return nil, nil
	}
	return lock, nil
}

// try takes or converts the lock without waiting. A failed conversion may lose the previous lock.
func (l *fileLock) try(how int) (bool, error) {
	for {
		err := syscall.Flock(int(l.file.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

// isCurrent reports whether the locked file is still at its path. A lock on a deleted file protects nothing.
func (l *fileLock) isCurrent() bool {
	mine, err := l.file.Stat()
	if err != nil {
		return false
	}
	current, err := os.Lstat(l.path)
	return err == nil && os.SameFile(mine, current)
}

// release unlocks before it closes, because a forked child that has not yet executed shares the file and would keep the
// lock. A second call does nothing.
func (l *fileLock) release() {
	if l.file == nil {
		return
	}
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	_ = l.file.Close()
	l.file = nil
}
