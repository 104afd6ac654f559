package core

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendText appends a JSON string as the JSON library writes it, which does so
// itself where that takes more than quotes. Text that is not valid UTF-8 is an error.
func AppendText(out []byte, text string) ([]byte, error) {
	if !plain(text) {
		return jsontext.AppendQuote(out, text)
	}
	return append(append(append(out, '"'), text...), '"'), nil
}

// What there may be in a string that takes more than quotes.
const (
	beyondASCII byte = 1 << iota
	toEscape
)

// special tells what each byte is.
var special = func() (table [256]byte) {
	for c := range table {
		switch {
		case c < ' ', c == '"', c == '\\':
			table[c] = toEscape
		case c >= utf8.RuneSelf:
			table[c] = beyondASCII
		}
	}
	return table
}()

// plain tells whether a string has nothing to escape, nor to complain of.
func plain(text string) bool {
	var found byte
	for i := range len(text) {
		found |= special[text[i]]
	}
	return found == 0 || found == beyondASCII && utf8.ValidString(text)
}

// AppendTo appends the amount as a JSON number, the same as String; a small one by hand.
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
