package postgres

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"
)

// statementCache records what each connection has prepared. Statements live as long as their connection.
type statementCache struct {
	mu       sync.Mutex
	prepared map[weak.Pointer[pgdriver.Conn]]map[string]bool
}

// Prepare prepares the query on the connection if necessary. It returns the statement that
// executes it with the arguments.
func (p *statementCache) Prepare(ctx context.Context, conn bun.Conn, q *Query, args Args) (string, error) {
	var key weak.Pointer[pgdriver.Conn]
	if err := conn.Raw(func(driverConn any) error {
		connection, isDriver := driverConn.(*pgdriver.Conn)
		if !isDriver {
			return fmt.Errorf("a connection of the driver was expected, not %T", driverConn)
		}
		key = p.track(connection)
		return nil
	}); err != nil {
		return "", err
	}
	p.mu.Lock()
	prepared := p.prepared[key][q.name]
	p.mu.Unlock()
	if !prepared {
		if _, err := conn.ExecContext(ctx, q.prepare()); err != nil {
			return "", fmt.Errorf("preparing %s: %w", q.name, err)
		}
		p.mu.Lock()
		p.prepared[key][q.name] = true
		p.mu.Unlock()
	}
	return q.execute(args), nil
}

// track returns the connection's key. The entry is removed with the connection.
func (p *statementCache) track(connection *pgdriver.Conn) weak.Pointer[pgdriver.Conn] {
	key := weak.Make(connection)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prepared[key] == nil {
		if p.prepared == nil {
			p.prepared = map[weak.Pointer[pgdriver.Conn]]map[string]bool{}
		}
		p.prepared[key] = map[string]bool{}
		runtime.AddCleanup(connection, p.untrack, key)
	}
	return key
}

func (p *statementCache) untrack(key weak.Pointer[pgdriver.Conn]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.prepared, key)
}
