package core

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
)

// Amount is an exact decimal number: money, a rate, a weight. It is read from
// and written as a JSON number, digit for digit, as far as the 18th after the
// point: what lies beyond is left over from the arithmetic of doubles, and is rounded.
type Amount struct{ decimal.Decimal }

// The bounds of an Amount: what a POS sends fits many times over, and a number
// such as 1e999999999 costs nothing to refuse.
const (
	maxAmountText   = 100
	maxAmountDigits = 15 // before the point
	maxAmountScale  = 18 // after the point
)

var (
	errAmountType  = &RuleError{"type", "must be a number"}
	errAmountRange = &RuleError{"range", "must have at most 15 digits before the decimal point"}
)

// UnmarshalJSONFrom reads a JSON number; a null leaves the amount as it is.
func (a *Amount) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch value.Kind() {
	case 'n':
		return nil
	case '0':
	default:
		return errAmountType
	}
	parsed, err := ParseAmount(string(value))
	if err != nil { // a JSON number fails only by its size
		return errAmountRange
	}
	*a = parsed
	return nil
}

// ParseAmount reads a decimal number, with a RuleError when it is none or out of bounds.
func ParseAmount(s string) (Amount, error) {
	if len(s) > maxAmountText {
		return Amount{}, errAmountRange
	}
	parsed, err := decimal.NewFromString(s)
	if err != nil {
		return Amount{}, errAmountType
	}
	before := func() int { return int(parsed.Exponent()) + parsed.NumDigits() }
	if before() < -maxAmountScale { // too small to be written out
		return Amount{}, nil
	}
	if parsed.Exponent() < -maxAmountScale {
		parsed = parsed.Round(maxAmountScale)
	}
	if before() > maxAmountDigits {
		return Amount{}, errAmountRange
	}
	return Amount{parsed}, nil
}

// OfAnySize has stored amounts read that may be sums of many, and so have more
// digits than one that is sent.
func OfAnySize() json.Options {
	return json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, a *Amount) error {
		value, err := d.ReadValue()
		if err == nil {
			a.Decimal, err = decimal.NewFromString(string(value))
		}
		return err
	}))
}

// MarshalJSONTo writes the amount as a JSON number.
func (a Amount) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteValue(jsontext.Value(a.String()))
}

// MarshalJSON writes the amount as a JSON number, for encoding/json.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }
