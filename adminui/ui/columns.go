package ui

import (
	"slices"

	"github.com/servery-hub/servery/adminui/text"
)

// shows reports whether a column is shown.
func (l List) shows(c Column) bool {
	if l.Shown == nil || c.Key == "" {
		return !c.Extra
	}
	return slices.Contains(l.Shown, c.Key)
}

// visible returns the list with the columns that are shown.
func (l List) visible() List {
	columns, rows := []Column{}, make([]Row, len(l.Rows))
	for i, row := range l.Rows {
		row.Cells = slices.Clone(row.Cells[:0:0])
		rows[i] = row
	}
	for i, column := range l.Columns {
		if !l.shows(column) {
			continue
		}
		columns = append(columns, column)
		for r := range rows {
			if i < len(l.Rows[r].Cells) { // a row may have fewer cells
				rows[r].Cells = append(rows[r].Cells, l.Rows[r].Cells[i])
			}
		}
	}
	l.Columns, l.Rows = columns, rows
	return l
}

// KnownColumns returns those of the keys that are keys of columns, or nil if there are none.
func (l List) KnownColumns(keys []string) (known []string) {
	for _, column := range l.Columns {
		if column.Key != "" && slices.Contains(keys, column.Key) {
			known = append(known, column.Key)
		}
	}
	return known
}

// LinkSorts adds links to the columns that sort the list. href returns the URL of the list in an order.
func (l *List) LinkSorts(href func(sort string) string) {
	for i, column := range l.Columns {
		var own []Sort
		for _, sort := range l.Sorts {
			if sort.Column != "" && sort.Column == column.Key {
				own = append(own, sort)
			}
		}
		at := slices.IndexFunc(own, func(s Sort) bool { return s.Value == l.Sort })
		if len(own) == 0 {
			continue
		}
		l.Columns[i].sortHref = href(own[(at+1)%len(own)].Value)
		switch {
		case at < 0:
		case own[at].Ascending:
			l.Columns[i].sorted = "ascending"
		default:
			l.Columns[i].sorted = "descending"
		}
	}
}

// sortMark returns the sign of how a column is sorted.
func (c Column) sortMark() string {
	return map[string]string{"ascending": " ↑", "descending": " ↓"}[c.sorted]
}

// sortHint says what the link of a column does.
func (c Column) sortHint() string {
	if c.sorted == "descending" {
		return text.SortOldest
	}
	return text.SortNewest
}
