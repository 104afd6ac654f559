package ui

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// WriteCSV answers with the list as a file (RFC 4180). Nothing in it is a formula to a
// spreadsheet, whatever character the spreadsheet separates fields by.
func WriteCSV(c *fiber.Ctx, l List) error {
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

// formula finds where a spreadsheet would begin a formula: a formula character, in any
// width, at the start of the text or after what may separate fields, blanks and quotes
// passed over.
var formula = regexp.MustCompile(`(^|[,;|:\t\r\n])([\s"'\p{Zs}\x{feff}]*)([=+\-@＝＋－＠﹦﹢﹣﹫−])`)

// number is text that a spreadsheet takes for a number.
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
