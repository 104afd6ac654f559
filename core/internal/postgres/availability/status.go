package availability

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// maxOutcomes bounds the outcomes read for a request: two for each platform, and two more for
// re-enabled items.
const maxOutcomes = 4 * toggle.MaxPlatforms

// Status returns the outcomes of a switch or publish request. It returns NotFound if the
// business has no request with the reference.
func (t Store) Status(ctx context.Context, business core.BusinessID,
	reference core.ID) (s toggle.Status, err error) {
	if s.Events, err = t.outcomeEvents(ctx, business, reference); err != nil {
		return s, err
	}
	// Calls are created in the transaction of their request, which lasts less than a minute.
	created := core.TimeOf(reference)
	s.Pending, err = postgres.Collect(ctx, t.db.Tenant(business), "reading what waits of a switch",
		func(w *toggle.PendingPlatform) []any {
			return []any{&w.Platform, &w.LastError}
		}, bun.SafeQuery(queries.With("waiting_switches", postgres.Args{
			"business": business, "first": core.FirstID(created), "last": core.FirstID(created.Add(time.Minute)),
			"store_action": relay.StoreAction, "item_action": relay.ItemAction, "reference": reference,
			"limit": maxOutcomes,
		})))
	if err != nil {
		return s, err
	}
	if len(s.Events)+len(s.Pending) == 0 {
		var known bool
		err = t.db.Tenant(business).QueryRowContext(ctx,
			`SELECT true FROM unnotified_switches WHERE business_id = ? AND reference = ?`, business,
			reference).Scan(&known)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return s, core.NoSuch("reference", strconv.Quote(reference.String()),
			"there is no availability change with this reference")
	}
	return s, err
}

// outcomeEvents returns the outcome events of a request, including those without a subscription.
func (t Store) outcomeEvents(ctx context.Context, business core.BusinessID, reference core.ID) ([]core.Event, error) {
	list, err := postgres.Collect(ctx, t.db.Tenant(business), "reading the results of an availability change",
		func(e *core.Event) []any { return []any{&e.Type, &e.Body} },
		bun.SafeQuery(`SELECT event_type, body FROM events
		WHERE business_id = ? AND reference = ? AND event_type = ANY (?) ORDER BY id LIMIT ?`, business,
			reference.String(), postgres.Array([]core.EventType{core.StoreAction, core.ItemStateToggle,
				core.OptionStateToggle, core.HubMenuPublish}), maxOutcomes))
	for i := range list {
		if list[i].Body, err = t.db.Decompress(list[i].Body); err != nil {
			return nil, err
		}
	}
	return list, err
}
