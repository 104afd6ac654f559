package consoleview

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// hitsRead is how many hits of each kind a search reads: one more than are shown.
const hitsRead = console.HitsShown + 1

// Search returns what the text may refer to in businesses: an id, a ref_id, a part of a name
// or a URL. It reads at most hitsRead of each kind in each way that finds it.
func (c Store) Search(ctx context.Context, businesses []core.BusinessID, text string) ([]console.Hit, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		number = -1
	}
	query := queries.With("search", postgres.Args{
		"businesses": postgres.Array(businesses), "number": number, "pattern": postgres.ContainsPattern(text),
		"text": text, "items": int(menu.Items), "limit": hitsRead,
	})
	// Platforms and the POS may use UUIDs as their own ids, too.
	if id, err := uuid.Parse(text); err == nil {
		query = searchID(businesses, id) + " UNION ALL " + query
	}
	found, err := c.hits(ctx, query)
	return distinct(found), err
}

// searchID returns the query of the job, delivery, event, order or store that an id of the hub identifies. For a
// request reference it returns the number of its events.
func searchID(businesses []core.BusinessID, id core.ID) string {
	created := core.TimeOf(id)
	return queries.With("search_id", postgres.Args{
		"businesses": postgres.Array(businesses), "id": id, "from": core.FirstID(created),
		"to": core.FirstID(created.Add(time.Minute)), "pattern": postgres.ContainsPattern(id.String()),
		"text": id.String(), "limit": hitsRead,
	})
}

// distinct returns the first hit of each object.
func distinct(found []console.Hit) []console.Hit {
	seen := map[console.Hit]bool{}
	return slices.DeleteFunc(found, func(hit console.Hit) bool {
		object := console.Hit{Business: hit.Business, Kind: hit.Kind, ID: hit.ID}
		known := seen[object]
		seen[object] = true
		return known
	})
}

func (c Store) hits(ctx context.Context, query string) ([]console.Hit, error) {
	return postgres.Collect(ctx, c.db.Bun(), "searching", func(hit *console.Hit) []any {
		return []any{&hit.Business, &hit.Kind, &hit.ID, &hit.Title, &hit.Detail}
	}, bun.SafeQuery(query))
}
