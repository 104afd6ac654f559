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

// processExists reports whether any process has the pid.
func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isServer reports whether the process is a PostgreSQL server on the cluster. A
// pid alone proves nothing, it may have been given to another process; and a
// dead server whose parent does not reap it counts as gone.
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

// environment is what a child process is given: nothing of ours but the search path,
// the time zone and the directory for temporary files, and what else is named.
func environment(also ...string) []string {
	// English messages, because some are looked for; and macOS wants a locale.
	env := []string{"LC_ALL=C"}
	for _, name := range append([]string{"PATH", "TZ", "TMPDIR"}, also...) {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run runs a command as the account and returns its output with the error. The
// command and its children are killed when ctx ends.
func run(ctx context.Context, who account, name string, args ...string) (string, error) {
	return runWithInput(ctx, who, "", name, args...)
}

// runWithInput is run with a text for the standard input of the command.
func runWithInput(ctx context.Context, who account, input, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/" // our own may be closed to the account
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(input)
	cmd.SysProcAttr = who.attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return text, fmt.Errorf("%s as %s: %w\n%s", filepath.Base(name), who.name, err, lastLines(text))
	}
	return text, nil
}

// signal sends sig to a server of the cluster; one that is gone is no error.
func signal(pid int, cluster string, sig syscall.Signal) error {
	if !isServer(pid, cluster) {
		return nil
	}
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal PostgreSQL (pid %d): %w", pid, err)
	}
	return nil
}

// awaitExit waits until the process no longer serves the cluster and reports
// whether that happened before ctx ended.
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
