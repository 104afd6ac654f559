package ui

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// WriteCSV sends the list as CSV (RFC 4180). No cell is a formula in a spreadsheet, whatever its field separator.
func WriteCSV(c *fiber.Ctx, l List) error {
	l = l.visible()
	var file bytes.Buffer
	labels := make([]string, len(l.Columns))
	for i, column := range l.Columns {
		labels[i] = column.Label
	}
	writeRecord(&file, labels)
	for _, row := range l.Rows {
		record := make([]string, len(l.Columns)) // a row may have fewer cells
		for i, cell := range row.Cells {
			record[i] = cell.plain()
		}
		writeRecord(&file, record)
	}
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderContentDisposition,
		fmt.Sprintf(`attachment; filename="%s.csv"`, strings.ReplaceAll(strings.ToLower(l.Name), " ", "-")))
	return c.Send(file.Bytes())
}

// formula matches where a spreadsheet would start a formula: at the start of the text or after a possible field
// separator. Blanks and quotes may precede it.
var formula = regexp.MustCompile(`(^|[,;|:\t\r\n])([\s"'\p{Zs}\x{feff}]*)([=+\-@＝＋－＠﹦﹢﹣﹫−])`)

// number matches text that a spreadsheet reads as a number.
var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func writeRecord(file *bytes.Buffer, record []string) {
	for i, text := range record {
		if i > 0 {
			file.WriteByte(',')
		}
		safe := text
		if !number.MatchString(text) {
			safe = formula.ReplaceAllString(text, "$1$2'$3")
		}
		if safe == text && !strings.ContainsAny(text, ",;|\"\t\r\n") && strings.TrimSpace(text) == text {
			file.WriteString(text)
			continue
		}
		file.WriteByte('"')
		file.WriteString(strings.ReplaceAll(safe, `"`, `""`))
		file.WriteByte('"')
	}
	file.WriteString("\n")
}
