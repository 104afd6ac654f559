package pgtest

import (
	"context"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
)

// ChangeBatch changes the states of orders in one batch.
func ChangeBatch(s orders.Store, requests ...orders.ChangeRequest) []core.Code {
	return codesOf(s.ChangeBatch(context.Background(), requests))
}
