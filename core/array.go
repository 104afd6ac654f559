package core

import "github.com/go-json-experiment/json/jsontext"

// Array is an array of a request body. At most Limit elements are kept; the
// others are checked and counted, so that a short body cannot become many objects.
type Array struct {
	Limit int
	Count int // of the elements that were sent
	Sent  bool

	elements []extent
}

// extent is where an element stands in the body.
type extent struct{ start, end int64 }

var errNoArray = &RuleError{"type", "must be an array"}

// UnmarshalJSONFrom reads an array; null leaves it as it is.
func (a *Array) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '[':
	default:
		return errNoArray
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	a.Sent = true
	for d.PeekKind() != ']' {
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
			a.elements = append(a.elements, extent{end - int64(len(value)), end})
		}
		a.Count++
	}
	_, err := d.ReadToken()
	return err
}

// Of returns the kept elements as parts of the body that the array was read from.
func (a *Array) Of(body []byte) []jsontext.Value {
	if !a.Sent {
		return nil
	}
	values := make([]jsontext.Value, len(a.elements))
	for i, s := range a.elements {
		values[i] = body[s.start:s.end:s.end]
	}
	return values
}
