// Package consolelists reads orders, deliveries, calls, jobs, problems and audit entries for pages of the console:
// lists by time, text searches, and single objects.
package consolelists

import (
	"embed"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files, outbox.Parts())

// Store reads lists and their objects.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// sortOrder returns the order of a list by time and id, and the comparison of rows after the cursor.
func sortOrder(oldest bool) (order, after bun.Safe) {
	if oldest {
		return "", ">"
	}
	return "DESC", "<"
}
