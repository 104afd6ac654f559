// Package devpg runs a private PostgreSQL for one data directory, for a checkout or a test without a database URL. The
// server listens only on a Unix socket. All processes with the same data directory share it, and the last one stops it.
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

	"github.com/servery-hub/servery/core"
)

const (
	startWait   = 60 * time.Second
	installWait = 10 * time.Minute
	closeWait   = 30 * time.Second
)

// Config configures the private server.
type Config struct {
	// DataDir identifies the server. The cluster is in DataDir/postgres. Start creates the directory if it is missing.
	DataDir string
	// Settings are added to the default postgresql.conf settings of this package. Joining a running server ignores
	// them.
	Settings map[string]string
	// Testing adds a superuser who can sign in (AdminDSN) to a new cluster.
	Testing bool
	// Install allows installing or downloading PostgreSQL if it is missing.
	Install bool
	// Log may be nil.
	Log *slog.Logger

	// machine replaces thisMachine in tests.
	machine *machine
}

// Server is a reference to a private PostgreSQL. It is safe for concurrent use.
type Server struct {
	log           *slog.Logger
	layout        layout
	socket        string
	password      string // of the hub's role
	pid           int
	socketTimeout time.Duration

	mu    sync.Mutex
	users *fileLock // nil after Close
	child *child    // set if this reference started the process
}

// Start joins or starts the private server of the data directory. It returns when the server accepts connections. It
// fails if PostgreSQL 14 or newer is missing and must not be installed. It also fails if the cluster belongs to another
// user or major version, if the server exits while starting, or if ctx ends. Without a deadline in ctx, the timeout is
// 60 s, in addition to an installation.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.machine == nil {
		cfg.machine = thisMachine()
	}
	data, err := resolveDataDir(cfg.DataDir)
	if err != nil {
		return nil, core.WithRemedy(err, "set SERVERY_DATA_DIR to a writable directory")
	}
	gate, err := acquireStartLock(ctx, cfg, data)
	if err != nil {
		return nil, err
	}
	defer gate.release()

	files, err := locate(data, cfg.machine.fallbackRoot)
	if err != nil {
		return nil, err
	}
	// Only a process with the start lock holds this lock exclusively, so it is free.
	users, err := acquire(ctx, usersLockPath(data), syscall.LOCK_SH, nil)
	if err != nil {
		return nil, err
	}
	s := &Server{log: cfg.Log, layout: files, users: users, socketTimeout: cfg.machine.socketTimeout}
	err = s.bringUp(ctx, cfg)
	if err == nil {
		s.password, err = s.layout.readPassword()
	}
	if err != nil {
		return nil, errors.Join(err, s.undoStart())
	}
	return s, nil
}

// Exists reports whether the data directory has a private server, running or not. It creates nothing. If it cannot
// check, it returns true, and Start returns the error.
func Exists(dir string) bool {
	_, err := find(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// SecretDirs returns the directories of the cluster and of the socket of a private server, or none if the data
// directory has no server. It creates nothing.
func SecretDirs(dir string) []string {
	files, err := find(dir)
	if err != nil {
		return nil
	}
	return []string{files.cluster(), files.socketDir()}
}

// find returns the layout of an existing private server.
func find(dir string) (layout, error) {
	data, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, fs.ErrNotExist
	}
	if data, err = filepath.EvalSymlinks(data); err != nil {
		return layout{}, fs.ErrNotExist
	}
	files, err := locate(data, thisMachine().fallbackRoot)
	if err == nil {
		_, err = os.Stat(files.cluster())
	}
	return files, err
}

// Socket returns the full path of the Unix socket of the server.
func (s *Server) Socket() string { return s.socket }

// Cluster returns the directory of the cluster, which contains the password of the hub's role.
func (s *Server) Cluster() string { return s.layout.cluster() }

// User returns the name of the hub's role, and of its database.
func (s *Server) User() string { return roleName }

// DSN returns the URL of the database, in the form of bun's pgdriver for Unix sockets. It disables TLS, which
// PostgreSQL does not support on Unix sockets.
func (s *Server) DSN() string { return s.dsn(roleName) }

// AdminDSN returns the URL for the superuser of a cluster for tests.
func (s *Server) AdminDSN() string { return s.dsn(testRole) }

func (s *Server) dsn(role string) string {
	u := url.URL{
		Scheme: "unix", User: url.UserPassword(role, s.password), Host: roleName,
		Path: s.socket, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Close releases the server. The last reference stops it with a fast shutdown and, if that takes too long, with an
// immediate one. Close fails if the server still runs when ctx ends. Without a deadline in ctx, the timeout is 30 s.
// Further calls do nothing.
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
		// The data directory was deleted: no process can join this server now.
		return s.stop(ctx, s.pid)
	}
	if err != nil {
		return fmt.Errorf("release private PostgreSQL, which may be left running: %w", err)
	}
	defer gate.release()
	return s.leave(ctx, users)
}

// leave releases the shared lock and stops the server if no other process holds the lock. The caller holds the start
// lock, so no process can join meanwhile.
func (s *Server) leave(ctx context.Context, users *fileLock) error {
	defer users.release()
	last, err := users.try(syscall.LOCK_EX)
	if err != nil {
		return fmt.Errorf("look for other users of private PostgreSQL: %w", err)
	}
	// A deleted lock file says nothing about a server that may run there now.
	if !last || !users.isCurrent() {
		return nil
	}
	pid := readPidfile(s.layout.cluster()).pid
	if pid == 0 {
		pid = s.pid
	}
	return s.stop(ctx, pid)
}

// undoStart releases what a failed Start has acquired. It uses its own timeout, because the context of Start may have
// ended. The caller holds the start lock.
func (s *Server) undoStart() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	users := s.users
	s.users = nil
	return s.leave(ctx, users)
}

// acquireStartLock takes the lock that serialises starting and stopping the server.
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

// resolveDataDir creates the data directory and returns its canonical path, which is the same in every process.
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

// withDefaultTimeout adds a timeout to a context without a deadline.
func withDefaultTimeout(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, wait)
}
