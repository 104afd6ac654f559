package listen

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/adminui/ui"
)

// shownBody bounds the printed part of a body, after indentation.
const shownBody = 64 << 10

// indented formats a body for the terminal, up to shownBody. JSON has one member per line, anything else stays
// as it is.
func indented(body []byte) string {
	text, complete := indentedJSON(body)
	if text == "" {
		text, complete = string(body[:min(len(body), shownBody)]), len(body) <= shownBody
	}
	text = strings.TrimRight(text, "\n")
	if len(text) > shownBody {
		text, complete = text[:shownBody], false
	}
	text = "    " + strings.ReplaceAll(printable(text), "\n", "\n    ") + "\n"
	if !complete {
		text += fmt.Sprintf("    … (clipped: the body has %s)\n", ui.Size(len(body)))
	}
	return text
}

// indentedJSON indents JSON up to the limit, however large the body or deep its nesting. It returns "" if the text is
// not JSON.
func indentedJSON(body []byte) (text string, complete bool) {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	decoder := jsontext.NewDecoder(bytes.NewReader(body), lenient...)
	var out bytes.Buffer
	encoder := jsontext.NewEncoder(&out,
		append(lenient, jsontext.PreserveRawStrings(true), jsontext.WithIndent("  "),
			jsontext.SpaceAfterColon(true))...)
	for encoder.OutputOffset() < shownBody {
		token, err := decoder.ReadToken()
		if err == nil {
			err = encoder.WriteToken(token)
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
	return out.String()[:min(int(written), out.Len())], false
}

// shorten shortens an untrusted name for the terminal.
func shorten(name string) string {
	const enough = 128
	if len(name) > enough {
		name = name[:enough] + "…"
	}
	return printable(name)
}

// printable escapes control characters as \u sequences, and invalid UTF-8 as U+FFFD. It keeps newlines and tabs.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsPrint(r) || r == '\n' || r == '\t':
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
