package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// sink is the endpoint's process as its parent sees it. It is not safe for
// concurrent use.
type sink struct {
	url     string
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// startSink runs this program once more as the endpoint. It ends with the
// context, with close, or with this process, whichever is first.
func startSink(ctx context.Context) (*sink, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &sink{process: exec.CommandContext(ctx, self, "sink")}
	s.process.Env, s.process.Stderr = withoutSettings(os.Environ()), os.Stderr
	if s.in, err = s.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the sink: %w", err)
	}
	address, err := s.out.ReadString('\n')
	if err != nil {
		s.close()
		return nil, fmt.Errorf("the sink did not start: %w", err)
	}
	s.url = strings.TrimSpace(address)
	return s, nil
}

// ask sends a command and reads its answer, a line of JSON.
func (s *sink) ask(answer any, format string, args ...any) error {
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		return fmt.Errorf("asking the sink: %w", err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the sink went away: %w", err)
	}
	return json.Unmarshal(line, answer)
}

// reset forgets what came, and sets how many attempts of each delivery are to
// be refused.
func (s *sink) reset(failures int) error {
	var nothing any
	return s.ask(&nothing, "reset %d", failures)
}

// await waits until so many requests have come; it is an error when they do not.
func (s *sink) await(n int, wait time.Duration) error {
	var came int
	if err := s.ask(&came, "await %d %d", n, wait.Milliseconds()); err != nil {
		return err
	}
	if came < n {
		return fmt.Errorf("only %d of %d requests arrived within %v", came, n, wait)
	}
	return nil
}

// arrivals is all that came since the last reset.
func (s *sink) arrivals() (list []arrival, err error) {
	err = s.ask(&list, "dump")
	return list, err
}

// byID is what came since the last reset, the attempts of each delivery together
// in their order.
func (s *sink) byID() (map[string][]arrival, error) {
	list, err := s.arrivals()
	if err != nil {
		return nil, err
	}
	ids := make(map[string][]arrival, len(list))
	for _, a := range list {
		ids[a.ID] = append(ids[a.ID], a)
	}
	return ids, nil
}

// hung is how many requests were left without an answer since the last reset.
func (s *sink) hung() (n int, err error) {
	err = s.ask(&n, "hung")
	return n, err
}

// spread has the sink serve on as many addresses of this machine besides.
func (s *sink) spread(addresses int) error {
	var nothing any
	return s.ask(&nothing, "spread %d", addresses)
}

// at is the address of a path of the sink, under another name of this machine
// where one is given.
func (s *sink) at(host, path string) string {
	u, err := url.Parse(s.url)
	if err != nil {
		panic(fmt.Sprintf("the sink's own address %q: %v", s.url, err))
	}
	if host != "" {
		u.Host = net.JoinHostPort(host, u.Port())
	}
	u.Path = path
	return u.String()
}

// close ends the sink.
func (s *sink) close() {
	_ = s.in.Close()
	var ended *exec.ExitError
	if err := s.process.Wait(); err != nil && !errors.As(err, &ended) {
		_ = s.process.Process.Kill()
	}
}
