package storetest

import (
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
)

// callsOf returns the store of calls with all OnEnded handlers of the hub.
func callsOf(db *postgres.DB) calls.Store {
	return calls.New(db, orders.ActionsEnded(db), orders.OutOfStockEnded(db), availability.SwitchesEnded(db))
}
