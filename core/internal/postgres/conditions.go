package postgres

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// conditions gathers those of a query, each after an AND, with their arguments.
type conditions struct {
	text string
	args []any
}

func (c *conditions) add(set bool, condition string, values ...any) {
	if set {
		c.text += " AND " + condition
		c.args = append(c.args, values...)
	}
}

// listOf reads a list of which each row goes into what into says; doing is for errors.
func listOf[R any](ctx context.Context, in bun.IDB, doing string, into func(*R) []any, query string, args ...any) ([]R, error) {
	rows, err := in.QueryContext(ctx, query, args...)
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
