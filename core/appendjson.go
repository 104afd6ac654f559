package core

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendString appends text as a JSON string, byte for byte as the JSON library writes it. It quotes plain text itself
// and leaves the rest to the library. Text that is not valid UTF-8 is an error.
func AppendString(out []byte, text string) ([]byte, error) {
	if !isPlain(text) {
		return jsontext.AppendQuote(out, text)
	}
	return append(append(append(out, '"'), text...), '"'), nil
}

// The kinds of byte that can need more than quotes.
const (
	nonASCII byte = 1 << iota
	needsEscape
)

// byteClasses classifies each byte value.
var byteClasses = func() (table [256]byte) {
	for c := range table {
		switch {
		case c < ' ', c == '"', c == '\\':
			table[c] = needsEscape
		case c >= utf8.RuneSelf:
			table[c] = nonASCII
		}
	}
	return table
}()

// isPlain reports whether a string is valid UTF-8 and needs no escaping.
func isPlain(text string) bool {
	var found byte
	for i := range len(text) {
		found |= byteClasses[text[i]]
	}
	return found == 0 || found == nonASCII && utf8.ValidString(text)
}

// AppendTo appends the amount as a JSON number, the same as String. It formats small amounts without allocating.
func (a Amount) AppendTo(out []byte) []byte {
	whole, scale := a.CoefficientInt64(), a.Exponent()
	if scale > 0 || scale < -6 || whole < 0 || a.NumDigits() > 15 {
		return append(out, a.String()...)
	}
	for ; scale < 0 && whole%10 == 0; scale++ {
		whole /= 10
	}
	unit := int64(1)
	for range -scale {
		unit *= 10
	}
	out = strconv.AppendInt(out, whole/unit, 10)
	if unit > 1 {
		begin := len(out)
		out = strconv.AppendInt(out, unit+whole%unit, 10) // 1 and the decimals
		out[begin] = '.'
	}
	return out
}
