package devpg

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// immediateWait is kept back for an immediate shutdown: PostgreSQL itself
	// kills backends that ignore one after five seconds.
	immediateWait = 6 * time.Second
	evictWait     = 10 * time.Second
)

// stop shuts the server down: fast first, which disconnects everybody and
// writes a checkpoint, then immediate, which leaves recovery to the next
// start. The last third of the time, at most six seconds, is for the latter.
func (s *Server) stop(ctx context.Context, pid int) error {
	cluster := s.layout.cluster()
	if !isServer(pid, cluster) {
		return nil
	}
	if err := signal(pid, cluster, syscall.SIGINT); err != nil {
		return err
	}
	fast := ctx
	if deadline, ok := ctx.Deadline(); ok {
		reserve := min(time.Until(deadline)/3, immediateWait)
		var cancel context.CancelFunc
		fast, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	if !awaitExit(fast, pid, cluster) {
		if ctx.Err() != nil {
			// It finishes by itself; an immediate shutdown would gain nothing.
			return fmt.Errorf("private PostgreSQL (pid %d) is still shutting down: %w", pid, ctx.Err())
		}
		s.log.Warn("stopping PostgreSQL with SIGQUIT", "pid", pid)
		if err := signal(pid, cluster, syscall.SIGQUIT); err != nil {
			return err
		}
		if !awaitExit(ctx, pid, cluster) {
			return fmt.Errorf("private PostgreSQL (pid %d) does not stop: %w", pid, ctx.Err())
		}
	}
	if s.child != nil {
		s.child.awaitReaped(ctx)
	}
	// Only an empty directory goes; the next start makes it again.
	_ = os.Remove(filepath.Dir(s.socket))
	s.log.Info("private PostgreSQL stopped", "pid", pid)
	return nil
}

// evict ends a server whose cluster was deleted under it. It has nothing left
// to save, and its socket is in the way of the one for the new cluster.
func evict(ctx context.Context, pid int, cluster string) error {
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		if err := signal(pid, cluster, sig); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, evictWait)
		gone := awaitExit(wait, pid, cluster)
		cancel()
		if gone {
			return nil
		}
	}
	return fmt.Errorf("PostgreSQL (pid %d) of a deleted cluster does not stop", pid)
}
