package menu

import (
	"reflect"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// jsonWriter writes the same JSON as the JSON library, member by member.
type jsonWriter struct {
	out []byte
	err error // the first
}

func (w *jsonWriter) raw(text string) { w.out = append(w.out, text...) }

// write writes an object.
func (l fieldList[T]) write(w *jsonWriter, object *T) {
	begin, comma := unsafe.Pointer(object), 1
	w.raw("{")
	for i := range l {
		f := &l[i]
		if f.omit != "" && f.empty(begin) {
			continue
		}
		w.raw(f.member[comma:])
		w.field(f, begin)
		comma = 0
	}
	w.raw("}")
}

// empty reports whether a field is not written because of its value.
func (f *field) empty(begin unsafe.Pointer) bool {
	switch f.kind {
	case textKind, foodTypeKind:
		return *at[string](f, begin) == ""
	case optionalTextKind, optionalNumberKind, optionalFlagKind, optionalAmountKind:
		return *at[unsafe.Pointer](f, begin) == nil
	case documentKind:
		return *at[jsontext.Value](f, begin) == nil
	case textsKind:
		return *at[[]string](f, begin) == nil
	}
	value := f.value(begin)
	return value.IsZero() || f.omit == "omitempty" && value.Kind() == reflect.Slice && value.Len() == 0
}

// field writes the value of a field of the struct at the pointer.
func (w *jsonWriter) field(f *field, begin unsafe.Pointer) {
	switch f.kind {
	case textKind, foodTypeKind:
		w.quote(*at[string](f, begin))
	case optionalTextKind:
		w.quote(**at[*string](f, begin))
	case numberKind:
		w.out = strconv.AppendInt(w.out, *at[int64](f, begin), 10)
	case optionalNumberKind:
		w.out = strconv.AppendInt(w.out, **at[*int64](f, begin), 10)
	case flagKind:
		w.out = strconv.AppendBool(w.out, *at[bool](f, begin))
	case optionalFlagKind:
		w.out = strconv.AppendBool(w.out, **at[*bool](f, begin))
	case amountKind:
		w.out = at[core.Amount](f, begin).AppendTo(w.out)
	case optionalAmountKind:
		w.out = (*at[*core.Amount](f, begin)).AppendTo(w.out)
	case documentKind:
		w.out = append(w.out, *at[jsontext.Value](f, begin)...)
	case textsKind:
		w.texts(*at[[]string](f, begin))
	default:
		w.encode(f.value(begin).Interface())
	}
}

func (w *jsonWriter) texts(list []string) {
	w.raw("[")
	for i, text := range list {
		if i > 0 {
			w.raw(",")
		}
		w.quote(text)
	}
	w.raw("]")
}

// quote writes a string.
func (w *jsonWriter) quote(text string) {
	out, err := core.AppendString(w.out, text)
	if w.out = out; err != nil && w.err == nil {
		w.err = err
	}
}

// encode encodes any value with the JSON library.
func (w *jsonWriter) encode(value any) {
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if w.out = append(w.out, encoded...); err != nil && w.err == nil {
		w.err = err
	}
}
