package calls

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/relay"
)

// Ended is a call that a transaction ended.
type Ended struct {
	Business                                  core.BusinessID
	ID                                        core.ID
	Kind                                      relay.Kind
	Platform, Payload, State, Message, Result string
	SentAs                                    string // the platform's name in events
	Order                                     int64
	Trace                                     core.Trace
}

// EndedColumns are the columns of calls that End reads.
var EndedColumns = bun.Safe(queries.With("ended", postgres.Args{
	"sent_name": outbox.SentNameOf("calls.business_id", "calls.platform"),
}))

// End runs an update of calls that returns EndedColumns.
func End(ctx context.Context, tx bun.Conn, update string) ([]Ended, error) {
	return postgres.Collect(ctx, tx, "ending calls", func(c *Ended) []any {
		return []any{&c.Business, &c.ID, &c.Kind, &c.Platform, &c.SentAs, &c.Order, &c.Payload, &c.State, &c.Message,
			&c.Result, &c.Trace}
	}, bun.SafeQuery(update))
}
