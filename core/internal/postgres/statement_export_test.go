package postgres

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/uptrace/bun"
)

// PreparedStatements prepares statements on one connection at a time.
type PreparedStatements struct {
	t        testing.TB
	db       *DB
	conn     bun.Conn
	prepares int
}

func (db *DB) PreparedStatements(t testing.TB) *PreparedStatements {
	p := &PreparedStatements{t: t, db: db}
	db.keyed.AddQueryHook(p)
	p.connect()
	t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

func (p *PreparedStatements) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if strings.Contains(event.Query, "PREPARE ") {
		p.prepares++
	}
	return ctx
}

func (p *PreparedStatements) AfterQuery(context.Context, *bun.QueryEvent) {}

// Prepared returns how often a statement was prepared.
func (p *PreparedStatements) Prepared() int { return p.prepares }

func (p *PreparedStatements) Ask(n int) (result int) {
	p.ask("echo_number", "value integer", "SELECT ?value", n, &result)
	return result
}

func (p *PreparedStatements) AskText(text string) (result string) {
	p.ask("echo_text", "value text", "SELECT ?value", text, &result)
	return result
}

// AskTable returns the number of rows of a table, or the database's error.
func (p *PreparedStatements) AskTable(name string) (rows int, err error) {
	err = p.query("rows_of_"+name, "value integer", "SELECT count(*) + ?value FROM "+name, 0, &rows)
	return rows, err
}

func (p *PreparedStatements) ask(name, types, text string, value, result any) {
	p.t.Helper()
	if err := p.query(name, types, text, value, result); err != nil {
		p.t.Fatal(err)
	}
}

func (p *PreparedStatements) query(name, types, text string, value, result any) error {
	query, err := newQuery(name, []string{types}, []string{text})
	if err != nil {
		return err
	}
	ready, err := p.db.Prepare(context.Background(), p.conn, query, Args{"value": value})
	if err == nil {
		err = p.conn.NewRaw(ready).Scan(context.Background(), result)
	}
	return err
}

// Reconnect switches to a new connection.
func (p *PreparedStatements) Reconnect() {
	_ = p.conn.Raw(func(any) error { return driver.ErrBadConn })
	p.Pool()
}

// Pool returns the connection to the pool and takes one from it.
func (p *PreparedStatements) Pool() {
	_ = p.conn.Close()
	p.connect()
}

// Do runs a statement.
func (p *PreparedStatements) Do(statement string) {
	p.t.Helper()
	if _, err := p.conn.ExecContext(context.Background(), statement); err != nil {
		p.t.Fatal(err)
	}
}

func (p *PreparedStatements) connect() {
	conn, err := p.db.keyed.Conn(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	p.conn = conn
}
