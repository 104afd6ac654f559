package store

import "github.com/servery-hub/servery/core"

// Callback returns the body of the store_creation event. It contains the reference of the request, the counts, and the
// submitted stores with their upipr_status.
func Callback(reference core.ID, request Request, plan Plan) ([]byte, error) {
	size := 200
	for _, submitted := range request.Stores {
		size += len(submitted.Raw) + 120
	}
	body := make([]byte, 0, size)
	body = append(body, `{"reference":"`...)
	body = append(body, reference.String()...)
	body, err := core.AppendMember(append(body, `",`...), "stats", plan.Stats)
	if err != nil {
		return nil, err
	}
	body = append(body, `,"stores":[`...)
	for i, submitted := range request.Stores {
		if i > 0 {
			body = append(body, ',')
		}
		outcome := plan.Outcomes[i]
		if body, err = core.AppendSubmitted(body, submitted.Raw,
			core.StatusMember(outcome.Action, outcome.ID, outcome.Message),
			core.Member{Name: "warnings", Value: outcome.Warnings, Unset: len(outcome.Warnings) == 0},
		); err != nil {
			return nil, err
		}
	}
	return append(body, "]}"...), nil
}
