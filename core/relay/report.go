package relay

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core/outcome"
)

// ReportedOutcome returns the outcome that an aggregator reports later for a call.
func ReportedOutcome(kind Kind, payload []byte, r outcome.Report) (Outcome, error) {
	r.Problems, _ = outcome.Split(r.Problems)
	o := Outcome{State: r.State, Message: r.Message}
	if o.State != OutcomeDone {
		o.Message = r.Reason()
	}
	if o.State != OutcomeDone || len(r.Problems) == 0 {
		return o, nil
	}
	switch kind {
	case StoreAction:
		return Outcome{State: OutcomeFailed, Message: r.Problems[0].Message}, nil
	case ItemAction:
		var p ItemActionPayload
		if err := json.Unmarshal(payload, &p); err != nil {
			return o, fmt.Errorf("reading a stored call: %w", err)
		}
		items, options := p.SentRefIDs()
		o.Rejected = Rejections(items, options, r.Problems)
	}
	return o, nil
}

// Rejections returns the first problem of each item and option of a change. Some aggregators do not distinguish options
// from items.
func Rejections(items, options []string, list []outcome.Problem) (rejected []Rejection) {
	type object struct {
		option bool
		refID  string
	}
	sent := map[object]bool{}
	for _, id := range items {
		sent[object{false, id}] = true
	}
	for _, id := range options {
		sent[object{true, id}] = true
	}
	for _, p := range list {
		of := object{p.Entity == "option", p.RefID}
		of.option = of.option || !sent[of]
		if sent[of] {
			delete(sent, of)
			rejected = append(rejected, Rejection{Entity: p.Entity, RefID: p.RefID, Message: p.Message})
		}
	}
	return rejected
}
