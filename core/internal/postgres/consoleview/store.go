// Package consoleview reads what the overview of the console shows, and webhooks, statistics and settings. It stores
// saved views, monitoring rules and the counts of attempts.
package consoleview

import (
	"context"
	"embed"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store reads what the overview, webhooks, statistics, search and settings show.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// Businesses returns businesses sorted by name. nil among means all of them.
func (c Store) Businesses(ctx context.Context, among []core.BusinessID, limit int) ([]core.Business, error) {
	only := postgres.Conditions{Text: "true"}
	only.Add(among != nil, "id = ANY (?)", postgres.Array(among))
	return postgres.Collect(ctx, c.db.Bun(), "reading businesses", func(b *core.Business) []any {
		return []any{&b.ID, &b.Name, &b.Country, &b.Timezone, &b.Currency, &b.CreatedAt}
	}, bun.SafeQuery(`SELECT id, name, country, timezone, currency, created_at FROM businesses WHERE `+only.Text+
		` ORDER BY lower(name), id LIMIT ?`, append(only.Args, limit)...))
}
