package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// historyDays is over how many days a history spreads: the retention, today included.
const historyDays = 30

// historyFillers is how many sessions fill a history.
const historyFillers = 2

// historyTables are those of the history, and which of their columns tell
// the event, the delivery, or an instant. All others are copied from a row that
// the hub has written.
var historyTables = []struct {
	name       string
	ids, times []string
}{
	{"events", []string{"id"}, nil},
	{"deliveries", []string{"id", "event_id"}, []string{"finished_at"}},
	{"attempts", []string{"delivery_id"}, []string{"started_at"}},
}

// fillHistory stores n deliveries that came to an end, each with its event and
// its attempt, as many on every day. The hub must have made one before. It
// returns the size of all of it in bytes.
func (f *floorDatabase) fillHistory(ctx context.Context, n int) (size int64, err error) {
	now := time.Now().UTC()
	today := now.Truncate(24 * time.Hour)
	if err := inParallel(historyDays, historyFillers, func(i int) error {
		from := today.AddDate(0, 0, -i)
		span := 24 * time.Hour
		if i == 0 {
			span = now.Sub(today)
		}
		return f.fillDay(ctx, from, span, n/historyDays)
	}); err != nil {
		return 0, err
	}
	if _, err := f.bun.ExecContext(ctx, `CHECKPOINT`); err != nil {
		return 0, err
	}
	for _, table := range []string{"events", "deliveries", "attempts"} {
		rows, err := f.count(ctx, `SELECT count(*) FROM ?`, bun.Ident(table))
		if err != nil {
			return 0, err
		}
		if rows < int64(n/historyDays*historyDays) {
			return 0, fmt.Errorf("only %d %s are stored", rows, table)
		}
	}
	return f.count(ctx, `SELECT pg_database_size(current_database())`)
}

// fillDay stores n of each over a span of time from the beginning of a day, as
// upkeep has left them.
func (f *floorDatabase) fillDay(ctx context.Context, from time.Time, span time.Duration, n int) error {
	for _, table := range historyTables {
		name := bun.Ident(table.name + "_" + from.Format("20060102"))
		if _, err := f.bun.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ? PARTITION OF ? FOR VALUES FROM (?) TO (?)`,
			name, bun.Ident(table.name), core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1))); err != nil {
			return err
		}
		var columns []string
		if err := f.bun.NewRaw(`SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ?
			ORDER BY ordinal_position`, table.name).Scan(ctx, &columns); err != nil {
			return err
		}
		values := make([]string, len(columns))
		for i, column := range columns {
			values[i] = "pattern." + column
			for _, id := range table.ids {
				if column == id {
					values[i] = "numbered.id"
				}
			}
			for _, at := range table.times {
				if column == at {
					values[i] = "numbered.at"
				}
			}
		}
		// The identifiers ascend with the time, as the hub makes them (RFC 9562, version 7).
		if _, err := f.bun.ExecContext(ctx, `INSERT INTO ?0 (?1) SELECT ?2 FROM (SELECT * FROM ?3 LIMIT 1) pattern,
			(SELECT to_timestamp(ms / 1000.0) AS at, (lpad(to_hex(ms), 12, '0') || '7000a' || lpad(to_hex(i), 15, '0'))::uuid AS id
				FROM generate_series(1, ?4) i, LATERAL (SELECT ?5::bigint + i::bigint * ?6 / (?4 + 1) AS ms) m) numbered`,
			name, bun.Safe(strings.Join(columns, ", ")), bun.Safe(strings.Join(values, ", ")), bun.Ident(table.name),
			n, from.UnixMilli(), span.Milliseconds()); err != nil {
			return fmt.Errorf("%s of %s: %w", table.name, from.Format(time.DateOnly), err)
		}
		if _, err := f.bun.ExecContext(ctx, `VACUUM (ANALYZE) ?`, name); err != nil {
			return err
		}
	}
	return nil
}
