package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// attackCommand is the process of hostile clients. It says "ready", and afterwards, as
// JSON, what came of its requests.
type attackCommand struct {
	Kind          string
	Address       string
	Count         int
	For           time.Duration
	Authorization string `env:"BENCH_ATTACKER" help:"Key of the attacker's own business."`
}

// attackReport is what came of an attack.
type attackReport struct {
	Answers map[string]int // by status, or how the connection ended
}

// attackerAddresses is from how many addresses of this machine attackers come.
const attackerAddresses = 16

func attackerAddress(i int) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%attackerAddresses))}
}

// Run sends the requests at an even rate.
func (c *attackCommand) Run(ctx context.Context) error {
	kinds := hostileKinds()
	at := slices.IndexFunc(kinds, func(k hostileKind) bool { return k.name == c.Kind })
	if at < 0 {
		return fmt.Errorf("no kind is called %q", c.Kind)
	}
	kind := kinds[at]
	n := min(c.Count*max(kind.factor, 1), allowedSockets())
	requests := kind.requests(c.Authorization)
	runtime.GC() // of what the requests were made from
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.For)
	defer cancel()
	go func() { // the parent has gone, or has seen enough
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	answers := attackAll(ctx, n, c.For*4/5, func(i int) string {
		return attackOnce(ctx, c.Address, attackerAddress(i), requests[i%len(requests)], kind.manner)
	})
	return json.NewEncoder(os.Stdout).Encode(attackReport{answers})
}

// allowedSockets leaves some of the files that the process may have open for others.
func allowedSockets() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 500
	}
	return int(min(limit.Cur, 1<<20)) - 100
}

// attackAll begins n attacks at an even rate over a span and counts what came of them.
func attackAll(ctx context.Context, n int, span time.Duration, attack func(i int) string) map[string]int {
	var (
		mu      sync.Mutex
		running sync.WaitGroup
		answers = map[string]int{}
	)
	began := time.Now()
	for i := range n {
		if pause(ctx, time.Until(began.Add(span*time.Duration(i)/time.Duration(n)))) != nil {
			break
		}
		running.Go(func() {
			answer := attack(i)
			mu.Lock()
			defer mu.Unlock()
			answers[answer]++
		})
	}
	running.Wait()
	return answers
}

// attackOnce makes one hostile request and tells what came of it.
func attackOnce(ctx context.Context, address string, from *net.TCPAddr, request []byte, how manner) string {
	dialer := net.Dialer{LocalAddr: from, Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp4", address)
	if err != nil {
		return "not connected"
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if how == sips {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	if _, err := conn.Write(request); err != nil && how != awaits && how != sips {
		return broken(err)
	} // else the answer may be there already
	switch how {
	case drips:
		return drip(ctx, conn)
	case sips:
		return sip(ctx, conn)
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(conn, head); err != nil {
		return broken(err)
	}
	return strings.TrimPrefix(string(head), "HTTP/1.1 ")
}

// drip sends a byte twice a second until the connection ends.
func drip(ctx context.Context, conn net.Conn) string {
	for pause(ctx, 500*time.Millisecond) == nil {
		if _, err := conn.Write([]byte(" ")); err != nil {
			return broken(err)
		}
	}
	return "held"
}

// sip reads a byte twice a second until the connection ends. What has arrived can be read
// even afterwards: writing shows the end.
func sip(ctx context.Context, conn net.Conn) string {
	for pause(ctx, 500*time.Millisecond) == nil {
		_, err := conn.Read(make([]byte, 1))
		if err == nil {
			_, err = conn.Write([]byte("\n"))
		}
		if err != nil {
			return broken(err)
		}
	}
	return "held"
}

// broken tells how a connection ended: "held" is one that the hub has not ended.
func broken(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "held"
	}
	return "closed"
}

// burnCommand is a process that uses as much of the processors as an attack did.
type burnCommand struct {
	Busy time.Duration
	For  time.Duration
}

// Run spreads the work evenly over its time.
func (c *burnCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.For)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	const slice = 10 * time.Millisecond
	share := min(float64(c.Busy)/float64(c.For)/float64(runtime.NumCPU()), 1)
	var running sync.WaitGroup
	for range runtime.NumCPU() {
		running.Go(func() {
			runtime.LockOSThread()
			for ctx.Err() == nil {
				began := time.Now()
				for time.Since(began) < time.Duration(share*float64(slice)) {
				}
				_ = pause(ctx, slice-time.Since(began))
			}
		})
	}
	running.Wait()
	return nil
}
