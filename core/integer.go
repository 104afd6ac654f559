package core

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Integer is a whole number that may be sent as a JSON number, even with a zero fraction (20.0), or as a string.
type Integer int64

// PositiveInt is a positive Integer, such as an order id. It is 0 if it was not sent: absent, null, 0 or an empty
// string.
type PositiveInt int64

var (
	errInteger     = &RuleError{Code: "type", Rule: "must be a whole number"}
	errPositiveInt = &RuleError{Code: "type", Rule: "must be a positive whole number"}
	errNotPositive = &RuleError{Code: "range", Rule: errPositiveInt.Rule} // or too large
)

// UnmarshalJSONFrom reads a number or a string. A null leaves the value unchanged.
func (i *Integer) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		return nil
	case '"', '0':
		if n, ok := parseInteger(token.String()); ok {
			*i = Integer(n)
			return nil
		}
	}
	return errInteger
}

// UnmarshalJSONFrom reads a number or a string. A null leaves the value unchanged.
func (w *PositiveInt) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch text := token.String(); token.Kind() {
	case 'n':
		return nil
	case '"', '0':
		n, ok := parseInteger(text)
		if ok && n >= 0 || text == "" {
			*w = PositiveInt(n)
			return nil
		}
		if ok || strings.Trim(text, "0123456789") == "" {
			return errNotPositive
		}
	}
	return errPositiveInt
}

// integerUnmarshalers reads an int64 from any whole JSON number: 20, but also 20.0 and 2e1. Languages with a single
// number type write those.
var integerUnmarshalers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int64) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == '0' {
		if read, ok := parseInteger(string(value)); ok {
			*n = read
			return nil
		}
	}
	return errInteger
}))

func parseInteger(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	amount, err := ParseAmount(text)
	return amount.IntPart(), err == nil && amount.IsInteger()
}

// IntegerText returns a JSON number without a zero fraction or an exponent: "20" for 20.0 and 2e1. It returns any other
// text unchanged.
func IntegerText(number string) string {
	if n, ok := parseInteger(number); ok {
		return strconv.FormatInt(n, 10)
	}
	return number
}

// Identifier is a string that may also be sent as a whole number.
type Identifier string

var errIdentifier = &RuleError{Code: "type", Rule: "must be a string or a whole number"}

// UnmarshalJSONFrom reads a string or a whole number. A null leaves the value unchanged.
func (i *Identifier) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch text := token.String(); token.Kind() {
	case 'n':
		return nil
	case '"':
		*i = Identifier(text)
		return nil
	case '0':
		if isDigits(text) {
			*i = Identifier(text)
			return nil
		}
	}
	return errIdentifier
}

func isDigits(number string) bool {
	for i, digit := range number {
		if (digit < '0' || digit > '9') && (i > 0 || digit != '-') {
			return false
		}
	}
	return true
}

// ObjectOrEmptyArray is an object that some languages send as [] when it is empty.
type ObjectOrEmptyArray[T any] struct{ Value T }

// UnmarshalJSONFrom reads an object or an empty array. A null leaves the value unchanged.
func (m *ObjectOrEmptyArray[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return json.UnmarshalDecode(d, &m.Value)
	}
	list, err := d.ReadValue()
	if err != nil {
		return err
	}
	var none []jsontext.Value
	if err := json.Unmarshal(list, &none); err != nil || len(none) > 0 {
		return &RuleError{Code: "type", Rule: "must be an object"}
	}
	return json.Unmarshal([]byte("{}"), &m.Value)
}
