package aggregator

import (
	"encoding/json"

	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/step"
)

// stepDocument is the body of one of several requests.
type stepDocument struct {
	Step string `json:"step"`
	Body any    `json:"body"`
}

// documentOf returns the body that a plan sends. Secrets and values of earlier responses are still placeholders. If
// several steps have a body, they are in a JSON array.
func documentOf(plan *relay.Plan) []byte {
	if len(plan.Steps) == 0 {
		return plan.Body
	}
	var single []byte
	var all []stepDocument
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if body := documentOfStep(s.Body); body != nil {
			single, all = s.Body.Raw, append(all, stepDocument{s.Name, body})
		}
	}
	if len(all) == 0 || len(all) == 1 && single != nil {
		return single
	}
	document, err := json.Marshal(all)
	if err != nil { // no value of it can fail
		return nil
	}
	return document
}

// documentOfStep returns the body of a step as a JSON value, or nil if it has none.
func documentOfStep(body step.Body) any {
	switch {
	case body.Raw != nil:
		return documentOfBytes(body.Raw)
	case len(body.Form) > 0:
		form := map[string]string{}
		for _, f := range body.Form {
			form[f.Name] = f.Value
		}
		return form
	case len(body.Parts) > 0:
		parts := map[string]any{}
		for _, p := range body.Parts {
			if parts[p.Name] = p.Text; p.Content != nil {
				parts[p.Name] = documentOfBytes(p.Content)
			}
		}
		return parts
	}
	return nil
}

func documentOfBytes(raw []byte) any {
	if json.Valid(raw) {
		return json.RawMessage(raw)
	}
	return string(raw)
}
