package menu

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Ref is what every stored entity has: its id in the hub, its identifier in the
// external system, and whether its master record is active. RefID is empty in
// the records of taxes and charges, which go by what they say.
type Ref struct {
	ID     int64  `json:"id"`
	RefID  string `json:"ref_id,omitzero"`
	Active bool   `json:"active"`
}

func (r *Ref) ref() *Ref { return r }

// The records below carry JSON names so that the read-back shows them in the
// shape in which they were sent. Lists and maps are kept as canonical JSON:
// most of the time they are only compared and handed on.

// set takes over a value that was sent, and notes when it differs.
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

// setAmount is set for an amount: 2.50 is no change from 2.5.
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

// setDocument is set for canonical JSON, nil when it was not sent.
func setDocument(changed *bool, field *jsontext.Value, sent jsontext.Value) {
	if sent != nil && string(*field) != string(sent) {
		*field, *changed = sent, true
	}
}

// activate settles the activation of a master record: what the object says,
// else active where a flush lists it.
func activate(changed *bool, active *bool, sent *bool, listedByFlush bool) {
	if sent == nil && listedByFlush {
		sent = &listedByFlush
	}
	set(changed, active, sent)
}
