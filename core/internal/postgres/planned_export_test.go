package postgres

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
)

// Preparations prepares, for tests, statements on one connection at a time.
type Preparations struct {
	t    testing.TB
	db   *DB
	conn bun.Conn
	made int
}

func (db *DB) Preparations(t testing.TB) *Preparations {
	p := &Preparations{t: t, db: db}
	db.bun.AddQueryHook(p)
	p.connect()
	t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

func (p *Preparations) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if strings.Contains(event.Query, "PREPARE ") {
		p.made++
	}
	return ctx
}

func (p *Preparations) AfterQuery(context.Context, *bun.QueryEvent) {}

// Prepared is how often a statement was prepared.
func (p *Preparations) Prepared() int { return p.made }

func (p *Preparations) Ask(n int) (answer int) {
	p.ask(&planned{name: "echo_number", types: "integer", query: "SELECT $1"}, n, &answer)
	return answer
}

func (p *Preparations) AskText(text string) (answer string) {
	p.ask(&planned{name: "echo_text", types: "text", query: "SELECT $1"}, text, &answer)
	return answer
}

// AskTable asks how many rows a table has; what refuses it is not the test's failure.
func (p *Preparations) AskTable(name string) (rows int, err error) {
	err = p.answer(&planned{name: "rows_of_" + name, types: "integer", query: "SELECT count(*) + $1 FROM " + name}, 0, &rows)
	return rows, err
}

func (p *Preparations) ask(s *planned, asked, answer any) {
	p.t.Helper()
	if err := p.answer(s, asked, answer); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Preparations) answer(s *planned, asked, answer any) error {
	query, err := p.db.prepared.ready(context.Background(), p.conn, s, asked)
	if err == nil {
		err = p.conn.NewRaw(query).Scan(context.Background(), answer)
	}
	return err
}

// Age lets time go by until every plan is old.
func (p *Preparations) Age() {
	p.db.prepared.mu.Lock()
	defer p.db.prepared.mu.Unlock()
	for _, made := range p.db.prepared.done {
		for name := range made {
			made[name] = time.Time{}
		}
	}
}

// Reconnect goes on with another connection to the database.
func (p *Preparations) Reconnect() {
	_ = p.conn.Raw(func(any) error { return driver.ErrBadConn })
	p.Pool()
}

// Pool gives the connection back and goes on with the one that the pool has now.
func (p *Preparations) Pool() {
	_ = p.conn.Close()
	p.connect()
}

// Do carries a statement out.
func (p *Preparations) Do(statement string) {
	p.t.Helper()
	if _, err := p.conn.ExecContext(context.Background(), statement); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Preparations) connect() {
	conn, err := p.db.bun.Conn(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	p.conn = conn
}
