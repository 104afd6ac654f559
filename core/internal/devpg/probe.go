package devpg

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	probeWait       = 5 * time.Second
	protocolVersion = 3 << 16
	maxMessage      = 1 << 20
)

// probeResult is how a server responds to a startup packet.
type probeResult int

const (
	probeAbsent  probeResult = iota // no server listens
	probeSilent                     // a server listens but does not respond yet
	probeBusy                       // starting up, recovering or shutting down
	probeRefused                    // it runs, but rejects the connection
	probeReady
)

// serverError is an ErrorResponse of the server.
type serverError struct{ code, message string }

func (e *serverError) Error() string { return e.message + " (SQLSTATE " + e.code + ")" }

// probe requests a session from the server at the socket. It stops when the server requests the password, because the
// server is then ready. An error comes with probeRefused, which waiting does not change.
func probe(ctx context.Context, socket string) (probeResult, error) {
	s, err := dial(ctx, socket)
	if err != nil {
		return probeAbsent, nil
	}
	defer s.conn.Close()
	refusal, err := s.startup()
	switch {
	case err != nil:
		// The connection broke: the caller probes again.
		return probeSilent, nil
	case refusal == nil:
		return probeReady, nil
	}
	switch refusal.code {
	case "57P03", "57P01", "57P02": // cannot connect now, shutdown, crash
		return probeBusy, nil
	case "53300": // too many connections: it serves others
		return probeReady, nil
	}
	return probeRefused, fmt.Errorf("private PostgreSQL at %s rejects the role %s: %w", socket, roleName, refusal)
}

// session implements as much of the PostgreSQL protocol as the probe needs. A driver would report a recovering server
// as a failure.
type session struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(ctx context.Context, socket string) (*session, error) {
	dialer := net.Dialer{Timeout: probeWait}
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(probeWait)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	_ = conn.SetDeadline(deadline)
	return &session{conn: conn, in: bufio.NewReader(conn)}, nil
}

// startup sends the startup packet. It returns the error of the server as refusal.
func (s *session) startup() (refusal *serverError, err error) {
	params := strings.Join([]string{
		"user", roleName, "database", roleName, "application_name", "servery-probe", "", "",
	}, "\x00")
	packet := binary.BigEndian.AppendUint32(nil, uint32(8+len(params)))
	packet = binary.BigEndian.AppendUint32(packet, protocolVersion)
	if _, err := s.conn.Write(append(packet, params...)); err != nil {
		return nil, err
	}
	return s.firstResponse()
}

// firstResponse reads until the server requests the password or sends an error.
func (s *session) firstResponse() (*serverError, error) {
	for {
		kind, body, err := s.receive()
		if err != nil {
			return nil, err
		}
		switch kind {
		case 'R':
			return nil, nil
		case 'E':
			return parseError(body), nil
		}
	}
}

func (s *session) receive() (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < 4 || size > maxMessage {
		return 0, nil, fmt.Errorf("message of %d bytes is not PostgreSQL's", size)
	}
	body = make([]byte, size-4)
	_, err = io.ReadFull(s.in, body)
	return head[0], body, err
}

func parseError(body []byte) *serverError {
	e := &serverError{}
	for _, field := range strings.Split(string(body), "\x00") {
		if field == "" {
			continue
		}
		switch field[0] {
		case 'C':
			e.code = field[1:]
		case 'M':
			e.message = field[1:]
		}
	}
	return e
}
