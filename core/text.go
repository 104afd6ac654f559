package core

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TooLong returns the rule that a text of more than most characters breaks, or "". The code of the violation is length.
func TooLong(text string, most int) string {
	if len(text) <= most {
		return ""
	}
	n := utf8.RuneCountInString(text)
	if n <= most {
		return ""
	}
	return fmt.Sprintf("must be at most %d characters long, not %d", most, n)
}

// CheckText returns the rule that an optional text breaks, with the code of the violation, or "". If it is sent, it has
// at most most characters. With least 1, it is not blank.
func CheckText(text *string, least, most int) (code, rule string) {
	switch {
	case text == nil:
		return "", ""
	case least > 0 && strings.TrimSpace(*text) == "":
		return "required", "must not be empty"
	default:
		return "length", TooLong(*text, most)
	}
}

// DropBlank removes the blank texts of a list, which some clients send for none. It modifies the list.
func DropBlank(list []string) []string {
	return slices.DeleteFunc(list, func(text string) bool { return strings.TrimSpace(text) == "" })
}

// maxLogged is how many bytes of a client's text a log line has.
const maxLogged = 256

// ClipLogged shortens a text that a client chose, for a log line. It replaces characters that are not printable,
// because JSON has six for each.
func ClipLogged(text string) string {
	clipped, size := text, ""
	if len(text) > maxLogged {
		clipped, size = text[:maxLogged], fmt.Sprintf("… (%d bytes)", len(text))
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, clipped) + size
}
