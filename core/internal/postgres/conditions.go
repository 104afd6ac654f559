package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// Conditions builds the conditions of a query, each after an AND, with their arguments.
type Conditions struct {
	Text string
	Args []any
}

// Add adds a condition if it is set.
func (c *Conditions) Add(set bool, condition string, values ...any) {
	if set {
		c.Text += " AND " + condition
		c.Args = append(c.Args, values...)
	}
}

// ContainsPattern returns a LIKE pattern for values that contain the text.
func ContainsPattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// AppendQuery appends the conditions, so that they can be an argument of a query.
func (c Conditions) AppendQuery(gen schema.QueryGen, text []byte) ([]byte, error) {
	return gen.AppendQuery(text, c.Text, c.Args...), nil
}

// Collect runs a query and returns its rows. into returns the scan destinations of one
// row; doing is the prefix of the errors.
func Collect[R any](ctx context.Context, in bun.IDB, doing string, into func(*R) []any,
	query schema.QueryWithArgs) ([]R, error) {
	list := []R{}
	if err := scanRows(ctx, in, query, func(rows *sql.Rows) error {
		var row R
		err := rows.Scan(into(&row)...)
		list = append(list, row)
		return err
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}

// CollectMap is Collect for rows of a key and a value.
func CollectMap[K comparable, V any](ctx context.Context, in bun.IDB, doing string, into func(*K, *V) []any,
	query schema.QueryWithArgs) (map[K]V, error) {
	type row struct {
		key   K
		value V
	}
	rows, err := Collect(ctx, in, doing, func(r *row) []any { return into(&r.key, &r.value) }, query)
	found := make(map[K]V, len(rows))
	for _, r := range rows {
		found[r.key] = r.value
	}
	return found, err
}

// Exec executes a statement. doing is the prefix of its error.
func Exec(ctx context.Context, in bun.IDB, doing, query string, args ...any) error {
	if _, err := in.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
