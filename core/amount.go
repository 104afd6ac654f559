package core

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
)

// Amount is an exact decimal number, such as money, a rate or a weight. It is read and written as a JSON number. It is
// rounded to 18 decimal places: digits beyond that are floating-point residue.
type Amount struct{ decimal.Decimal }

// The bounds of an Amount. They are far above what a POS sends, and make a number such as 1e999999999 cheap to reject.
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
	if err != nil { // a JSON number fails only because of its size
		return errAmountRange
	}
	*a = parsed
	return nil
}

// ParseAmount parses a decimal number. It returns a RuleError if s is not a number or is out of bounds.
func ParseAmount(s string) (Amount, error) {
	if len(s) > maxAmountText {
		return Amount{}, errAmountRange
	}
	parsed, err := decimal.NewFromString(s)
	if err != nil {
		return Amount{}, errAmountType
	}
	before := func() int { return int(parsed.Exponent()) + parsed.NumDigits() }
	if before() < -maxAmountScale { // too small to represent
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

// UnboundedAmounts returns options that read stored amounts without the bounds of ParseAmount. A stored sum can have
// more digits than a single amount that was sent.
func UnboundedAmounts() json.Options {
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
	return e.WriteValue(a.AppendTo(e.AvailableBuffer()))
}

// MarshalJSON writes the amount as a JSON number, for encoding/json.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }
