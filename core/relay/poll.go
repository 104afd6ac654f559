package relay

import "strconv"

// PollKey returns the ordering key of a poll. The store is 0 for a poll of the platform.
func PollKey(platform, poll string, store int64) string {
	return "poll:" + platform + "/" + poll + "/" + strconv.FormatInt(store, 10)
}

// PollPayload is the payload of a Poll call.
type PollPayload struct {
	Poll       string `json:"poll"`
	StoreID    int64  `json:"store_id,omitzero"` // of a poll per store
	StoreRefID string `json:"store_ref_id,omitzero"`
}

// Polled is what the response to a poll contains.
type Polled struct {
	Messages []PolledMessage
	Cursor   string // for the next run
	More     bool   // the next run follows at once
}

// PolledMessage is a message of the aggregator that a poll found. It is handled like an inbound request.
type PolledMessage struct {
	Body            []byte
	ContentType     string
	PlatformOrderID string // "": unknown
}
