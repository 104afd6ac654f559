package devpg

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/servery-hub/servery/core"
)

// child is the server process, if this process started it.
type child struct {
	pid      int
	logBegin int64         // offset of its first line in the log
	exited   chan struct{} // closed when it is reaped
	status   error         // the exit status; read it after exited is closed
}

// launch starts the server as a detached process: it survives a Ctrl-C and our death, and the last Close stops it. It
// first removes leftovers of a dead server. The caller must have checked that no server runs.
func launch(files layout, bins binaries) (*child, error) {
	dir := files.socketDir()
	if err := core.WithRemedy(makeSocketDir(dir, files.owner), socketRemedy); err != nil {
		return nil, err
	}
	if err := clearSocket(dir); err != nil {
		return nil, err
	}
	if err := clearPidfile(files.cluster(), files.owner); err != nil {
		return nil, err
	}
	log, begin, err := openServerLog(files.logPath())
	if err != nil {
		return nil, err
	}
	defer log.Close()

	// The options that make the server private are arguments, so that no setting and no ALTER SYSTEM overrides them.
	// isServer expects "-D cluster" first.
	cmd := exec.Command(bins.postgres(), "-D", files.cluster(),
		"-k", dir, "-p", "5432", "-c", "listen_addresses=")
	cmd.Dir = "/"
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = files.owner.attributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL as %s: %w", files.owner.name, err)
	}
	c := &child{pid: cmd.Process.Pid, logBegin: begin, exited: make(chan struct{})}
	go func() {
		// An unreaped process would look alive by its pid.
		c.status = cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// exitError explains why the server exited. Call it after exited is closed.
func (c *child) exitError(logPath string) error {
	status := "exit status 0"
	if c.status != nil {
		status = c.status.Error()
	}
	return fmt.Errorf("PostgreSQL died while starting (%s), with the end of %s:\n%s",
		status, logPath, logTail(logPath, c.logBegin))
}

// awaitReaped waits until the process is reaped.
func (c *child) awaitReaped(ctx context.Context) {
	select {
	case <-c.exited:
	case <-ctx.Done():
	}
}
