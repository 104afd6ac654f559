package storetest

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// preparedStatements prepares statements on one connection at a time.
type preparedStatements struct {
	t        testing.TB
	db       *postgres.DB
	conn     bun.Conn
	prepares int
}

func newPreparedStatements(t testing.TB) *preparedStatements {
	t.Helper()
	p := &preparedStatements{t: t, db: hubtest.Database(t, clocktest.New())}
	p.db.Keyed().AddQueryHook(p)
	p.connect()
	t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

func (p *preparedStatements) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if strings.Contains(event.Query, "PREPARE ") {
		p.prepares++
	}
	return ctx
}

func (p *preparedStatements) AfterQuery(context.Context, *bun.QueryEvent) {}

func (p *preparedStatements) ask(n int) (result int) {
	p.read("echo_number", "value integer", "SELECT ?value", n, &result)
	return result
}

func (p *preparedStatements) askText(text string) (result string) {
	p.read("echo_text", "value text", "SELECT ?value", text, &result)
	return result
}

// askTable returns the number of rows of a table, or the database's error.
func (p *preparedStatements) askTable(name string) (rows int, err error) {
	err = p.query("rows_of_"+name, "value integer", "SELECT count(*) + ?value FROM "+name, 0, &rows)
	return rows, err
}

func (p *preparedStatements) read(name, types, text string, value, result any) {
	p.t.Helper()
	require.NoError(p.t, p.query(name, types, text, value, result))
}

func (p *preparedStatements) query(name, types, text string, value, result any) error {
	file := fmt.Sprintf("-- name: %s\n-- prepare: %s\n%s", name, types, text)
	queries, err := postgres.LoadQueries(fstest.MapFS{"test.sql": {Data: []byte(file)}})
	if err != nil {
		return err
	}
	ready, err := p.db.Prepare(context.Background(), p.conn, queries.Get(name), postgres.Args{"value": value})
	if err == nil {
		err = p.conn.NewRaw(ready).Scan(context.Background(), result)
	}
	return err
}

// reconnect switches to a new connection.
func (p *preparedStatements) reconnect() {
	_ = p.conn.Raw(func(any) error { return driver.ErrBadConn })
	p.pool()
}

// pool returns the connection to the pool and takes one from it.
func (p *preparedStatements) pool() {
	_ = p.conn.Close()
	p.connect()
}

// do runs a statement.
func (p *preparedStatements) do(statement string) {
	p.t.Helper()
	_, err := p.conn.ExecContext(context.Background(), statement)
	require.NoError(p.t, err)
}

func (p *preparedStatements) connect() {
	var err error
	p.conn, err = p.db.Keyed().Conn(context.Background())
	require.NoError(p.t, err)
}

func TestStatementsArePreparedOncePerConnection(t *testing.T) {
	p := newPreparedStatements(t)
	require.Equal(t, 42, p.ask(42), "prepared")
	require.Equal(t, `quoted '? \`, p.askText(`quoted '? \`), "arguments are written as elsewhere")
	require.Equal(t, 2, p.prepares)
	require.Equal(t, 43, p.ask(43))
	require.Equal(t, 2, p.prepares)
	p.pool()
	require.Equal(t, 44, p.ask(44))
	require.Equal(t, 2, p.prepares, "the connection came back from the pool")
	p.reconnect()
	require.Equal(t, 45, p.ask(45), "another connection")
	require.Equal(t, 3, p.prepares)
}

func TestStatementWorksAgainAfterAFailedPreparation(t *testing.T) {
	p := newPreparedStatements(t)
	_, err := p.askTable("heaps")
	require.ErrorContains(t, err, "preparing rows_of_heaps")
	p.pool()
	p.do("CREATE TABLE heaps (n integer)")
	rows, err := p.askTable("heaps")
	require.NoError(t, err)
	require.Zero(t, rows)
}
