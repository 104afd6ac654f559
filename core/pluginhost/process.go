package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/pluginhost/shim"
	"github.com/servery-hub/servery/plugins/sdk"
)

const (
	maxFiles      = 256 << 20              // of all files in a plugin's directory, in bytes
	unmeasured    = math.MaxUint64         // instead of the size of files that cannot be read
	dataHeadroom  = 384 << 20              // of data above the memory limit: a runtime reserves more than it uses
	outputDelay   = 250 * time.Millisecond // for output held open by orphaned children
	maxOutputLine = 64 << 10
	shimTimeout   = 5 * time.Second // for a shim to end its plugin
)

// process is the program of a plugin. It reads its output itself, because go-plugin panics on some log lines and stops
// reading at long ones. Only SIGKILL ends it. Where there is a shim, closing stdin makes the shim kill it.
type process struct {
	program     string
	hidden      []string   // directories hidden from it
	noIsolation bool       // run without namespaces, for tests
	memory      uint64     // bytes; 0: no limit
	log         *logBuffer // receives every line of stderr, and of stdout but the first
	logStart    int        // lines in the log before its own
	handshake   *io.PipeReader
	stdin       io.Closer // closing it ends the plugin
	reports     *os.File  // from the shim; nil if there is none
	ended       chan struct{}

	mu     sync.Mutex
	cmd    *exec.Cmd   // nil until it is started
	report shim.Report // the shim's report after the plugin started
	killed bool
	err    error // why it ended; read after ended
	left   bool  // whether processes of it may be left; read after ended
}

// prepare builds the command, with the environment of go-plugin's own command.
func (p *process) prepare(like *exec.Cmd, dir string) (cmd *exec.Cmd, err error) {
	order := shim.Order{Program: p.program, Dir: dir, Hidden: p.hidden, NoIsolation: p.noIsolation}
	if p.memory > 0 {
		order.Data = p.memory + dataHeadroom
	}
	if cmd, p.reports, err = shimCommand(order); err != nil {
		return nil, err
	}
	cmd.Dir, cmd.WaitDelay = dir, outputDelay
	cmd.Env = append(like.Env, sdk.StdinHeld+"=1", "TMPDIR="+dir) // removed with its directory
	if p.memory > 0 {
		cmd.Env = append(cmd.Env, "GOMEMLIMIT="+strconv.FormatUint(p.memory, 10))
	}
	reader, writer := io.Pipe()
	p.handshake = reader
	cmd.Stdout, cmd.Stderr = &handshakeWriter{handshake: writer, rest: &lineWriter{out: p.log}}, &lineWriter{out: p.log}
	p.stdin, err = cmd.StdinPipe()
	return cmd, err
}

// start runs the command, and returns once the plugin runs.
func (p *process) start(cmd *exec.Cmd) error {
	err := p.startCommand(cmd)
	for _, file := range cmd.ExtraFiles { // the shim has its own copies
		_ = file.Close()
	}
	if err != nil {
		_ = p.reports.Close()
		return err
	}
	reports, report := json.NewDecoder(p.reports), shim.Report{}
	failed := error(nil)
	if p.reports != nil {
		failed = reports.Decode(&report)
	}
	if failed == nil && report.Failed != "" {
		failed = errors.New(report.Failed)
		if report.Errno != 0 {
			failed = &fs.PathError{Op: "fork/exec", Path: p.program, Err: syscall.Errno(report.Errno)}
		}
	}
	p.mu.Lock()
	p.report = report
	p.mu.Unlock()
	go p.wait(cmd, reports)
	return failed
}

// startCommand starts the command, unless the process was killed before.
func (p *process) startCommand(cmd *exec.Cmd) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return errors.New("it was killed before it started")
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	return nil
}

// wait waits for the end of the command and records the reason.
func (p *process) wait(cmd *exec.Cmd, reports *json.Decoder) {
	err := cmd.Wait()
	if p.reports != nil {
		var last shim.Report
		switch {
		case reports.Decode(&last) == nil && last.Ended == "":
		case last.Ended != "":
			err = errors.New(last.Ended)
		case err == nil:
			err = errors.New("it was killed")
		}
		_ = p.reports.Close()
	}
	p.err = err
	// A shim succeeds once it has no children.
	p.left = p.reports == nil || !cmd.ProcessState.Success()
	close(p.ended) // before go-plugin sees EOF, so that it can report the reason
	_ = p.handshake.Close()
}

// kill kills the process, or prevents its start.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := p.killed
	p.killed = true
	if again || p.cmd == nil {
		return
	}
	if p.reports == nil {
		_ = p.cmd.Process.Kill()
		return
	}
	_ = p.stdin.Close() // the shim kills everything
	go func(shim int) {
		late := time.NewTimer(shimTimeout)
		defer late.Stop()
		select {
		case <-p.ended:
		case <-late.C:
			killTree(shim)
		}
	}(p.cmd.Process.Pid)
}

// These separate the exit status from a line of the log. The last line need not be about the end.
const (
	fatalLogLine = ", with the log: "
	lastLogLine  = ", with the last log line: "
)

// WithoutLog returns the text of a fault without the line of the log, which can be about any business.
func WithoutLog(text string) string {
	for _, separator := range []string{fatalLogLine, lastLogLine} {
		if before, _, found := strings.Cut(text, separator); found {
			text = before + strings.Repeat(")", max(0, strings.Count(before, "(")-strings.Count(before, ")")))
		}
	}
	return text
}

// exitReason describes how the process ended, after it has.
func (p *process) exitReason() string {
	text := "it exited"
	if p.err != nil {
		text = p.err.Error()
	}
	log := p.log.after(p.logStart)
	for _, line := range slices.Backward(log) { // the lines after it are the stack
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return text + fatalLogLine + sdk.Truncate(line, maxFaultText)
		}
	}
	if len(log) > 0 {
		text += lastLogLine + sdk.Truncate(log[len(log)-1], maxFaultText)
	}
	return text
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && p.reports == nil {
		return p.cmd.Process.Pid
	}
	return p.report.PID
}

// started reports whether the command was started.
func (p *process) started() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil
}

// memoryInUse returns the memory of the plugin and its children, in bytes.
func (p *process) memoryInUse() uint64 {
	p.mu.Lock()
	reaper := p.report.Reaper
	p.mu.Unlock()
	if reaper == 0 {
		return 0
	}
	return memoryBelow(reaper)
}

// runner is a prepared process, in the form that go-plugin expects (its runner.Runner).
type runner struct {
	*process
	prepared *exec.Cmd
}

// Start starts the process.
func (r runner) Start(context.Context) error { return r.start(r.prepared) }

// Diagnose returns nothing, because the log has all there is.
func (r runner) Diagnose(context.Context) string { return "" }

// Stdout returns the first line of the output, which go-plugin uses to find the plugin.
func (r runner) Stdout() io.ReadCloser { return r.handshake }

// Stderr returns an empty reader, because the process reads the log itself.
func (r runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the path of the program.
func (r runner) Name() string { return r.program }

// Wait waits for the end.
func (r runner) Wait(context.Context) error {
	<-r.ended
	return r.err
}

// Kill kills the process.
func (r runner) Kill(context.Context) error {
	r.kill()
	return nil
}

// ID returns the process id.
func (r runner) ID() string { return strconv.Itoa(r.pid()) }

// PluginToHost returns the address unchanged.
func (r runner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin returns the address unchanged.
func (r runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
