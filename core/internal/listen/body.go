package listen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/servery-hub/servery/adminui/ui"
)

// shownBody bounds the printed part of a body, after indentation.
const shownBody = 64 << 10

// indented formats a body for the terminal, up to shownBody.
func indented(body []byte) string {
	text, complete := ui.Indent(body, shownBody)
	text = "    " + strings.ReplaceAll(printable(text), "\n", "\n    ") + "\n"
	if !complete {
		text += fmt.Sprintf("    … (clipped: the body has %s)\n", ui.Size(len(body)))
	}
	return text
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
