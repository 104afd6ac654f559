package devpg

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core"
)

const (
	stateInterval = 25 * time.Millisecond
	// shmRetryInterval is the pause between starts while backends of a killed server end.
	shmRetryInterval = 200 * time.Millisecond
	// foreignDelay is how long another server must respond at our socket before it counts as foreign. Pid files change
	// while a server starts or stops.
	foreignDelay = time.Second
)

// bringUp joins the running server or starts it. The caller holds the start lock and a shared users lock.
func (s *Server) bringUp(ctx context.Context, cfg Config) error {
	joined, err := s.join(ctx)
	if err != nil || joined {
		return err
	}
	bins, err := ensureBinaries(ctx, cfg, s.layout)
	if err != nil {
		return err
	}
	// The installation may have created the user postgres.
	if s.layout, err = locate(s.layout.data, cfg.machine.fallbackRoot); err != nil {
		return err
	}
	ctx, cancel := withDefaultTimeout(ctx, startWait)
	defer cancel()
	if err := createCluster(ctx, s.log, s.layout, bins, cfg); err != nil {
		return err
	}
	if err := writeSettings(s.layout.cluster(), s.layout.owner, cfg.Settings); err != nil {
		return err
	}
	return s.startProcess(ctx, bins)
}

// join waits for a server that is running, starting or stopping. It reports whether one is ready.
func (s *Server) join(ctx context.Context) (bool, error) {
	ctx, cancel := withDefaultTimeout(ctx, startWait)
	defer cancel()
	up, err := s.await(ctx, nil)
	if err != nil || !up {
		return false, err
	}
	s.log.Info("joined the running private PostgreSQL", "pid", s.pid, "socket", s.socket)
	return true, nil
}

// startProcess starts the server and waits until it is ready.
func (s *Server) startProcess(ctx context.Context, bins binaries) error {
	tick := time.NewTicker(shmRetryInterval)
	defer tick.Stop()
	for {
		child, err := launch(s.layout, bins)
		if err != nil {
			return err
		}
		s.child, s.pid = child, child.pid
		s.socket = filepath.Join(s.layout.socketDir(), socketName)
		_, err = s.await(ctx, child)
		if err == nil {
			s.log.Info("private PostgreSQL started", "pid", s.pid, "postgresql", bins.major,
				"cluster", s.layout.cluster(), "socket", s.socket)
			return nil
		}
		// Backends of a killed server may not have noticed its death yet.
		if !strings.Contains(err.Error(), "pre-existing shared memory block") {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

// observation is the state of await between checks.
type observation struct {
	child                *child    // awaited, or nil
	unreachable, foreign time.Time // start times
}

// await checks the server until it is ready or known not to run. With a child, it waits until the child is ready, or
// returns the reason of its exit.
func (s *Server) await(ctx context.Context, c *child) (up bool, err error) {
	tick := time.NewTicker(stateInterval)
	defer tick.Stop()
	var exited <-chan struct{}
	if c != nil {
		exited = c.exited
	}
	w := observation{child: c}
	for {
		state, err := s.checkState(ctx, &w)
		if err != nil || state == stateUp {
			return err == nil, err
		}
		if state == stateDown && c == nil {
			return false, nil
		}
		select {
		case <-exited:
			return false, c.exitError(s.layout.logPath())
		case <-ctx.Done():
			return false, fmt.Errorf("private PostgreSQL of %s is not ready: %w", s.layout.data, ctx.Err())
		case <-tick.C:
		}
	}
}

type state int

const (
	stateDown state = iota
	stateChanging
	stateUp
)

// checkState returns the state of the server. The response at the socket decides whether it runs. The pid files only
// show which server responded, and whether a silent one is alive.
func (s *Server) checkState(ctx context.Context, w *observation) (state, error) {
	file := readPidfile(s.layout.cluster())
	dir := s.layout.socketDir()
	// A server started under another TMPDIR has its socket elsewhere.
	if file.socketDir != "" && isServer(file.pid, s.layout.cluster()) {
		dir = file.socketDir
	}
	socket := filepath.Join(dir, socketName)
	result, rejection := probe(ctx, socket)
	if result == probeAbsent {
		w.foreign = time.Time{}
		if !isServer(file.pid, s.layout.cluster()) {
			return stateDown, nil
		}
		if w.child != nil && w.child.pid == file.pid {
			return stateChanging, nil // it has not created its socket yet
		}
		return stateChanging, s.handleUnreachable(ctx, w, file.pid)
	}
	w.unreachable = time.Time{}
	if pid := socketPid(socket); pid == 0 || pid != file.pid {
		return stateChanging, s.handleForeign(ctx, w, pid, socket)
	}
	w.foreign = time.Time{}
	switch result {
	case probeRefused:
		return stateDown, rejection
	case probeReady:
		if err := checkSocketDir(dir, s.layout.owner); err != nil {
			return stateDown, core.WithRemedy(err, socketRemedy)
		}
		s.socket, s.pid = socket, file.pid
		return stateUp, nil
	}
	return stateChanging, nil
}

// handleUnreachable handles a running server without a socket, as after a cleanup of the temporary directory. It stops
// the server if no other process uses it, so that it is restarted.
func (s *Server) handleUnreachable(ctx context.Context, w *observation, pid int) error {
	if w.unreachable.IsZero() {
		w.unreachable = time.Now()
	}
	if time.Since(w.unreachable) < s.socketTimeout {
		return nil
	}
	w.unreachable = time.Time{}
	exclusive, err := s.users.try(syscall.LOCK_EX)
	if err != nil {
		return fmt.Errorf("look for other users of private PostgreSQL: %w", err)
	}
	if !exclusive {
		return fmt.Errorf(
			"private PostgreSQL (pid %d) lost its socket: stop the processes that use %s, then restart",
			pid, s.layout.data)
	}
	s.log.Warn("restarting PostgreSQL without socket", "pid", pid)
	if err := s.stop(ctx, pid); err != nil {
		return err
	}
	_, err = s.users.try(syscall.LOCK_SH)
	return err
}

// handleForeign handles a server at our socket that does not belong to the cluster. The data directory was deleted
// while its server was running.
func (s *Server) handleForeign(ctx context.Context, w *observation, pid int, socket string) error {
	if w.foreign.IsZero() {
		w.foreign = time.Now()
	}
	if time.Since(w.foreign) < foreignDelay {
		return nil
	}
	w.foreign = time.Time{}
	if !isServer(pid, s.layout.cluster()) {
		return fmt.Errorf("another server (pid %d) listens at %s: stop it", pid, socket)
	}
	s.log.Warn("stopping the PostgreSQL of a deleted data directory", "pid", pid)
	return evict(ctx, pid, s.layout.cluster())
}
