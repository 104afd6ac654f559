package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processExists reports whether a process has the pid.
func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isServer reports whether the process is a PostgreSQL server on the cluster. The pid alone is not enough, because it
// may belong to another process. A dead process that is not reaped counts as gone.
func isServer(pid int, cluster string) bool {
	if pid <= 0 || !processExists(pid) {
		return false
	}
	if raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil {
		args := strings.Split(string(raw), "\x00")
		return len(args) > 2 && filepath.Base(args[0]) == "postgres" && args[1] == "-D" && args[2] == cluster
	}
	// macOS has no /proc.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ps := exec.CommandContext(ctx, "ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid))
	ps.Env = environment()
	out, err := ps.Output()
	return err == nil && strings.Contains(string(out), "postgres -D "+cluster+" ")
}

// environment returns the environment of a child process: PATH, TZ, TMPDIR and the named variables.
func environment(names ...string) []string {
	// Some messages are parsed, so they must be in English; and macOS needs a locale.
	env := []string{"LC_ALL=C"}
	for _, name := range append([]string{"PATH", "TZ", "TMPDIR"}, names...) {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run runs a command as the account and returns its output. It kills the command and its children when ctx ends.
func run(ctx context.Context, owner account, name string, args ...string) (string, error) {
	return runWithInput(ctx, owner, "", name, args...)
}

// runWithInput is run with standard input.
func runWithInput(ctx context.Context, owner account, input, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/" // the account may not be able to enter ours
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(input)
	cmd.SysProcAttr = owner.attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return text, fmt.Errorf("%s as %s: %w\n%s", filepath.Base(name), owner.name, err, lastLines(text))
	}
	return text, nil
}

// signal sends sig to a server of the cluster. It returns nil if the server is gone.
func signal(pid int, cluster string, sig syscall.Signal) error {
	if !isServer(pid, cluster) {
		return nil
	}
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal PostgreSQL (pid %d): %w", pid, err)
	}
	return nil
}

// awaitExit waits until the process is no longer a server of the cluster. It returns false if ctx ends first.
func awaitExit(ctx context.Context, pid int, cluster string) bool {
	tick := time.NewTicker(stateInterval)
	defer tick.Stop()
	for isServer(pid, cluster) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
