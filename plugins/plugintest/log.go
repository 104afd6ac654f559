package plugintest

import (
	"bytes"
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// logBuffer is a bounded buffer with the end of a log.
type logBuffer struct {
	mu      sync.Mutex
	tail    []byte
	written int
}

const maxLogBytes = 4 << 20

const (
	// logRounds is how many calls a program responds to without a new print before its log counts as complete.
	logRounds = 50
	logPause  = time.Millisecond // between them
	// logTimeout bounds the wait for a program that prints all the time, and responseTimeout that for one that hangs.
	logTimeout      = 10 * time.Second
	responseTimeout = 2 * time.Second
)

// settle waits until what a program has printed so far is in the log. Prints come over a stream on the connection,
// which marks no end. But a program that responds to calls also sends its prints, however slow the machine is.
func (l *logBuffer) settle(conn grpc.ClientConnInterface) {
	begun := time.Now()
	for quiet := 0; quiet < logRounds && time.Since(begun) < logTimeout; {
		before := l.size()
		if !responds(conn) {
			return
		}
		time.Sleep(logPause)
		if quiet++; l.size() != before {
			quiet = 0
		}
	}
}

// responds makes a call that does not reach the plugin's own code. It returns whether the program responds, even with
// an error.
func responds(conn grpc.ClientConnInterface) bool {
	ctx, cancel := context.WithTimeout(context.Background(), responseTimeout)
	defer cancel()
	_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	code := status.Code(err)
	return code != codes.Unavailable && code != codes.DeadlineExceeded && code != codes.Canceled
}

// Write appends to the log.
func (l *logBuffer) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written += len(text)
	l.tail = append(l.tail, text...)
	if len(l.tail) > maxLogBytes {
		l.tail = bytes.Clone(l.tail[len(l.tail)-maxLogBytes:])
	}
	return len(text), nil
}

func (l *logBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.tail)
}

func (l *logBuffer) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written
}
