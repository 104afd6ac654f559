package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// menuFloor takes a menu in by the shortest way: decode the body, COPY the rows
// into staging tables of the session, and merge each once.
type menuFloor struct {
	conn   bun.Conn
	rules  menu.Rules
	tables []floorTable
}

// floorTable is a table that the floor writes.
type floorTable struct {
	name    string
	key     []string // what the merge finds rows by, besides the business
	columns []string
	merge   string
}

// menuRowsStored are the rows of a menu as the hub has stored them, of each
// table in COPY's text format.
type menuRowsStored [][]byte

// menuFloor prepares the floor: the tables, and the rules that bodies are read by.
func (f *floorDatabase) menuFloor(ctx context.Context) (*menuFloor, error) {
	vocabulary, err := menu.NewVocabulary()
	if err != nil {
		return nil, err
	}
	conn, err := f.bun.Conn(ctx)
	if err != nil {
		return nil, err
	}
	floor := &menuFloor{conn: conn, rules: menu.Rulebook{Vocabulary: vocabulary}.Of(core.Business{Country: menuCountry}), tables: []floorTable{
		{name: "menu_masters", key: []string{"kind", "name"}},
		{name: "menu_links", key: []string{"relation", "from_id", "to_id"}},
	}}
	for i := range floor.tables {
		if err := floor.tables[i].prepare(ctx, conn); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("preparing the floor of menus: %w", err)
		}
	}
	return floor, nil
}

// prepare makes the staging table and the statement that merges from it.
func (t *floorTable) prepare(ctx context.Context, conn bun.Conn) error {
	if err := conn.NewRaw(`SELECT column_name FROM information_schema.columns
		WHERE table_name = ? AND column_name <> 'business_id' ORDER BY ordinal_position`, t.name).Scan(ctx, &t.columns); err != nil {
		return err
	}
	list := strings.Join(t.columns, ", ")
	if _, err := conn.ExecContext(ctx, `CREATE TEMP TABLE floor_`+t.name+` ON COMMIT DELETE ROWS AS SELECT `+list+` FROM `+t.name+` WITH NO DATA`); err != nil {
		return err
	}
	var sets []string
	for _, column := range t.columns {
		if column != "id" && !slices.Contains(t.key, column) {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	t.merge = "INSERT INTO " + t.name + " (business_id, " + list + ") SELECT ?, " + list + " FROM floor_" + t.name +
		" ON CONFLICT (business_id, " + strings.Join(t.key, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
	return nil
}

// stored reads what the hub has stored of a business's menu.
func (m *menuFloor) stored(ctx context.Context, of core.BusinessID) (menuRowsStored, error) {
	var all menuRowsStored
	for _, t := range m.tables {
		var rows bytes.Buffer
		if _, err := pgdriver.CopyTo(ctx, m.conn, &rows, fmt.Sprintf("COPY (SELECT %s FROM %s WHERE business_id = %d ORDER BY %s) TO STDOUT",
			strings.Join(t.columns, ", "), t.name, of, strings.Join(t.key, ", "))); err != nil {
			return nil, fmt.Errorf("reading the rows of %s: %w", t.name, err)
		}
		all = append(all, rows.Bytes())
	}
	return all, nil
}

// run takes the body in for a business, which comes to the rows, in one
// transaction and tells how long it took.
func (m *menuFloor) run(ctx context.Context, business core.BusinessID, body []byte, rows menuRowsStored) (time.Duration, error) {
	began := time.Now()
	if _, err := menu.Decode(body, menu.MasterScope(), m.rules); err != nil {
		return 0, fmt.Errorf("decoding the menu: %w", err)
	}
	tx, err := m.conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	for i, t := range m.tables {
		if _, err := pgdriver.CopyFrom(ctx, m.conn, bytes.NewReader(rows[i]), "COPY floor_"+t.name+" FROM STDIN"); err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, t.merge, business); err != nil {
			return 0, err
		}
	}
	err = tx.Commit()
	return time.Since(began), err
}

func (m *menuFloor) close() { _ = m.conn.Close() }
