package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
)

// floorDatabase speaks SQL by the hub's own driver and nothing else of the
// hub. It measures floors, and it counts what the hub has stored.
type floorDatabase struct{ bun *bun.DB }

func openFloor(address string, connections int) (*floorDatabase, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	pool := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithNetwork("unix"), pgdriver.WithAddr(u.Path),
		pgdriver.WithUser(u.User.Username()), pgdriver.WithPassword(password), pgdriver.WithDatabase(u.Host), pgdriver.WithInsecure(true),
		pgdriver.WithBufferSize(64<<10), pgdriver.WithTimeout(time.Minute)))
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return &floorDatabase{bun.NewDB(pool, pgdialect.New())}, nil
}

func (f *floorDatabase) close() { _ = f.bun.Close() }

// count is the one number that a query yields.
func (f *floorDatabase) count(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = f.bun.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// storeFloor brings rows of stores in by the shortest way: COPY into a staging
// table of the session and one merge.
type storeFloor struct {
	conn  bun.Conn
	rows  []byte // in COPY's text format
	merge string
}

// storeFloor prepares the floor with the rows that the hub has stored for a
// business, so that both write the same columns and values.
func (f *floorDatabase) storeFloor(ctx context.Context, of core.BusinessID) (*storeFloor, error) {
	conn, err := f.bun.Conn(ctx)
	if err != nil {
		return nil, err
	}
	floor := &storeFloor{conn: conn}
	if err := floor.prepare(ctx, of); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("preparing the floor of stores: %w", err)
	}
	return floor, nil
}

func (s *storeFloor) prepare(ctx context.Context, of core.BusinessID) error {
	var columns []string
	if err := s.conn.NewRaw(`SELECT column_name FROM information_schema.columns
		WHERE table_name = 'stores' AND column_name <> 'business_id' ORDER BY ordinal_position`).Scan(ctx, &columns); err != nil {
		return err
	}
	list := strings.Join(columns, ", ")
	var rows bytes.Buffer
	if _, err := pgdriver.CopyTo(ctx, s.conn, &rows, fmt.Sprintf("COPY (SELECT %s FROM stores WHERE business_id = %d ORDER BY id) TO STDOUT", list, of)); err != nil {
		return err
	}
	s.rows = rows.Bytes()
	if _, err := s.conn.ExecContext(ctx, `CREATE TEMP TABLE stage ON COMMIT DELETE ROWS AS SELECT `+list+` FROM stores WITH NO DATA`); err != nil {
		return err
	}
	var sets []string
	for _, column := range columns {
		if column != "id" && column != "ref_id" {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	s.merge = "INSERT INTO stores (business_id, " + list + ") SELECT ?, " + list + " FROM stage ON CONFLICT (business_id, ref_id) DO UPDATE SET " +
		strings.Join(sets, ", ")
	return nil
}

// run writes all rows for a business in one transaction and tells how long it took.
func (s *storeFloor) run(ctx context.Context, business core.BusinessID) (time.Duration, error) {
	began := time.Now()
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := pgdriver.CopyFrom(ctx, s.conn, bytes.NewReader(s.rows), "COPY stage FROM STDIN"); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, s.merge, business); err != nil {
		return 0, err
	}
	err = tx.Commit()
	return time.Since(began), err
}

func (s *storeFloor) close() { _ = s.conn.Close() }

// insertFloor stores bodies one by one, a transaction each, from as many
// goroutines at once, and tells how many a second were stored.
func (f *floorDatabase) insertFloor(ctx context.Context, n, goroutines int) (float64, error) {
	if _, err := f.bun.ExecContext(ctx, `DROP TABLE IF EXISTS floor; CREATE TABLE floor (id uuid PRIMARY KEY, body bytea NOT NULL)`); err != nil {
		return 0, err
	}
	began := time.Now()
	err := inParallel(n, goroutines, func(i int) error {
		_, err := f.bun.ExecContext(ctx, `INSERT INTO floor VALUES (?, ?)`, core.NewID(time.Now()), payload(i))
		return err
	})
	return float64(n) / time.Since(began).Seconds(), err
}

// inParallel does n pieces of work from a number of goroutines; after an error
// nothing more is begun.
func inParallel(n, goroutines int, work func(i int) error) error {
	var (
		mu    sync.Mutex
		next  int
		first error
	)
	take := func(err error) (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		next++
		return next - 1, first == nil && next <= n
	}
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			var err error
			for {
				i, more := take(err)
				if !more {
					return
				}
				err = work(i)
			}
		})
	}
	running.Wait()
	return first
}
