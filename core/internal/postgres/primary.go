package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"
)

// primaryConnector connects only to servers that accept writes. During a failover, a name may still
// resolve to a standby. A connection to it would stay in the pool and reject every write.
type primaryConnector struct {
	*pgdriver.Connector
	sessionSQL string // checks the server and sets the parameters of the session
	params     []driver.NamedValue
	lifetime   context.Context // until Close
	cancel     context.CancelFunc
}

const (
	writableSQL = "SELECT current_setting('transaction_read_only'), pg_is_in_recovery()"
	// The server ends the statement of a client that is gone. Only Linux is sure to have this parameter.
	checkIntervalSQL = ", CASE WHEN version() LIKE '%linux%' AND current_setting('client_connection_check_interval', " +
		"true) IS NOT NULL THEN set_config('client_connection_check_interval', '1s', false) END"
)

// newPrimaryConnector sets the parameters itself. The driver would need a round trip for each.
func newPrimaryConnector(options []pgdriver.Option) primaryConnector {
	open, cancel := context.WithCancel(context.Background())
	p := primaryConnector{pgdriver.NewConnector(options...), writableSQL + checkIntervalSQL, nil, open, cancel}
	for name, value := range p.Config().ConnParams {
		p.params = append(p.params, driver.NamedValue{Value: name}, driver.NamedValue{Value: fmt.Sprint(value)})
		p.sessionSQL += fmt.Sprintf(", set_config($%d, $%d, false)", len(p.params)-1, len(p.params))
	}
	p.Config().ConnParams = nil
	return p
}

// connectTimeout bounds how long a session may take to start.
const connectTimeout = 10 * time.Second

// Connect opens a connection to a server that accepts writes.
func (p primaryConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	opened, err := p.Connector.Connect(ctx)
	if err != nil {
		// The driver exports no such errors.
		switch {
		case strings.HasPrefix(err.Error(), "pgdriver: requires that standard_conforming_strings"):
			err = ErrEncoding
		case err.Error() == ErrNoTLS.Error():
			err = ErrNoTLS
		}
		return nil, err
	}
	conn := opened.(*pgdriver.Conn)
	if err := checkWritable(ctx, conn, p.sessionSQL, p.params); err != nil {
		_ = conn.Close()
		return nil, err
	}
	wire := conn.Conn()
	runtime.AddCleanup(conn, func(forget func() bool) { forget() },
		context.AfterFunc(p.lifetime, func() { _ = wire.Close() }))
	return conn, nil
}

// Close ends the connections; the pool calls it when it is closed. Otherwise the driver
// would let a statement wait for a hanging server.
func (p primaryConnector) Close() error {
	p.cancel()
	return nil
}

// readOnlyError is the reason why a server accepts no writes. The pool drops a connection with
// this error, and the caller may retry.
type readOnlyError string

func (r readOnlyError) Error() string { return string(r) }
func (readOnlyError) Unwrap() error   { return driver.ErrBadConn }

// Why a server accepts no writes.
const (
	ErrStandby  = readOnlyError("the server is a standby, which takes no changes")
	ErrReadOnly = readOnlyError("the database takes no changes: default_transaction_read_only is on")
)

// Why a server accepts no session.
var (
	ErrEncoding = errors.New(
		"the database must be in UTF8: sessions need client_encoding = UTF8 and standard_conforming_strings = on")
	ErrNoTLS = errors.New("pgdriver: SSL is not enabled on the server") // the driver's text
)

// checkWritable returns an error if the server of a connection accepts no writes. The query begins as writableSQL.
func checkWritable(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) error {
	rows, err := conn.QueryContext(ctx, query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return err
	}
	switch {
	case row[1] == true:
		return ErrStandby
	case row[0] == "on":
		return ErrReadOnly
	}
	return nil
}
