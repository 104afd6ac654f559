package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
)

// Pretty returns the beginning of a body for people, about limit bytes of valid UTF-8. It indents JSON.
func Pretty(raw []byte, limit int) string {
	shown, _ := prettyClipped(raw, limit)
	return shown
}

// prettyClipped is Pretty, and also reports whether the body continues. Indented JSON is longer than the body.
func prettyClipped(raw []byte, limit int) (string, bool) {
	if len(raw) <= 8*limit {
		copied := append(jsontext.Value(nil), raw...)
		if copied.Indent() == nil {
			raw = copied
		}
	}
	if len(raw) <= limit {
		return strings.ToValidUTF8(string(raw), "\uFFFD"), false
	}
	for limit > 0 && !utf8.RuneStart(raw[limit]) {
		limit--
	}
	return strings.ToValidUTF8(string(raw[:limit]), "\uFFFD") + "\n…", true
}

// File sends a body as a download that browsers never display.
func File(c *fiber.Ctx, name string, body []byte) error {
	c.Set(fiber.HeaderContentType, "application/octet-stream")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="%s"`, name))
	return c.Send(body)
}
