package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"
)

// primaries connects to servers that take changes alone. While a failover is under
// way a name may still lead to a standby: a connection made then would be kept, and
// refuse every change, for as long as the standby lives.
type primaries struct {
	*pgdriver.Connector
	open  context.Context // until Close
	close context.CancelFunc
}

func newPrimaries(options []pgdriver.Option) primaries {
	open, cancel := context.WithCancel(context.Background())
	return primaries{pgdriver.NewConnector(options...), open, cancel}
}

// connectTime bounds how long a server may take to let a session begin.
const connectTime = 10 * time.Second

// Connect makes a connection.
func (p primaries) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	made, err := p.Connector.Connect(ctx)
	if err != nil {
		if strings.HasPrefix(err.Error(), "pgdriver: requires that standard_conforming_strings") { // it has no name
			err = errEncoding
		}
		return nil, err
	}
	conn := made.(*pgdriver.Conn)
	if err := takesChanges(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	wire := conn.Conn()
	runtime.AddCleanup(conn, func(forget func() bool) { forget() }, context.AfterFunc(p.open, func() { _ = wire.Close() }))
	return conn, nil
}

// Close ends the connections; the pool calls it when it is closed. The driver
// itself would let a statement wait for a server that hangs.
func (p primaries) Close() error {
	p.close()
	return nil
}

// readOnly says why a server takes no changes. A connection to it is a bad one: it
// does not stay in the pool, and who meets it may try again.
type readOnly string

func (r readOnly) Error() string { return string(r) }
func (readOnly) Unwrap() error   { return driver.ErrBadConn }

const (
	errStandby  = readOnly("the server is a standby, which takes no changes")
	errReadOnly = readOnly("the database takes no changes: default_transaction_read_only is on")
)

var errEncoding = errors.New("the database must be in UTF8: its sessions have to begin with client_encoding = UTF8 and standard_conforming_strings = on")

// takesChanges asks the server of a connection whether it does.
func takesChanges(ctx context.Context, conn driver.QueryerContext) error {
	rows, err := conn.QueryContext(ctx, "SELECT current_setting('transaction_read_only'), pg_is_in_recovery()", nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	answer := make([]driver.Value, 2)
	if err := rows.Next(answer); err != nil {
		return err
	}
	switch {
	case answer[1] == true:
		return errStandby
	case answer[0] == "on":
		return errReadOnly
	}
	return nil
}
