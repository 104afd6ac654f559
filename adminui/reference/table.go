package reference

import (
	"html"
	"regexp"
	"strings"
)

// tableRule matches the line below a table header.
var tableRule = regexp.MustCompile(`^\|( *-+ *\|)+$`)

// beginsTable reports whether the lines begin with a table.
func beginsTable(lines []string) bool {
	return len(lines) > 1 && strings.HasPrefix(lines[0], "|") &&
		tableRule.MatchString(strings.TrimRight(lines[1], " \r"))
}

// table writes the table at line from and returns the index of its last line.
func (b *markdownWriter) table(lines []string, from int) int {
	columns := tableCells(lines[from])
	b.out.WriteString(`<table class="fields"><thead><tr>`)
	for _, column := range columns {
		b.out.WriteString(`<th scope="col">` + inline(column) + "</th>")
	}
	b.out.WriteString("</tr></thead><tbody>")
	last := from + 1
	for ; last+1 < len(lines) && strings.HasPrefix(lines[last+1], "|"); last++ {
		b.out.WriteString("<tr>")
		for i, cell := range tableCells(lines[last+1]) {
			switch {
			case i == 0:
				b.out.WriteString(`<th scope="row">` + inline(cell) + "</th>")
			case i < len(columns):
				// Narrow screens show rows as blocks. There the label replaces the header.
				b.out.WriteString(`<td data-label="` + html.EscapeString(columns[i]) + `">` + inline(cell) + "</td>")
			}
		}
		b.out.WriteString("</tr>")
	}
	b.out.WriteString("</tbody></table>")
	return last
}

// tableCells splits a row into cells. \| is a literal bar.
func tableCells(row string) []string {
	const bar = "\x00"
	row = strings.Trim(strings.ReplaceAll(strings.TrimSpace(row), `\|`, bar), "|")
	cells := strings.Split(row, "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, bar, "|"))
	}
	return cells
}
