package core

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Whole is a positive whole number that may be sent as a JSON number or as text,
// such as the id of an order; 0 where it was not sent.
type Whole int64

var errWhole = &RuleError{Code: "type", Rule: "must be a positive whole number"}

// UnmarshalJSONFrom reads a number or its text; a null leaves the number as it is.
func (w *Whole) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		return nil
	case '"', '0':
		n, err := strconv.ParseInt(token.String(), 10, 64)
		if err == nil && n > 0 {
			*w = Whole(n)
			return nil
		}
	}
	return errWhole
}
