package postgres

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
