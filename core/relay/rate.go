package relay

import (
	"cmp"

	"github.com/go-json-experiment/json"
)

// RateScope is what a rate limit counts for. A request about no store or order counts for the platform.
type RateScope int

// The scopes of a rate limit.
const (
	RatePerPlatform RateScope = iota
	RatePerStore
	RatePerOrder
)

// maxRateSubject bounds the bytes of an id that a rate limit counts for.
const maxRateSubject = 200

// rateKey returns what the rate limit of the plan counts the request for.
func (x *exchange) rateKey() RateKey {
	key := RateKey{Business: x.call.Business, Platform: x.call.Platform, Endpoint: x.plan.Endpoint}
	switch x.plan.RateLimit.Scope {
	case RatePerStore:
		key.Subject = rateSubject("store:", x.store)
	case RatePerOrder:
		key.Subject = rateSubject("order:", x.call.platformOrderID())
	}
	return key
}

func rateSubject(kind, id string) string {
	if id == "" {
		return ""
	}
	return kind + id[:min(len(id), maxRateSubject)]
}

// platformOrderID returns the platform's id of the order of a call, or "" if it has none. A rejected or fetched order
// is not stored.
func (c Call) platformOrderID() string {
	var payload struct {
		ID string `json:"platform_order_id"`
	}
	if c.Order.ID == 0 && len(c.Payload) > 0 {
		_ = json.Unmarshal(c.Payload, &payload) // planning has decoded it
	}
	return cmp.Or(c.Order.PlatformOrderID, payload.ID)
}
