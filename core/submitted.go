package core

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member that AppendSubmitted adds to an object.
type Member struct {
	Name  string
	Value any
	Unset bool // the callback has no such member
}

// StatusMember returns the upipr_status of a submitted object. The id is 0, and the message is set, if it failed.
func StatusMember(action string, id int64, message string) Member {
	return Member{Name: "upipr_status", Value: struct {
		Action  string `json:"action"`
		ID      int64  `json:"id,omitzero"`
		Error   bool   `json:"error"`
		Message string `json:"err_msg,omitzero"`
	}{action, id, message != "", message}}
}

// AppendSubmitted appends a submitted object, which has at least one member, followed by the members of its callback.
// It drops members of their names from the object, because some clients send a callback back.
func AppendSubmitted(body []byte, object jsontext.Value, members ...Member) (_ []byte, err error) {
	if object, err = withoutMembers(object, members); err != nil {
		return nil, err
	}
	body = append(body, object[:len(object)-1]...)
	for _, m := range members {
		if m.Unset {
			continue
		}
		if body, err = AppendMember(append(body, ','), m.Name, m.Value); err != nil {
			return nil, err
		}
	}
	return append(body, '}'), nil
}

// AppendMember appends the name and the value of a member.
func AppendMember(body []byte, name string, value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	body = append(append(append(body, '"'), name...), `":`...)
	return append(body, encoded...), nil
}

// withoutMembers returns the object without members of these names.
func withoutMembers(object jsontext.Value, members []Member) (jsontext.Value, error) {
	mayHave := func(m Member) bool { return bytes.Contains(object, []byte(m.Name)) }
	if !slices.ContainsFunc(members, mayHave) && !bytes.Contains(object, []byte(`\u00`)) { // names may have escapes
		return object, nil
	}
	var decoded map[string]jsontext.Value
	if err := json.Unmarshal(object, &decoded); err != nil {
		return nil, err
	}
	before := len(decoded)
	for _, m := range members {
		delete(decoded, m.Name)
	}
	if len(decoded) == before {
		return object, nil
	}
	return json.Marshal(decoded, json.Deterministic(true))
}
