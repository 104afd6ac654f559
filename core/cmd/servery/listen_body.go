package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/adminui/ui"
)

// listenShownBody bounds what is printed of a body, indented.
const listenShownBody = 64 << 10

// indented is a body for the screen: JSON with one member a line, anything else
// as the text it is, and no more than listenShownBody of either.
func indented(body []byte) string {
	text, whole := indentedJSON(body)
	if text == "" {
		text, whole = string(body[:min(len(body), listenShownBody)]), len(body) <= listenShownBody
	}
	text = strings.TrimRight(text, "\n")
	if len(text) > listenShownBody {
		text, whole = text[:listenShownBody], false
	}
	text = "    " + strings.ReplaceAll(printable(text), "\n", "\n    ") + "\n"
	if !whole {
		text += fmt.Sprintf("    … (clipped: the body has %s)\n", ui.Size(len(body)))
	}
	return text
}

// indentedJSON indents as far as the limit goes, however large the body or deep
// its nesting; "" where it is not JSON so far.
func indentedJSON(body []byte) (text string, whole bool) {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	decoder := jsontext.NewDecoder(bytes.NewReader(body), lenient...)
	var out bytes.Buffer
	encoder := jsontext.NewEncoder(&out, append(lenient, jsontext.PreserveRawStrings(true), jsontext.WithIndent("  "), jsontext.SpaceAfterColon(true))...)
	for encoder.OutputOffset() < listenShownBody {
		token, err := decoder.ReadToken()
		if err == nil {
			err = encoder.WriteToken(token)
		}
		if err != nil {
			return "", false
		}
		if decoder.StackDepth() == 0 { // one value is a body; what follows it would make it none
			if len(bytes.TrimSpace(body[decoder.InputOffset():])) > 0 {
				return "", false
			}
			return out.String(), true
		}
	}
	written := encoder.OutputOffset()
	for encoder.StackDepth() > 0 { // closed, the encoder gives out all that it holds
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

// shortly is a name from outside for the screen.
func shortly(name string) string {
	const enough = 128
	if len(name) > enough {
		name = name[:enough] + "…"
	}
	return printable(name)
}

// printable writes what a terminal would take for a command as the \u escape of
// JSON, and bytes that are no text as U+FFFD. Lines and tabs stay.
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
