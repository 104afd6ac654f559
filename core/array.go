package core

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Array is an array of a request body. It stores at most Limit elements. Further elements are checked and counted, up
// to counted times the limit, then the body is rejected. This bounds the memory and time spent on a short body with
// very many elements.
type Array struct {
	Limit int
	Count int // elements sent
	Sent  bool

	elements []byteRange
}

// byteRange is the byte range of an element in the body.
type byteRange struct{ start, end int64 }

// maxCountFactor bounds how far an oversized array is counted, as a multiple of its limit.
const maxCountFactor = 4

var errNotArray = &RuleError{"type", "must be an array"}

// UnmarshalJSONFrom reads an array. A null leaves it unchanged.
func (a *Array) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case 'n', 0, '}', ']': // 0 and the ends: no value follows, which is the error
		return d.SkipValue()
	case '[':
	default:
		return errNotArray
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	a.Sent = true
	for d.PeekKind() != ']' {
		if a.Count >= maxCountFactor*a.Limit {
			return &RuleError{"limit",
				fmt.Sprintf("must have at most %d objects, not more than %d", a.Limit, a.Count)}
		}
		if a.Count >= a.Limit {
			if err := d.SkipValue(); err != nil {
				return err
			}
		} else {
			value, err := d.ReadValue()
			if err != nil {
				return err
			}
			end := d.InputOffset()
			a.elements = append(a.elements, byteRange{end - int64(len(value)), end})
		}
		a.Count++
	}
	_, err := d.ReadToken()
	return err
}

// Elements returns the first Limit elements as slices of the body that the array was read from.
func (a *Array) Elements(body []byte) []jsontext.Value {
	if !a.Sent {
		return nil
	}
	values := make([]jsontext.Value, len(a.elements))
	for i, s := range a.elements {
		values[i] = body[s.start:s.end:s.end]
	}
	return values
}
