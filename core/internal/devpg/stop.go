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
	// immediateWait is reserved for an immediate shutdown: PostgreSQL kills backends that ignore one after 5 s.
	immediateWait = 6 * time.Second
	evictWait     = 10 * time.Second
)

// stop shuts the server down: first fast, which disconnects clients and writes a checkpoint, then immediately, which
// requires recovery at the next start. The last third of the time, at most 6 s, is for the immediate shutdown.
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
			// The shutdown continues, so an immediate one has no benefit.
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
	// This removes only an empty directory, which the next start creates again.
	_ = os.Remove(filepath.Dir(s.socket))
	s.log.Info("private PostgreSQL stopped", "pid", pid)
	return nil
}

// evict kills a server whose cluster was deleted. It has nothing to save, and it occupies the socket of the new
// cluster.
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
