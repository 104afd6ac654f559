package outbox

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// hasDueTime is the condition that a call or publication has a due time.
const hasDueTime = bun.Safe("available_at < 'infinity'")

// QueuedEndpoints returns the query of the endpoints whose rows in a queue meet a condition. It is part of a
// recursive common table expression named endpoints.
func QueuedEndpoints(table string, condition bun.Safe) bun.Safe {
	return QueuedEndpointsAs("endpoints", table, condition)
}

// QueuedEndpointsAs is QueuedEndpoints for a common table expression of another name.
func QueuedEndpointsAs(name, table string, condition bun.Safe) bun.Safe {
	return bun.Safe(queries.With("endpoints",
		postgres.Args{"name": bun.Ident(name), "table": bun.Ident(table), "condition": condition}))
}

// Busy are the endpoints and plugins without capacity. Nothing is claimed for them.
type Busy struct {
	Endpoints []int64
	Plugins   []string
}

// Into sets the arguments "busy" and "plugins" of a statement.
func (b Busy) Into(args postgres.Args) {
	args["busy"], args["plugins"] = postgres.Array(b.Endpoints), postgres.Array(b.Plugins)
}

// hasCapacity is a condition with the arguments of Busy.
var hasCapacity = bun.Safe(queries.Get("has_capacity").Text())

// ClaimParts returns the parts "endpoints" and "heads" of the statement that claims rows of a queue of calls or
// publications. The parts have the arguments now, limit, and those of Busy.
func ClaimParts(table string) map[string]bun.Safe {
	return map[string]bun.Safe{
		"endpoints": QueuedEndpoints(table, hasDueTime),
		"heads": bun.Safe(queries.With("heads", postgres.Args{
			"table": bun.Ident(table), "now": bun.Safe("?now"), "limit": bun.Safe("?limit"),
			"has_capacity": hasCapacity,
		})),
	}
}

// nextDue are the statements of NextDue.
var nextDue = map[string]*postgres.Query{
	"call_queue": nextDueIn("call_queue"), "publications": nextDueIn("publications"),
}

func nextDueIn(table string) *postgres.Query {
	return queries.Get("next_due").Fill("next_of_"+table, map[string]bun.Safe{
		"endpoints": QueuedEndpoints(table, hasDueTime), "queue": bun.Safe(table), "has_capacity": hasCapacity,
	})
}

// NextDue returns the earliest due time in a queue of calls or publications.
func NextDue(ctx context.Context, db *postgres.DB, table string, busy Busy) (time.Time, error) {
	args := make(postgres.Args)
	busy.Into(args)
	return db.NextDue(ctx, postgres.Statement{Query: nextDue[table], Args: args})
}
