package hubtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waitTimeout bounds the waits for a process, with a margin for a busy machine.
const waitTimeout = 90 * time.Second

// Environment contains the variables of a process, in addition to those that every process needs.
type Environment map[string]string

// With returns the environment with other variables, each a name and a value.
func (e Environment) With(pairs ...string) Environment {
	all := maps.Clone(e)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// List returns the variables as a process gets them.
func (e Environment) List() (list []string) {
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, set := os.LookupEnv(name); set {
			list = append(list, name+"="+value)
		}
	}
	for name, value := range e { // the last of a name counts
		list = append(list, name+"="+value)
	}
	return list
}

// Output keeps the last lines of a process.
type Output struct {
	mu    sync.Mutex
	lines []string // the last one is not complete
}

const keptLines = 40

// Write adds output.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = strings.SplitAfter(strings.Join(o.lines, "")+string(p), "\n")
	o.lines = o.lines[max(len(o.lines)-1-keptLines, 0):]
	return len(p), nil
}

// String returns the last lines.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.lines, "")
}

// Find returns what a group of the pattern matches in the last lines, or "".
func (o *Output) Find(pattern *regexp.Regexp) string {
	if match := pattern.FindStringSubmatch(o.String()); match != nil {
		return match[1]
	}
	return ""
}

// Process is a process of a program.
type Process struct {
	Cmd      *exec.Cmd // to be changed before the start only
	Out, Err *Output   // unless Cmd writes elsewhere
	Began    time.Time
	ended    chan struct{}
}

// NewProcess prepares a process.
func NewProcess(program string, env Environment, args ...string) *Process {
	p := &Process{Cmd: exec.Command(program, args...), Out: &Output{}, Err: &Output{}, ended: make(chan struct{})}
	p.Cmd.Env, p.Cmd.Stdout, p.Cmd.Stderr, p.Cmd.WaitDelay = env.List(), p.Out, p.Err, 5*time.Second
	return p
}

// Start starts the process. It is killed at the end of the test.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	p.Begin(t)
	t.Cleanup(p.Kill)
}

// Begin starts the process, which the caller ends.
func (p *Process) Begin(t testing.TB) {
	t.Helper()
	p.Began = time.Now()
	require.NoError(t, p.Cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.Cmd.Wait()
	}()
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.Cmd.Process.Pid }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *Process) requireRunning(t testing.TB) {
	t.Helper()
	if !p.Running() {
		require.FailNow(t, "the process ended", "%s\n%s\n%s", p.Cmd, p.Out, p.Err)
	}
}

// AwaitOutput waits until a line matches the pattern, and returns what its group matches.
func (p *Process) AwaitOutput(t testing.TB, pattern *regexp.Regexp) (found string) {
	t.Helper()
	missing := errors.New("no line of the output matches " + pattern.String())
	require.NoError(t, Await(waitTimeout, func() error {
		running := p.Running()
		if found = p.Out.Find(pattern) + p.Err.Find(pattern); found != "" {
			return nil
		}
		if !running {
			p.requireRunning(t)
		}
		return missing
	}), "%s\n%s\n%s", p.Cmd, p.Out, p.Err)
	return found
}

// Wait waits for the end of the process, and returns its exit status.
func (p *Process) Wait() int {
	<-p.ended
	return p.Cmd.ProcessState.ExitCode()
}

// Kill kills the process, and waits for its end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	p.Wait()
}

// Stop sends a signal to the process, waits for its end, and returns its exit status.
func (p *Process) Stop(t testing.TB, by os.Signal) int {
	t.Helper()
	_ = p.Cmd.Process.Signal(by)
	select {
	case <-p.ended:
	case <-time.After(waitTimeout):
		require.FailNow(t, "the process does not stop", "%s", p.Cmd)
	}
	return p.Wait()
}

// Run runs a command until it ends.
func Run(t testing.TB, program string, env Environment, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, failure bytes.Buffer
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env, command.Stdout, command.Stderr, command.WaitDelay = env.List(), &out, &failure, 5*time.Second
	if err := command.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return command.ProcessState.ExitCode(), out.String(), failure.String()
}

// RunJSON runs a command that must succeed, and decodes its output.
func RunJSON(t testing.TB, program string, env Environment, into any, args ...string) {
	t.Helper()
	status, stdout, stderr := Run(t, program, env, append(args, "--json")...)
	require.Zero(t, status, "%v: %s", args, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), into), stdout)
}
