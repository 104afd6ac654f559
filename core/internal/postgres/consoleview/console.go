// Package consoleview reads what the overview of the console shows, and webhooks, statistics and settings. It stores
// saved views, monitoring rules and the counts of attempts.
package consoleview

import "github.com/servery-hub/servery/core/internal/postgres"

// Store reads what the overview, webhooks, statistics, search and settings show.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }
