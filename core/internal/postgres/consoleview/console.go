// Package consoleview reads what the pages of the console show.
package consoleview

import (
	"context"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
)

// Store stores the users (access.Users) and sessions of the console (access.Sessions,
// access.Attempts), and reads what its pages show.
type Store struct {
	db    *postgres.DB
	facts *cache.Cache[factsKey, facts]
}

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db, &cache.Cache[factsKey, facts]{Max: maxFacts}} }

// Record stores the audit entry of a change that another package made.
func (c Store) Record(ctx context.Context, change access.Change) error {
	return c.db.RecordAudit(ctx, c.db.Bun(), change)
}
