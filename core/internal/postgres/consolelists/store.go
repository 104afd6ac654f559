// Package consolelists reads what pages of the console show of orders, deliveries, calls, jobs, problems and audit
// entries: lists by time, text searches, and single objects.
package consolelists

import "github.com/servery-hub/servery/core/internal/postgres"

// Store reads lists and their objects.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }
