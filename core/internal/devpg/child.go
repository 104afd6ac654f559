package devpg

import (
	"context"
	"fmt"
	"os/exec"
)

// child is the server process while its parent is this process.
type child struct {
	pid      int
	logBegin int64         // where its part of the log begins
	exited   chan struct{} // closed once it is reaped
	status   error         // how it ended; read it after exited is closed
}

// launch starts the server process, detached from us: it outlives a Ctrl-C and
// our death, and is stopped by the last user's Close. What a dead server left
// behind is cleared away; the caller has seen that none runs.
func launch(at layout, bins binaries) (*child, error) {
	dir := at.socketDir()
	if err := makeSocketDir(dir, at.owner); err != nil {
		return nil, err
	}
	if err := clearSocket(dir); err != nil {
		return nil, err
	}
	if err := clearPidfile(at.cluster(), at.owner); err != nil {
		return nil, err
	}
	log, begin, err := openServerLog(at.logPath())
	if err != nil {
		return nil, err
	}
	defer log.Close()

	// What makes the server private goes on the command line, where neither a
	// setting nor ALTER SYSTEM overrides it. "-D cluster" comes first: serves
	// recognises the process by it.
	cmd := exec.Command(bins.postgres(), "-D", at.cluster(),
		"-k", dir, "-p", "5432", "-c", "listen_addresses=")
	cmd.Dir = "/"
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = at.owner.attributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL as %s: %w", at.owner.name, err)
	}
	c := &child{pid: cmd.Process.Pid, logBegin: begin, exited: make(chan struct{})}
	go func() {
		// Unreaped, a dead server would look alive by its pid.
		c.status = cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// exitError tells why the server died; call it after exited is closed.
func (c *child) exitError(logPath string) error {
	status := "exit status 0"
	if c.status != nil {
		status = c.status.Error()
	}
	return fmt.Errorf("PostgreSQL died while starting (%s), with the end of %s:\n%s",
		status, logPath, logTail(logPath, c.logBegin))
}

// awaitReaped waits until the dead process is reaped.
func (c *child) awaitReaped(ctx context.Context) {
	select {
	case <-c.exited:
	case <-ctx.Done():
	}
}
