package postgres

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"
)

// planned is a statement that is asked so often that planning it would cost more
// than carrying it out: each connection prepares it (PostgreSQL manual, PREPARE).
// It is meant for what is found by keys alone.
type planned struct {
	name  string
	types string // of the parameters, such as bigint, text
	query string // with $1 for the first parameter
}

// plannedFor is how long a plan is used: a queue that was empty when it was made
// may hold many thousands of rows by then.
const plannedFor = 5 * time.Second

// preparations remembers what was prepared on which connection, and when.
type preparations struct {
	mu   sync.Mutex
	done map[weak.Pointer[pgdriver.Conn]]map[string]time.Time
}

// ready prepares the statement on the connection, unless it is there already,
// and returns the statement that executes it with the arguments.
func (p *preparations) ready(ctx context.Context, conn bun.Conn, s *planned, args ...any) (string, error) {
	var key weak.Pointer[pgdriver.Conn]
	if err := conn.Raw(func(driven any) error {
		connection, ours := driven.(*pgdriver.Conn)
		if !ours {
			return fmt.Errorf("a connection of the driver was expected, not %T", driven)
		}
		key = p.remember(connection)
		return nil
	}); err != nil {
		return "", err
	}
	p.mu.Lock()
	at, there := p.done[key][s.name]
	p.mu.Unlock()
	if time.Since(at) > plannedFor {
		prepare := "PREPARE " + s.name + " (" + s.types + ") AS " + s.query
		if there {
			prepare = "DEALLOCATE " + s.name + "; " + prepare
		}
		if _, err := conn.ExecContext(ctx, prepare); err != nil {
			discard(conn) // its earlier plan may be gone: no transaction holds that
			return "", fmt.Errorf("preparing %s: %w", s.name, err)
		}
		p.mu.Lock()
		p.done[key][s.name] = time.Now()
		p.mu.Unlock()
	}
	holders := strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")
	return formatter.FormatQuery("EXECUTE "+s.name+" ("+holders+")", args...), nil
}

// remember is the connection's key. What is known of it goes when it goes.
func (p *preparations) remember(connection *pgdriver.Conn) weak.Pointer[pgdriver.Conn] {
	key := weak.Make(connection)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done[key] == nil {
		if p.done == nil {
			p.done = map[weak.Pointer[pgdriver.Conn]]map[string]time.Time{}
		}
		p.done[key] = map[string]time.Time{}
		runtime.AddCleanup(connection, p.forget, key)
	}
	return key
}

func (p *preparations) forget(key weak.Pointer[pgdriver.Conn]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.done, key)
}
