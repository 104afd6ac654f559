package menu

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// jsonWriter writes the same JSON as the JSON library, member by member. Names include the adjacent punctuation.
type jsonWriter struct {
	out []byte
	err error // the first
}

func (w *jsonWriter) raw(text string) { w.out = append(w.out, text...) }

func (w *jsonWriter) int(name string, n int64) {
	w.raw(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *jsonWriter) intIfAny(name string, n *int64) {
	if n != nil {
		w.int(name, *n)
	}
}

func (w *jsonWriter) bool(name string, b bool) {
	w.raw(name)
	w.out = strconv.AppendBool(w.out, b)
}

func (w *jsonWriter) text(name, text string) {
	w.raw(name)
	w.quote(text)
}

func (w *jsonWriter) textIfAny(name string, text *string) {
	if text != nil {
		w.text(name, *text)
	}
}

func (w *jsonWriter) textUnlessEmpty(name, text string) {
	if text != "" {
		w.text(name, text)
	}
}

func (w *jsonWriter) texts(name string, list []string) {
	w.raw(name)
	w.raw("[")
	for i, text := range list {
		if i > 0 {
			w.raw(",")
		}
		w.quote(text)
	}
	w.raw("]")
}

func (w *jsonWriter) textsIfAny(name string, list []string) {
	if list != nil {
		w.texts(name, list)
	}
}

// quote writes a string.
func (w *jsonWriter) quote(text string) {
	out, err := core.AppendString(w.out, text)
	if w.out = out; err != nil && w.err == nil {
		w.err = err
	}
}

// document writes JSON that is already stored in canonical form.
func (w *jsonWriter) document(name string, document jsontext.Value) {
	if document != nil {
		w.raw(name)
		w.out = append(w.out, document...)
	}
}

func (w *jsonWriter) amountIfAny(name string, amount *core.Amount) {
	if amount != nil {
		w.amount(name, *amount)
	}
}

func (w *jsonWriter) amount(name string, amount core.Amount) {
	w.raw(name)
	w.out = amount.AppendTo(w.out)
}

// value encodes any value with the JSON library.
func (w *jsonWriter) value(name string, value any) {
	w.raw(name)
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if w.out = append(w.out, encoded...); err != nil && w.err == nil {
		w.err = err
	}
}
