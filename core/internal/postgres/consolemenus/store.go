// Package consolemenus reads what pages of the console show of stores, items and menus.
package consolemenus

import (
	"embed"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store reads stores, items and their menus, and why items cannot be ordered.
type Store struct {
	db    *postgres.DB
	facts *cache.Cache[factsKey, facts]
}

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db, &cache.Cache[factsKey, facts]{Max: maxFacts}} }
