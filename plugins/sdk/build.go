package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"slices"
)

// JSONPlan returns a plan with a JSON body. It panics if the body cannot be encoded, and the caller receives that as
// an error.
func JSONPlan(method, endpoint, path string, body any) *Plan {
	return &Plan{
		Method: method, Endpoint: endpoint, Path: path, Body: JSON(body),
		Headers: map[string]string{"Content-Type": "application/json"},
	}
}

// JSON returns the deterministic encoding of a value. It does not escape HTML characters.
func JSON(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("writing JSON: %v", err))
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// ReadJSON decodes a JSON body from an aggregator. Its error is a refusal that begins with what.
func ReadJSON(what string, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return Refusef("%s: %v", what, err)
	}
	return nil
}

var decimalPattern = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?$`)

// Number returns a decimal as a JSON number without changing its digits. The error is a refusal that begins with
// what.
func Number(what, decimal string) (json.Number, error) {
	if !decimalPattern.MatchString(decimal) {
		return "", Refusef("%s: %q is no decimal number", what, decimal)
	}
	return json.Number(decimal), nil
}

// unusualDigits has the currencies whose smallest unit is not 1/100 (ISO 4217).
var unusualDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

// MinorDigits returns the number of digits after the decimal point of a currency, by its ISO 4217 code. It returns
// false for the empty code.
func MinorDigits(currency string) (digits int, known bool) {
	if digits, apart := unusualDigits[currency]; apart {
		return digits, true
	}
	return 2, currency != ""
}

// MinorUnits converts a decimal amount to the currency's smallest unit, rounded half away from zero: "9.50" with two
// digits is 950. An empty amount is 0.
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

// FromMinorUnits converts an amount in the smallest unit to a decimal: 950 with two digits is "9.50".
func FromMinorUnits(units int64, digits int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return new(big.Rat).SetFrac(big.NewInt(units), scale).FloatString(digits)
}

// ClassifyStatus classifies a response status as most aggregators use it. Every 2xx is a success. 301, 308 and 4xx are
// final, except 408, 421, 423, 424, 425 and 429. Any other status is worth a retry.
func ClassifyStatus(status int32) (success, again bool) {
	switch {
	case status >= 200 && status < 300:
		return true, false
	case status == http.StatusMovedPermanently || status == http.StatusPermanentRedirect:
		return false, false
	case status >= 400 && status < 500:
		return false, slices.Contains(temporaryStatuses, status)
	}
	return false, true
}

// temporaryStatuses are the 4xx that are worth a retry.
var temporaryStatuses = []int32{408, 421, 423, 424, 425, 429}

// FinalStatuses returns the statuses that are not worth a retry, for a SuccessRule: 301, 308, and the 4xx that HTTP
// defines. It omits the temporary ones: 408, 421, 423, 424, 425 and 429.
func FinalStatuses() []int32 {
	return []int32{301, 308, 400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418,
		422, 426, 428, 431, 451}
}
