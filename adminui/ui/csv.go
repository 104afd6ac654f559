package ui

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// WriteCSV answers with the list as a file (RFC 4180). Text that a spreadsheet
// would take for a formula is sent with an apostrophe before it.
func WriteCSV(c *fiber.Ctx, l List) error {
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	line := make([]string, len(l.Columns))
	for i, column := range l.Columns {
		line[i] = column.Label
	}
	if err := w.Write(line); err != nil {
		return err
	}
	for _, row := range l.Rows {
		clear(line) // a row may have fewer cells
		for i, cell := range row.Cells {
			line[i] = harmless(cell.plain())
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="%s.csv"`, strings.ReplaceAll(strings.ToLower(l.Name), " ", "-")))
	return c.Send(file.Bytes())
}

func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
