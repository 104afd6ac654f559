package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	openFiles   = 256
	largestFile = 64 << 20               // that a plugin may write
	headroom    = 384 << 20              // of data beside the memory limit: a runtime reserves more than it uses
	lastOutput  = 250 * time.Millisecond // for output held open by what a plugin left behind
	longestLine = 64 << 10
)

// process is the program of a plugin (go-plugin's runner.Runner). Its output is
// read here and not by go-plugin, which panics on some log lines and stops
// reading at long ones; it is ended by SIGKILL and nothing else.
type process struct {
	program  string
	memory   uint64 // bytes; 0: no limit
	launcher *launcher
	log      *logbook // gets every line of stderr, and of stdout but the first
	logged   int      // lines of the log before its own
	hello    *io.PipeReader
	ended    chan struct{}

	mu     sync.Mutex
	cmd    *exec.Cmd // nil until it is started
	killed bool
	err    error // why it ended; read after ended
}

// prepare makes the command from the one that go-plugin made for its environment.
func (p *process) prepare(like *exec.Cmd, dir string) (stdin io.WriteCloser, cmd *exec.Cmd, err error) {
	cmd = exec.Command(p.program)
	cmd.Dir, cmd.WaitDelay = dir, lastOutput
	cmd.Env = append(like.Env, "SERVERY_PLUGIN_STDIN_HELD=1")
	if p.memory > 0 {
		cmd.Env = append(cmd.Env, "GOMEMLIMIT="+strconv.FormatUint(p.memory, 10))
	}
	separate(cmd)
	reader, writer := io.Pipe()
	p.hello = reader
	cmd.Stdout, cmd.Stderr = &greeting{hello: writer, rest: &lines{to: p.log}}, &lines{to: p.log}
	stdin, err = cmd.StdinPipe()
	return stdin, cmd, err
}

// start runs the command.
func (p *process) start(cmd *exec.Cmd) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return errors.New("it was ended before it began")
	}
	if err := p.launcher.run(cmd.Start); err != nil {
		return err
	}
	p.cmd = cmd
	var err error
	if p.memory > 0 {
		err = limit(cmd.Process.Pid, p.memory+headroom)
	}
	go func() {
		err := cmd.Wait()
		killGroup(cmd.Process.Pid)
		p.err = err
		close(p.ended) // before go-plugin sees its output end, so that the end is known for the cause
		_ = p.hello.Close()
	}()
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("setting its limits: %w", err)
	}
	return nil
}

// kill ends the process at once, or keeps it from being started.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		killGroup(p.cmd.Process.Pid)
	}
}

// last says how the process ended, once it has.
func (p *process) last() string {
	text := "it ended by itself"
	if p.err != nil {
		text = p.err.Error()
	}
	log := p.log.after(p.logged)
	for _, line := range slices.Backward(log) { // what follows is the stack
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return text + "; its log: " + shorten(line, longestFault)
		}
	}
	if len(log) > 0 {
		text += "; the last line of its log: " + shorten(log[len(log)-1], longestFault)
	}
	return text
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// runner is a prepared process, as go-plugin sees it.
type runner struct {
	*process
	prepared *exec.Cmd
}

// Start starts the process.
func (r runner) Start(context.Context) error { return r.start(r.prepared) }

// Diagnose adds nothing: the log has what there is.
func (r runner) Diagnose(context.Context) string { return "" }

// Stdout is the first line of the output, by which go-plugin finds the plugin.
func (r runner) Stdout() io.ReadCloser { return r.hello }

// Stderr is nothing: the log is read by the process.
func (r runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the path of the program.
func (r runner) Name() string { return r.program }

// Wait waits for the end.
func (r runner) Wait(context.Context) error {
	<-r.ended
	return r.err
}

// Kill ends the process.
func (r runner) Kill(context.Context) error {
	r.kill()
	return nil
}

// ID is the process id.
func (r runner) ID() string { return strconv.Itoa(r.pid()) }

// PluginToHost translates nothing.
func (r runner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin translates nothing.
func (r runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
