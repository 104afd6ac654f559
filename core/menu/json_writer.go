package menu

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// jsonWriter writes the same JSON as the JSON library, member by member. Names include the punctuation around them.
type jsonWriter struct {
	out []byte
	err error // the first
}

func (a *jsonWriter) raw(text string) { a.out = append(a.out, text...) }

func (a *jsonWriter) int(name string, n int64) {
	a.raw(name)
	a.out = strconv.AppendInt(a.out, n, 10)
}

func (a *jsonWriter) intIfAny(name string, n *int64) {
	if n != nil {
		a.int(name, *n)
	}
}

func (a *jsonWriter) bool(name string, b bool) {
	a.raw(name)
	a.out = strconv.AppendBool(a.out, b)
}

func (a *jsonWriter) text(name, text string) {
	a.raw(name)
	a.quote(text)
}

func (a *jsonWriter) textIfAny(name string, text *string) {
	if text != nil {
		a.text(name, *text)
	}
}

func (a *jsonWriter) textUnlessEmpty(name, text string) {
	if text != "" {
		a.text(name, text)
	}
}

func (a *jsonWriter) texts(name string, list []string) {
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

func (a *jsonWriter) textsIfAny(name string, list []string) {
	if list != nil {
		a.texts(name, list)
	}
}

// quote writes a string.
func (a *jsonWriter) quote(text string) {
	out, err := core.AppendString(a.out, text)
	if a.out = out; err != nil && a.err == nil {
		a.err = err
	}
}

// document writes JSON that is already stored in canonical form.
func (a *jsonWriter) document(name string, document jsontext.Value) {
	if document != nil {
		a.raw(name)
		a.out = append(a.out, document...)
	}
}

func (a *jsonWriter) amountIfAny(name string, amount *core.Amount) {
	if amount != nil {
		a.amount(name, *amount)
	}
}

func (a *jsonWriter) amount(name string, amount core.Amount) {
	a.raw(name)
	a.out = amount.AppendTo(a.out)
}

// value encodes any value with the JSON library.
func (a *jsonWriter) value(name string, value any) {
	a.raw(name)
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if a.out = append(a.out, encoded...); err != nil && a.err == nil {
		a.err = err
	}
}
