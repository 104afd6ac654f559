package core

// AvailabilityResult is the result of enabling or disabling an item or option.
type AvailabilityResult struct {
	ID     int64  `json:"id,omitzero"` // the hub's id; 0 if the business has no object with the ref_id
	RefID  string `json:"ref_id"`
	Reason string `json:"reason,omitzero"` // why it failed; "" if it succeeded
}
