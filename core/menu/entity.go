package menu

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Ref is common to all stored entities: the id in the hub, the identifier in the external system, and whether the
// master record is active. RefID is empty for taxes and charges, which are identified by their content.
type Ref struct {
	ID     int64  `json:"id"`
	RefID  string `json:"ref_id,omitzero"`
	Active bool   `json:"active"`
}

func (r *Ref) ref() *Ref { return r }

// The records below carry JSON names so that the API returns them in the form in which they were sent. Lists and maps
// are stored as canonical JSON, because most of the time they are only compared and passed on.

// set assigns a value that was sent, and records whether it differs.
func set[T comparable](changed *bool, field *T, sent *T) {
	if sent != nil && *field != *sent {
		*field, *changed = *sent, true
	}
}

// setOptional is set for a field that may be absent.
func setOptional[T comparable](changed *bool, field **T, sent *T) {
	if sent != nil && (*field == nil || **field != *sent) {
		*field, *changed = sent, true
	}
}

// setAmount is set for an amount: 2.50 equals 2.5.
func setAmount(changed *bool, field *core.Amount, sent *core.Amount) {
	if sent != nil && !field.Equal(sent.Decimal) {
		*field, *changed = *sent, true
	}
}

func setOptionalAmount(changed *bool, field **core.Amount, sent *core.Amount) {
	if sent != nil && (*field == nil || !(*field).Equal(sent.Decimal)) {
		*field, *changed = sent, true
	}
}

// setDocument is set for canonical JSON, which is nil if it was not sent.
func setDocument(changed *bool, field *jsontext.Value, sent jsontext.Value) {
	if sent != nil && string(*field) != string(sent) {
		*field, *changed = sent, true
	}
}

// activate sets the active flag of a master record: the value that was sent, or else true if a flush lists the object.
func activate(changed *bool, active *bool, sent *bool, listedByFlush bool) {
	if sent == nil && listedByFlush {
		sent = &listedByFlush
	}
	set(changed, active, sent)
}
