package action

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

const parametersField = "parameters"

// The bounds of parameters: their size as compact JSON, in bytes, and the depth of nesting.
const (
	maxParameters = 16 << 10
	maxDepth      = 32
)

// decodeParameters returns a parameters object with its members sorted, so that the same parameters are the same text.
// It returns nil if none was sent. An empty array counts as an empty object.
func decodeParameters(sent jsontext.Value, v *core.Violations) jsontext.Value {
	switch sent.Kind() {
	case 0, 'n':
		return nil
	case '{':
	default:
		if bytes.Equal(bytes.Join(bytes.Fields(sent), nil), []byte("[]")) {
			return nil
		}
		v.AddBody(parametersField, "type", "must be an object")
		return nil
	}
	if err := sent.Format(jsontext.ReorderRawObjects(true)); err != nil {
		v.AddBody(parametersField, "type", "must be an object")
		return nil
	}
	if len(sent) > maxParameters {
		v.AddBody(parametersField, "length",
			fmt.Sprintf("must have at most %d bytes of JSON, not %d", maxParameters, len(sent)))
		return nil
	}
	if depthOf(sent) > maxDepth {
		v.AddBody(parametersField, "depth", fmt.Sprintf("must be nested at most %d levels deep", maxDepth))
		return nil
	}
	return sent
}

// depthOf returns how deep a valid value is nested.
func depthOf(value jsontext.Value) (deepest int) {
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, decoder.StackDepth())
	}
}

// ownParameters returns the fields of a specified action as one object.
func (r Request) ownParameters() jsontext.Value {
	object, _ := json.Marshal(struct { // of plain values
		Phone       string       `json:"phone,omitzero"`
		Temp        *core.Amount `json:"temp,omitzero"`
		WearingMask *bool        `json:"wearing_mask,omitzero"`
	}{r.Phone, r.Temp, r.WearingMask})
	return object
}
