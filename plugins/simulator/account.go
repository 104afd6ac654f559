package simulator

import (
	"context"
	"errors"
)

// Account is a platform of a merchant: what an aggregator knows of a customer of
// its own. Space tells merchants apart, Platform the accounts of one of them.
type Account struct {
	Space    string
	Platform string // its name at the hub, in the path of the hub's callback route
	Plugin   string // that serves it there: whose aggregator is played
	Callback string // address of the hub's callback route; {kind} stands for what is sent
	Currency string // of the merchant, ISO 4217
	Secrets  map[string]string
}

// Directory knows the accounts. It is asked at each request and may keep what it
// has read for a while.
type Directory interface {
	Account(ctx context.Context, space, platform string) (Account, error) // ErrNoAccount where there is none
}

// ErrNoAccount says that there is no such account.
var ErrNoAccount = errors.New("there is no such account")
