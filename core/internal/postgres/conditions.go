package postgres

import (
	"context"
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
	rows, err := in.QueryContext(ctx, query.Query, query.Args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer rows.Close()
	list := []R{}
	for rows.Next() {
		var row R
		if err := rows.Scan(into(&row)...); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}
