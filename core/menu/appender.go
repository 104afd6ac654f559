package menu

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// appender writes the same JSON as the JSON library, member by member. Names include the punctuation around them.
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

// quote writes a string.
func (a *appender) quote(text string) {
	out, err := core.AppendText(a.out, text)
	if a.out = out; err != nil && a.err == nil {
		a.err = err
	}
}

// document writes JSON that is already stored in canonical form.
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

func (a *appender) amount(name string, amount core.Amount) {
	a.raw(name)
	a.out = amount.AppendTo(a.out)
}

// value encodes any value with the JSON library.
func (a *appender) value(name string, value any) {
	a.raw(name)
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if a.out = append(a.out, encoded...); err != nil && a.err == nil {
		a.err = err
	}
}
