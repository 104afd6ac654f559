package menu

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Finding is a rule of a platform that an object breaks. It only keeps the object, or its items, off that platform.
type Finding struct {
	Platform string `json:"platform"`
	Rule     string `json:"rule"`
	Message  string `json:"message"`
	Severity string `json:"severity,omitzero"` // "" is an error; FindingWarning does not keep the object off

	// Of a finding that is stored with an item, but is about what the item belongs to.
	Entity string `json:"-"`
	RefID  string `json:"-"`
}

// FindingWarning is the severity of a finding that does not keep an object from being listed.
const FindingWarning = "warning"

// Findings holds the findings of each kind by the index of the object in its array.
type Findings PerKind[map[int][]Finding]

// Callback returns the body of the inventory_update event. It contains the reference and location of the request, the
// counts, and the submitted arrays with the outcome of each object. Warnings and findings about the store follow.
func Callback(reference core.ID, request Request, plan Plan, findings Findings) ([]byte, error) {
	raws := request.raws()
	body := make([]byte, 0, callbackSize(raws, findings))
	body = append(append(body, `{"reference":"`...), reference.String()...)
	body = append(body, `","location_ref_id":`...)
	location, err := jsontext.AppendQuote(nil, request.Scope.LocationRefID)
	if err != nil {
		return nil, err
	}
	body = append(append(body, location...), `,"stats":{`...)
	for _, kind := range Kinds() {
		if kind > 0 {
			body = append(body, ',')
		}
		if body, err = core.AppendMember(body, kind.String(), plan.Stats[kind]); err != nil {
			return nil, err
		}
	}
	if plan.TimingStats != (Stats{}) {
		if body, err = core.AppendMember(append(body, ','), TimingsEntity, plan.TimingStats); err != nil {
			return nil, err
		}
	}
	body = append(body, '}')
	for _, kind := range Kinds() {
		if raws[kind] == nil {
			continue
		}
		body = append(append(append(body, `,"`...), kind.String()...), `":[`...)
		for i, raw := range raws[kind] {
			if i > 0 {
				body = append(body, ',')
			}
			outcome, found := plan.Outcomes[kind][i], findings[kind][i]
			if body, err = core.AppendSubmitted(body, raw,
				core.StatusMember(outcome.Action, outcome.ID, outcome.Message),
				core.Member{Name: "warnings", Value: outcome.Warnings, Unset: len(outcome.Warnings) == 0},
				core.Member{Name: "platform_findings", Value: found, Unset: len(found) == 0},
			); err != nil {
				return nil, err
			}
		}
		body = append(body, ']')
	}
	if len(plan.Warnings) > 0 {
		if body, err = core.AppendMember(append(body, ','), "warnings", plan.Warnings); err != nil {
			return nil, err
		}
	}
	if len(plan.StoreFindings) > 0 {
		if body, err = core.AppendMember(append(body, ','), "platform_findings", plan.StoreFindings); err != nil {
			return nil, err
		}
	}
	return append(body, '}'), nil
}

// callbackSize estimates the size of a callback, so that its buffer rarely grows.
func callbackSize(raws PerKind[[]jsontext.Value], findings Findings) int {
	size := 1000
	for _, ofKind := range findings {
		for _, list := range ofKind {
			for _, f := range list {
				size += len(f.Platform) + len(f.Rule) + len(f.Message) + 60
			}
		}
	}
	for _, array := range raws {
		for _, raw := range array {
			size += len(raw) + 80
		}
	}
	return size
}
