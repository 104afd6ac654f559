package menu

import (
	"bytes"

	"github.com/go-json-experiment/json"
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

// The members that the callback adds to each submitted object.
const (
	statusMember   = "upipr_status"
	findingsMember = "platform_findings"
	warningsMember = "warnings"
)

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
		if body, err = appendMember(body, kind.String(), plan.Stats[kind]); err != nil {
			return nil, err
		}
	}
	if plan.TimingStats != (Stats{}) {
		if body, err = appendMember(append(body, ','), TimingsEntity, plan.TimingStats); err != nil {
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
			if body, err = appendObject(body, raw, plan.Outcomes[kind][i], findings[kind][i]); err != nil {
				return nil, err
			}
		}
		body = append(body, ']')
	}
	if len(plan.Warnings) > 0 {
		if body, err = appendMember(append(body, ','), "warnings", plan.Warnings); err != nil {
			return nil, err
		}
	}
	if len(plan.StoreFindings) > 0 {
		if body, err = appendMember(append(body, ','), findingsMember, plan.StoreFindings); err != nil {
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

func appendMember(body []byte, name string, value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	body = append(append(append(body, '"'), name...), `":`...)
	return append(body, encoded...), nil
}

// status is the upipr_status of an object.
type status struct {
	Action  string `json:"action"`
	ID      int64  `json:"id,omitzero"`
	Error   bool   `json:"error"`
	Message string `json:"err_msg,omitzero"`
}

// appendObject appends a submitted object, followed by the members that the callback adds.
func appendObject(body []byte, raw jsontext.Value, outcome Outcome, findings []Finding) ([]byte, error) {
	raw, err := stripCallbackFields(raw)
	if err != nil {
		return nil, err
	}
	body = append(body, raw[:len(raw)-1]...) // without the brace; an object is never empty, so a comma is due
	body, err = appendMember(append(body, ','), statusMember,
		status{outcome.Action, outcome.ID, outcome.Message != "", outcome.Message})
	if err == nil && len(outcome.Warnings) > 0 {
		body, err = appendMember(append(body, ','), warningsMember, outcome.Warnings)
	}
	if err == nil && len(findings) > 0 {
		body, err = appendMember(append(body, ','), findingsMember, findings)
	}
	return append(body, '}'), err
}

// stripCallbackFields returns the object without the members of an earlier callback, because some clients send these
// back.
func stripCallbackFields(raw jsontext.Value) (jsontext.Value, error) {
	if !bytes.Contains(raw, []byte(statusMember)) && !bytes.Contains(raw, []byte(findingsMember)) &&
		!bytes.Contains(raw, []byte(warningsMember)) &&
		!bytes.Contains(raw, []byte(`\u00`)) { // a name may be spelled with escapes
		return raw, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	before := len(members)
	delete(members, statusMember)
	delete(members, findingsMember)
	delete(members, warningsMember)
	if len(members) == before {
		return raw, nil
	}
	return json.Marshal(members, json.Deterministic(true))
}
