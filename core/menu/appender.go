package menu

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// appender writes JSON as the JSON library does, member by member. Names come
// with the punctuation around them.
type appender struct {
	out []byte
	err error // the first
}

func (a *appender) raw(text string) { a.out = append(a.out, text...) }

func (a *appender) int(name string, n int64) {
	a.raw(name)
	a.out = strconv.AppendInt(a.out, n, 10)
}

func (a *appender) intIfAny(name string, n *int64) {
	if n != nil {
		a.int(name, *n)
	}
}

func (a *appender) bool(name string, b bool) {
	a.raw(name)
	a.out = strconv.AppendBool(a.out, b)
}

func (a *appender) text(name, text string) {
	a.raw(name)
	a.quote(text)
}

func (a *appender) textIfAny(name string, text *string) {
	if text != nil {
		a.text(name, *text)
	}
}

func (a *appender) textUnlessEmpty(name, text string) {
	if text != "" {
		a.text(name, text)
	}
}

func (a *appender) texts(name string, list []string) {
	a.raw(name)
	a.raw("[")
	for i, text := range list {
		if i > 0 {
			a.raw(",")
		}
		a.quote(text)
	}
	a.raw("]")
}

func (a *appender) textsIfAny(name string, list []string) {
	if list != nil {
		a.texts(name, list)
	}
}

// quote writes a string; the JSON library writes it where that takes more than quotes.
func (a *appender) quote(text string) {
	if !plain(text) {
		var err error
		if a.out, err = jsontext.AppendQuote(a.out, text); err != nil && a.err == nil {
			a.err = err
		}
		return
	}
	a.out = append(append(append(a.out, '"'), text...), '"')
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

// document writes JSON that is stored in canonical form.
func (a *appender) document(name string, document jsontext.Value) {
	if document != nil {
		a.raw(name)
		a.out = append(a.out, document...)
	}
}

func (a *appender) amountIfAny(name string, amount *core.Amount) {
	if amount != nil {
		a.amount(name, *amount)
	}
}

// amount writes an amount as core.Amount says it; a small one by hand.
func (a *appender) amount(name string, amount core.Amount) {
	a.raw(name)
	whole, scale := amount.CoefficientInt64(), amount.Exponent()
	if scale > 0 || scale < -6 || whole < 0 || amount.NumDigits() > 15 {
		a.raw(amount.String())
		return
	}
	for ; scale < 0 && whole%10 == 0; scale++ {
		whole /= 10
	}
	unit := int64(1)
	for range -scale {
		unit *= 10
	}
	a.out = strconv.AppendInt(a.out, whole/unit, 10)
	if unit > 1 {
		begin := len(a.out)
		a.out = strconv.AppendInt(a.out, unit+whole%unit, 10) // 1 and the decimals
		a.out[begin] = '.'
	}
}

// value has the JSON library write anything.
func (a *appender) value(name string, value any) {
	a.raw(name)
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if a.out = append(a.out, encoded...); err != nil && a.err == nil {
		a.err = err
	}
}
