// Package devpg runs a private PostgreSQL for one data directory: the database
// of a checkout or a test that was given no database URL. The server listens
// on a unix socket only, is shared by every process that uses the same data
// directory, and is stopped by the last of them.
package devpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	startWait   = 60 * time.Second
	installWait = 10 * time.Minute
	closeWait   = 30 * time.Second
)

// Config says where the private server keeps its files and what it may do.
type Config struct {
	// DataDir is the directory that identifies the server: the cluster lives
	// in DataDir/postgres. It is made absolute and created when missing.
	DataDir string
	// Settings are extra postgresql.conf settings, over the defaults of this
	// package. They are ignored when a running server is joined.
	Settings map[string]string
	// Testing is for tests and measurements: the cluster is made with a superuser
	// who can sign in; see AdminDSN.
	Testing bool
	// Install allows to install or download PostgreSQL when it is missing.
	Install bool
	// Log receives what is worth knowing; nil discards it.
	Log *slog.Logger

	// machine replaces what the machine offers, for tests.
	machine *machine
}

// Server is one use of a private PostgreSQL. It is safe for concurrent use.
type Server struct {
	log           *slog.Logger
	layout        layout
	socket        string
	password      string // of the hub's role
	pid           int
	socketTimeout time.Duration

	mu    sync.Mutex
	users *fileLock // nil once closed
	child *child    // set when this use started the process
}

// Start joins the running private server of the data directory or starts it.
// It returns when the server answers. It fails when PostgreSQL 14 or newer is missing (and may not be
// installed), when the cluster belongs to another user or another major
// version, when the server dies while starting (the error holds its last log
// lines), or when ctx ends. Without a deadline in ctx it gives up after 60
// seconds, not counting an installation.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.machine == nil {
		cfg.machine = thisMachine()
	}
	data, err := resolveDataDir(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	gate, err := acquireStartLock(ctx, cfg, data)
	if err != nil {
		return nil, err
	}
	defer gate.release()

	at, err := locate(data, cfg.machine.fallbackRoot)
	if err != nil {
		return nil, err
	}
	// Nobody holds this lock exclusively without holding the gate, so it is
	// free to share at once.
	users, err := acquire(ctx, usersLockPath(data), syscall.LOCK_SH, nil)
	if err != nil {
		return nil, err
	}
	s := &Server{log: cfg.Log, layout: at, users: users, socketTimeout: cfg.machine.socketTimeout}
	err = s.bringUp(ctx, cfg)
	if err == nil {
		s.password, err = s.layout.readPassword()
	}
	if err != nil {
		return nil, errors.Join(err, s.undoStart())
	}
	return s, nil
}

// Exists tells whether the data directory has a private server, running or not.
// It makes nothing; where it cannot tell, Start will say why.
func Exists(dir string) bool {
	data, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if data, err = filepath.EvalSymlinks(data); err != nil {
		return false
	}
	at, err := locate(data, thisMachine().fallbackRoot)
	if err == nil {
		_, err = os.Stat(at.cluster())
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// Socket returns the full path of the unix socket the server listens on.
func (s *Server) Socket() string { return s.socket }

// Cluster returns the directory of the cluster, which holds the password of the hub's role.
func (s *Server) Cluster() string { return s.layout.cluster() }

// User returns the name of the hub's role.
func (s *Server) User() string { return roleName }

// Database returns the name of the database.
func (s *Server) Database() string { return roleName }

// DSN returns the address in the form bun's pgdriver takes for unix sockets.
// TLS is switched off, as PostgreSQL does not speak it over a unix socket.
func (s *Server) DSN() string { return s.dsn(roleName) }

// AdminDSN is DSN for the superuser that the clusters of tests have.
func (s *Server) AdminDSN() string { return s.dsn(testRole) }

func (s *Server) dsn(role string) string {
	u := url.URL{
		Scheme: "unix", User: url.UserPassword(role, s.password), Host: roleName,
		Path: s.socket, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Close ends this use of the server; the last use stops it by a fast shutdown
// and, when that takes too long, by an immediate one. It fails when the server
// still runs as ctx ends; without a deadline in ctx it gives up after 30
// seconds. Calls after the first do nothing.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == nil {
		return nil
	}
	users := s.users
	s.users = nil
	defer users.release()

	ctx, cancel := withDefaultTimeout(ctx, closeWait)
	defer cancel()
	gate, err := acquire(ctx, startLockPath(s.layout.data), syscall.LOCK_EX, nil)
	if errors.Is(err, fs.ErrNotExist) {
		// The data directory was deleted: nobody can join this server again.
		return s.stop(ctx, s.pid)
	}
	if err != nil {
		return fmt.Errorf("release private PostgreSQL, which may be left running: %w", err)
	}
	defer gate.release()
	return s.leave(ctx, users)
}

// leave gives up the shared lock and stops the server when nobody else holds
// it. The caller holds the gate, so no new user can slip in.
func (s *Server) leave(ctx context.Context, users *fileLock) error {
	defer users.release()
	last, err := users.try(syscall.LOCK_EX)
	if err != nil {
		return fmt.Errorf("look for other users of private PostgreSQL: %w", err)
	}
	// A lock file that was deleted meanwhile says nothing about the users of
	// the server that may run there now.
	if !last || !users.isCurrent() {
		return nil
	}
	pid := readPidfile(s.layout.cluster()).pid
	if pid == 0 {
		pid = s.pid
	}
	return s.stop(ctx, pid)
}

// undoStart undoes a Start that failed. It has its own time, because the context
// of Start has often ended by then; the caller holds the gate.
func (s *Server) undoStart() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	users := s.users
	s.users = nil
	return s.leave(ctx, users)
}

// acquireStartLock takes the lock that lets one process at a time look whether the
// server runs and start or stop it.
func acquireStartLock(ctx context.Context, cfg Config, data string) (*fileLock, error) {
	wait := startWait
	if cfg.Install {
		wait = installWait
	}
	ctx, cancel := withDefaultTimeout(ctx, wait)
	defer cancel()
	return acquire(ctx, startLockPath(data), syscall.LOCK_EX, func() {
		cfg.Log.Info("waiting for another process that starts or stops PostgreSQL", "data_dir", data)
	})
}

func startLockPath(data string) string { return filepath.Join(data, "postgres.start.lock") }
func usersLockPath(data string) string { return filepath.Join(data, "postgres.users.lock") }

// resolveDataDir creates the data directory and returns the one spelling of
// its path that every process agrees on.
func resolveDataDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("the private PostgreSQL needs a data directory")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fmt.Errorf("create data directory: %w", err)
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	return abs, nil
}

// withDefaultTimeout gives a context without a deadline one, so that every wait ends.
func withDefaultTimeout(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, wait)
}
