package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sinkCommand is the endpoint that deliveries are posted to, in a process of
// its own. It speaks just enough HTTP/1.1 to take POSTs on kept-alive
// connections as cheaply as possible, and remembers when each came. Its parent
// asks for that over standard input, the end of which ends it.
type sinkCommand struct{}

// arrival is one request that the sink got.
type arrival struct {
	ID       string `json:"id"`   // the webhook-id
	Path     string `json:"path"` // of the address, such as /hook
	At       int64  `json:"at"`   // when its head had been read; nanoseconds of Unix time
	Answered int64  `json:"answered"`
	Size     int    `json:"size"` // of the body
	Head     string `json:"head"` // the body's first bytes
}

// hangPath is the path of the endpoint that takes a request and never answers.
// What it takes is counted and does not belong to the arrivals.
const hangPath = "/hang"

// headBytes is how much of a body is kept: the reference of a callback is in it.
const headBytes = 64

// endpoint is the state of the sink.
type endpoint struct {
	mu       sync.Mutex
	came     *sync.Cond
	arrivals []arrival
	tries    map[string]int
	failures int // how many attempts of every delivery are refused
	hung     int // requests that got no answer
}

// Run serves until standard input ends.
func (sinkCommand) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	e := &endpoint{tries: map[string]int{}}
	e.came = sync.NewCond(&e.mu)
	go e.accept(listener)
	if _, err := fmt.Println("http://" + listener.Addr().String() + "/hook"); err != nil {
		return err
	}
	return e.obey(ctx, listener.Addr().(*net.TCPAddr).Port, os.Stdin, os.Stdout)
}

func (e *endpoint) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go e.serve(conn)
	}
}

// spread serves on as many addresses of this machine besides, at the same port.
func (e *endpoint) spread(ctx context.Context, port, addresses int) error {
	for i := range addresses {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(spreadAddress(i), strconv.Itoa(port)))
		if err != nil {
			return err
		}
		go e.accept(listener) // until the process ends
	}
	return nil
}

// spreadAddress is one of many addresses of this machine, each of which is
// another host to a sender.
func spreadAddress(n int) string { return fmt.Sprintf("127.1.%d.%d", n/250, 1+n%250) }

// obey answers the parent's commands, one a line: reset FAILURES, await COUNT
// MILLISECONDS, dump, hung, spread ADDRESSES.
func (e *endpoint) obey(ctx context.Context, port int, in io.Reader, out io.Writer) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		first, second, _ := strings.Cut(rest, " ")
		n, _ := strconv.Atoi(first)
		wait, _ := strconv.Atoi(second)
		var answer any
		switch name {
		case "reset":
			e.reset(n)
		case "await":
			answer = e.await(n, time.Duration(wait)*time.Millisecond)
		case "dump":
			e.mu.Lock()
			answer = e.arrivals
			e.mu.Unlock()
		case "hung":
			e.mu.Lock()
			answer = e.hung
			e.mu.Unlock()
		case "spread":
			if err := e.spread(ctx, port, n); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown command %q", name)
		}
		if err := json.NewEncoder(out).Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func (e *endpoint) reset(failures int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arrivals, e.tries, e.failures, e.hung = make([]arrival, 0, 1<<15), map[string]int{}, failures, 0
}

// await waits for so many requests and returns how many came.
func (e *endpoint) await(n int, wait time.Duration) int {
	deadline := time.Now().Add(wait)
	timer := time.AfterFunc(wait, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.came.Broadcast()
	})
	defer timer.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.arrivals) < n && time.Now().Before(deadline) {
		e.came.Wait()
	}
	return len(e.arrivals)
}

var (
	answerOK      = []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	answerFailure = []byte("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
)

// serve takes requests from one connection until that ends.
func (e *endpoint) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		came, err := readRequest(in)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "sink:", err)
			}
			return
		}
		if came.Path == hangPath {
			e.mu.Lock()
			e.hung++
			e.mu.Unlock()
			_, _ = io.Copy(io.Discard, in) // until the sender has had enough
			return
		}
		if _, err := conn.Write(e.take(came)); err != nil {
			return
		}
	}
}

// take remembers a request and chooses the answer.
func (e *endpoint) take(came arrival) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := answerOK
	if e.failures > 0 {
		e.tries[came.ID]++
		if e.tries[came.ID] <= e.failures {
			answer = answerFailure
		}
	}
	came.Answered = time.Now().UnixNano()
	e.arrivals = append(e.arrivals, came)
	e.came.Broadcast()
	return answer
}

// readRequest reads one request with a body of stated length.
func readRequest(in *bufio.Reader) (arrival, error) {
	var came arrival
	line, err := in.ReadSlice('\n') // the request line
	if err != nil {
		return came, err
	}
	_, target, _ := bytes.Cut(line, []byte(" "))
	target, _, _ = bytes.Cut(target, []byte(" "))
	came.Path = string(target)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return came, fmt.Errorf("reading a head: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			came.Size, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		case bytes.EqualFold(name, []byte("Webhook-Id")):
			came.ID = string(bytes.TrimSpace(value))
		}
	}
	came.At = time.Now().UnixNano()
	head, err := in.Peek(min(came.Size, headBytes))
	if err != nil {
		return came, fmt.Errorf("reading a body: %w", err)
	}
	came.Head = string(head)
	if _, err := in.Discard(came.Size); err != nil {
		return came, fmt.Errorf("reading a body: %w", err)
	}
	return came, nil
}
