package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/internal/devpg"
)

// runDir is the directory of a run, with its PostgreSQL, its programs and all temporary files. Concurrent runs of one
// checkout share it. The last run removes it and ends its processes.
type runDir struct {
	dir      string
	lock     *os.File // shared by concurrent runs
	starting sync.WaitGroup
	stop     context.CancelFunc
	server   *devpg.Server
}

// A run uses memory if there is enough. Each of a thousand tests has a database of 800 files, and on a disk these take
// a third of all processor time.
const (
	memoryDir      = "/dev/shm"
	minFree        = 8 << 30
	minAvailable   = 12 << 30
	lockTimeout    = time.Minute
	cleanUpTimeout = time.Minute
	quitTimeout    = 3 * time.Second
	lockPeriod     = 50 * time.Millisecond
)

// runDirPath returns the directory of this checkout. Its name is constant, because go test caches results by it, and
// short, because socket names contain it.
func runDirPath() string {
	parent := os.TempDir()
	if free(memoryDir) >= minFree && available() >= minAvailable {
		parent = memoryDir
	}
	checkout, _ := os.Getwd()
	sum := sha256.Sum256(fmt.Append(nil, os.Geteuid(), checkout))
	return filepath.Join(parent, "sv-"+hex.EncodeToString(sum[:2]))
}

// free returns the free space of a file system, in bytes.
func free(dir string) uint64 {
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}

var availableLine = regexp.MustCompile(`MemAvailable:\s+(\d+) kB`)

// available returns the memory that Linux can still allocate, in bytes.
func available() uint64 {
	text, _ := os.ReadFile("/proc/meminfo")
	match := availableLine.FindSubmatch(text)
	if match == nil {
		return 0
	}
	kib, _ := strconv.ParseUint(string(match[1]), 10, 64)
	return kib << 10
}

// acquire locks the directory for this run, together with concurrent ones. It first removes the files of a killed run.
func acquire(dir string) (*runDir, error) {
	for end := time.Now().Add(lockTimeout); time.Now().Before(end); time.Sleep(lockPeriod) {
		p, err := tryAcquire(dir)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, fmt.Errorf("another run has been removing %s for a minute", dir)
}

// tryAcquire returns nil if another run is removing the directory, or has removed it.
func tryAcquire(dir string) (*runDir, error) {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() ||
		info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("%s is not a directory of this user: remove it", dir)
	}
	lock, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &runDir{dir: dir, lock: lock}
	if p.tryLock(syscall.LOCK_EX) {
		err = p.cleanUp()
	}
	if err != nil || !p.tryLock(syscall.LOCK_SH) || !p.current() {
		return nil, errors.Join(err, lock.Close())
	}
	// The database and plugins run as other users.
	return p, errors.Join(os.Chmod(dir, 0o755|os.ModeSticky), os.MkdirAll(p.programs(), 0o755))
}

func (p *runDir) tryLock(how int) bool {
	return syscall.Flock(int(p.lock.Fd()), how|syscall.LOCK_NB) == nil
}

// current reports whether the locked directory is still the one of that name.
func (p *runDir) current() bool {
	locked, err := p.lock.Stat()
	if err != nil {
		return false
	}
	current, err := os.Lstat(p.dir)
	return err == nil && os.SameFile(locked, current)
}

func (p *runDir) programs() string { return filepath.Join(p.dir, "programs") }

// environment returns the variables for the tests. All temporary files go to the directory.
func (p *runDir) environment() []string {
	return []string{"TMPDIR=" + p.dir, "GOTEST_PROGRAMS=" + p.programs()}
}

// startDatabase starts PostgreSQL while go test compiles.
func (p *runDir) startDatabase() {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.starting.Go(func() {
		server, err := devpg.Start(ctx, devpg.ForTests(p.dir))
		if p.server = server; err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "gotest:", err) // tests that need it fail or skip
		}
	})
}

// release stops PostgreSQL and unlocks the directory. The last run removes it.
func (p *runDir) release() error {
	p.stop()
	p.starting.Wait()
	var err error
	if p.server != nil {
		err = p.server.Close(context.Background())
	}
	if p.tryLock(syscall.LOCK_EX) {
		err = errors.Join(err, p.cleanUp(), os.Remove(p.dir))
	}
	return errors.Join(err, p.lock.Close())
}

// cleanUp ends the processes that use the directory, and removes its contents.
func (p *runDir) cleanUp() error {
	start := time.Now()
	for ; ; time.Sleep(lockPeriod) {
		signal := syscall.SIGQUIT // PostgreSQL then releases its shared memory
		if time.Since(start) > quitTimeout {
			signal = syscall.SIGKILL
		}
		for _, pid := range processesIn(p.dir) {
			_ = syscall.Kill(pid, signal)
		}
		left, err := os.ReadDir(p.dir)
		for _, entry := range left {
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.dir, entry.Name())))
		}
		// a process that ends may still write
		if err == nil && len(processesIn(p.dir)) == 0 || time.Since(start) > cleanUpTimeout {
			return err
		}
	}
}

// processesIn returns the processes that use a directory: as working directory, program or command-line argument.
func processesIn(dir string) (pids []int) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		pid, _ := strconv.Atoi(filepath.Base(process))
		command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(process, "cwd"))
		program, _ := os.Readlink(filepath.Join(process, "exe"))
		if pid != os.Getpid() && strings.Contains(string(command)+"\n"+cwd+"\n"+program+"\n", dir+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}
