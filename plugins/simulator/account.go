package simulator

import (
	"context"
	"errors"
)

// Account is a platform of a merchant, with the aggregator's configuration for it. Space identifies the merchant.
type Account struct {
	Space    string
	Platform string // its name at the hub, as in the callback path
	Plugin   string // the plugin that serves it; selects the simulated aggregator
	Callback string // URL of the hub's callback; {kind} is replaced
	Currency string // of the merchant, ISO 4217
	Secrets  map[string]string
}

// Directory looks up accounts. It is called for every request and may cache.
type Directory interface {
	Account(ctx context.Context, space, platform string) (Account, error) // ErrNoAccount if there is none
}

// ErrNoAccount is returned for an unknown account.
var ErrNoAccount = errors.New("there is no such account")
