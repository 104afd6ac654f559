package core

// Switched is an item or option that was switched on or off, or that could not be.
type Switched struct {
	ID     int64  `json:"id,omitzero"` // the hub's; 0: the business has none of the ref_id
	RefID  string `json:"ref_id"`
	Reason string `json:"reason,omitzero"` // why it could not be; "": it was
}
