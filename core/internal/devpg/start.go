package devpg

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	stateTick = 25 * time.Millisecond
	// shmTick is the pause before another try while backends of a killed
	// server are still ending.
	shmTick = 200 * time.Millisecond
	// foreignAfter is how long another server must answer at our socket
	// before it is believed: pid files change while one starts or stops.
	foreignAfter = time.Second
)

// bringUp joins the running server or starts it. The caller holds the gate
// and a share of the users' lock.
func (s *Server) bringUp(ctx context.Context, cfg Config) error {
	joined, err := s.join(ctx)
	if err != nil || joined {
		return err
	}
	bins, err := provide(ctx, cfg, s.at)
	if err != nil {
		return err
	}
	// An installation may have brought the user "postgres".
	if s.at, err = locate(s.at.data, cfg.machine.fallbackRoot); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, startWait)
	defer cancel()
	if err := createCluster(ctx, s.log, s.at, bins, cfg); err != nil {
		return err
	}
	if err := writeSettings(s.at.cluster(), s.at.owner, cfg.Settings); err != nil {
		return err
	}
	return s.startProcess(ctx, bins)
}

// join waits for a server that runs, starts or stops, and reports whether one
// is up in the end.
func (s *Server) join(ctx context.Context) (bool, error) {
	ctx, cancel := bounded(ctx, startWait)
	defer cancel()
	up, err := s.await(ctx, nil)
	if err != nil || !up {
		return false, err
	}
	s.log.Info("joined the running private PostgreSQL", "pid", s.pid, "socket", s.socket)
	return true, nil
}

// startProcess starts the server and waits until it answers.
func (s *Server) startProcess(ctx context.Context, bins binaries) error {
	tick := time.NewTicker(shmTick)
	defer tick.Stop()
	for {
		child, err := launch(s.at, bins)
		if err != nil {
			return err
		}
		s.child, s.pid = child, child.pid
		s.socket = filepath.Join(s.at.socketDir(), socketName)
		_, err = s.await(ctx, child)
		if err == nil {
			s.log.Info("private PostgreSQL started", "pid", s.pid, "postgresql", bins.major,
				"cluster", s.at.cluster(), "socket", s.socket)
			return nil
		}
		// Backends of a killed server may need a moment to notice its death.
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

// watch is what await remembers from look to look.
type watch struct {
	unreachable, foreign time.Time // since when
}

// await looks at the server until it is up or known not to run. With a child
// it waits for that one to be up, or fails with the reason of its death.
func (s *Server) await(ctx context.Context, c *child) (up bool, err error) {
	tick := time.NewTicker(stateTick)
	defer tick.Stop()
	var exited <-chan struct{}
	if c != nil {
		exited = c.exited
	}
	var w watch
	for {
		seen, err := s.look(ctx, &w)
		if err != nil || seen == stateUp {
			return err == nil, err
		}
		if seen == stateDown && c == nil {
			return false, nil
		}
		select {
		case <-exited:
			return false, c.death(s.at.logPath())
		case <-ctx.Done():
			return false, fmt.Errorf("private PostgreSQL of %s is not ready: %w", s.at.data, ctx.Err())
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

// look finds out what the server is doing. Whether it runs is decided by its
// answer at the socket; the pid files only tell whose answer that is, and
// whether a server that does not answer is alive.
func (s *Server) look(ctx context.Context, w *watch) (state, error) {
	file := readPidfile(s.at.cluster())
	dir := s.at.socketDir()
	// A server started under another TMPDIR has its socket elsewhere.
	if file.socketDir != "" && serves(file.pid, s.at.cluster()) {
		dir = file.socketDir
	}
	socket := filepath.Join(dir, socketName)
	said, refused := probe(ctx, socket)
	if said == answerAbsent {
		w.foreign = time.Time{}
		if !serves(file.pid, s.at.cluster()) {
			return stateDown, nil
		}
		return stateChanging, s.unreachable(ctx, w, file.pid)
	}
	w.unreachable = time.Time{}
	if pid := socketPid(socket); pid == 0 || pid != file.pid {
		return stateChanging, s.foreign(ctx, w, pid, socket)
	}
	w.foreign = time.Time{}
	switch said {
	case answerRefused:
		return stateDown, refused
	case answerReady:
		if err := checkSocketDir(dir, s.at.owner); err != nil {
			return stateDown, err
		}
		s.socket, s.pid = socket, file.pid
		return stateUp, nil
	}
	return stateChanging, nil
}

// unreachable deals with a living server whose socket is gone, as after a
// cleaning of the temporary directory. When nobody else uses it, it is stopped
// to be started again; otherwise others would lose their connections.
func (s *Server) unreachable(ctx context.Context, w *watch, pid int) error {
	if w.unreachable.IsZero() {
		w.unreachable = time.Now()
	}
	if time.Since(w.unreachable) < s.patience {
		return nil
	}
	w.unreachable = time.Time{}
	alone, err := s.users.try(syscall.LOCK_EX)
	if err != nil {
		return fmt.Errorf("look for other users of private PostgreSQL: %w", err)
	}
	if !alone {
		return fmt.Errorf(
			"private PostgreSQL (pid %d) lost its socket: stop the processes that use %s, then restart", pid, s.at.data)
	}
	s.log.Warn("restarting PostgreSQL without socket", "pid", pid)
	if err := s.stop(ctx, pid); err != nil {
		return err
	}
	_, err = s.users.try(syscall.LOCK_SH)
	return err
}

// foreign deals with an answer at our socket by a server the cluster does not
// know: the data directory was deleted while its server ran on.
func (s *Server) foreign(ctx context.Context, w *watch, pid int, socket string) error {
	if w.foreign.IsZero() {
		w.foreign = time.Now()
	}
	if time.Since(w.foreign) < foreignAfter {
		return nil
	}
	w.foreign = time.Time{}
	if !serves(pid, s.at.cluster()) {
		return fmt.Errorf("another server (pid %d) listens at %s: stop it", pid, socket)
	}
	s.log.Warn("stopping the PostgreSQL of a deleted data directory", "pid", pid)
	return evict(ctx, pid, s.at.cluster())
}
