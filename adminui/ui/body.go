package ui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
)

// clippedMark follows the shown beginning of a body.
const clippedMark = "\n…"

// Pretty returns the beginning of a body for people, about limit bytes (Indent).
func Pretty(raw []byte, limit int) string {
	shown, complete := Indent(raw, limit)
	if !complete {
		shown += clippedMark
	}
	return shown
}

// Indent returns the beginning of a body, at most limit bytes of valid UTF-8, and whether that is all. JSON has one
// member on each line, also JSON that is cut off. Any other body stays as it is.
func Indent(body []byte, limit int) (text string, complete bool) {
	text, complete = indentJSON(body, limit)
	if text == "" {
		text, complete = string(body[:min(len(body), limit+1)]), true
	}
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text, complete = text[:limit], false
	}
	return strings.ToValidUTF8(strings.TrimRight(text, "\n"), "\uFFFD"), complete
}

// indentJSON does what Indent does, for JSON alone: of any other body it returns "". However large the body or deep its
// nesting, it reads little more than it returns.
func indentJSON(body []byte, limit int) (text string, complete bool) {
	lenient := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true))
	var out bytes.Buffer
	head := body[:min(len(body), 8*limit)]
	decoder := jsontext.NewDecoder(bytes.NewReader(head), lenient)
	encoder := jsontext.NewEncoder(&out, lenient, jsontext.WithIndent("  "))
	var cut []byte
	for encoder.OutputOffset() < int64(limit) {
		token, err := decoder.ReadToken()
		if err == nil {
			err = encoder.WriteToken(token)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			cut, complete = head[decoder.InputOffset():], len(head) == len(body)
			break
		}
		if err != nil {
			return "", false
		}
		if decoder.StackDepth() == 0 { // a body is a single value
			if len(bytes.TrimSpace(body[decoder.InputOffset():])) > 0 {
				return "", false
			}
			return out.String(), true
		}
	}
	written := encoder.OutputOffset()
	for encoder.StackDepth() > 0 { // once closed, the encoder flushes everything
		end := jsontext.EndArray
		if kind, length := encoder.StackIndex(encoder.StackDepth()); kind == jsontext.KindBeginObject {
			if end = jsontext.EndObject; length%2 == 1 { // a name without its value
				end = jsontext.Null
			}
		}
		if encoder.WriteToken(end) != nil {
			break
		}
	}
	return out.String()[:min(int(written), out.Len())] + string(cut), complete
}

// File sends a body as a download that browsers never display.
func File(c *fiber.Ctx, name string, body []byte) error {
	c.Set(fiber.HeaderContentType, "application/octet-stream")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="%s"`, name))
	return c.Send(body)
}
