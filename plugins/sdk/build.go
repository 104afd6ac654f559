package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
)

// JSONPlan is a plan whose body is JSON. A body that cannot be written is a
// fault of the plugin: it panics, which the caller gets as an error.
func JSONPlan(method, endpoint, path string, body any) *Plan {
	return &Plan{
		Method: method, Endpoint: endpoint, Path: path, Body: JSON(body),
		Headers: map[string]string{"Content-Type": "application/json"},
	}
}

// JSON writes a value, the same always the same, and HTML's characters as they are.
func JSON(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("writing JSON: %v", err))
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// ReadJSON reads what an aggregator sent; an error is a refusal that names what it is.
func ReadJSON(what string, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return Refusef("%s: %v", what, err)
	}
	return nil
}

var decimalPattern = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?$`)

// Number is a decimal as a JSON number, digit for digit.
func Number(what, decimal string) (json.Number, error) {
	if !decimalPattern.MatchString(decimal) {
		return "", Refusef("%s: %q is no decimal number", what, decimal)
	}
	return json.Number(decimal), nil
}

// unusualDigits are the currencies that have not two digits after the point (ISO 4217).
var unusualDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

// MinorDigits is how many digits a currency has after the point, by its ISO 4217
// code; false where none is told.
func MinorDigits(currency string) (digits int, told bool) {
	if digits, apart := unusualDigits[currency]; apart {
		return digits, true
	}
	return 2, currency != ""
}

// MinorUnits turns a decimal amount into a whole number of the currency's
// smallest units, rounded half away from zero: "9.50" with two digits is 950. An
// empty amount is 0.
func MinorUnits(what, amount string, digits int) (json.Number, error) {
	if amount == "" {
		amount = "0"
	}
	if _, err := Number(what, amount); err != nil {
		return "", err
	}
	value, _ := new(big.Rat).SetString(amount)
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return json.Number(value.Mul(value, new(big.Rat).SetInt(scale)).FloatString(0)), nil
}

// FromMinorUnits is the way back: 950 with two digits is "9.50".
func FromMinorUnits(units int64, digits int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return new(big.Rat).SetFrac(big.NewInt(units), scale).FloatString(digits)
}

// Judge reads the status of an answer as most aggregators mean it: 2xx is
// success, a 4xx that says "later" and every 5xx are to be tried again, any other
// is final.
func Judge(status int32) (success, again bool) {
	switch {
	case status >= 200 && status < 300:
		return true, false
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		return false, true
	default:
		return false, status < 300 || status >= 500
	}
}

// FinalStatuses are the answers that are not worth another attempt, for a
// SuccessRule.
func FinalStatuses() []int32 {
	return []int32{400, 401, 403, 404, 405, 409, 410, 413, 415, 422}
}
