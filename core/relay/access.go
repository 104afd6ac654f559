package relay

import (
	"context"

	"github.com/servery-hub/servery/core"
)

// Accept is who accepts the orders of a platform.
type Accept string

// The hub accepts an order as soon as it has stored it. The POS accepts an order when it acknowledges it.
const (
	AcceptHub Accept = "hub"
	AcceptPOS Accept = "pos"
)

// ParseAccept parses a value of Accept. It returns Invalid for any other text.
func ParseAccept(text string) (Accept, error) {
	if accept := Accept(text); accept == AcceptHub || accept == AcceptPOS {
		return accept, nil
	}
	return "", core.Errorf(core.Invalid, "accept must be hub or pos, not %q", text)
}

// Access is the configuration of a platform of a business: how to reach it, and who accepts its orders.
type Access struct {
	Settings []byte            // a JSON object, or empty
	BaseURLs map[string]string // base URL by endpoint name
	Secrets  map[string]string // by name, or by StoreSecret
	Accept   Accept
	Currency string // of the business, ISO 4217

	HasValues bool // the plugin keeps values
}

// AccessUpdate changes the configuration of a platform that is still at a version; "" creates the platform.
type AccessUpdate struct {
	Version string
	Set     func(*Access) error
}

// Platforms returns the configuration of platforms.
type Platforms interface {
	Access(ctx context.Context, business core.BusinessID, platform string) (Access, error)
}

// Values returns the values that plugins keep.
type Values interface {
	Values(ctx context.Context, business core.BusinessID, platform, storeRefID string) (map[string]string, error)
}
