package order

import "github.com/servery-hub/servery/core"

// DecodeReference reads the body of a request that tells what the POS calls an
// order; a whole number counts as its text. Any violation refuses it with an
// Invalid error naming the field.
func DecodeReference(body []byte) (string, error) {
	var sent struct {
		Reference core.Identifier `json:"reference_id"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return "", err
	}
	var v core.Violations
	spot{v: &v}.required("reference_id", string(sent.Reference), maxName)
	return string(sent.Reference), v.Err()
}
