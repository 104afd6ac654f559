package order

import "github.com/servery-hub/servery/core"

// DecodeReference decodes the body of a request that sets the POS's name for an order. A whole number counts as its
// text. Any violation rejects it with an Invalid error that names the field.
func DecodeReference(body []byte) (string, error) {
	var sent struct {
		Reference core.Identifier `json:"reference_id"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return "", err
	}
	var v core.Violations
	fieldPath{v: &v}.required("reference_id", string(sent.Reference), maxName)
	return string(sent.Reference), v.Err()
}
