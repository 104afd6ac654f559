package calls

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// takenRequest is a request that is no longer set aside.
type takenRequest struct {
	plugin, call, platform, request, store, about string
	business                                      core.BusinessID
}

// RetrySetAside lets hubs call a plugin again with requests that are set aside: those with the ids, or all if there are
// none. The work that failed with them is queued again. It returns their number, and NotFound for an unknown id.
func (p Plugins) RetrySetAside(ctx context.Context, plugin string, ids []int64, change access.Change) (n int,
	err error) {
	err = outbox.Run(ctx, p.db, func(tx bun.Conn, box *outbox.Outbox) error {
		taken, err := take(ctx, tx, queries.With("take_set_aside",
			postgres.Args{"plugin": plugin, "all": len(ids) == 0, "ids": postgres.Array(ids)}))
		if err != nil {
			return err
		}
		if n = len(taken); n < len(ids) {
			return core.Errorf(core.NotFound, "the request is not set aside any more: the list shows the current ones")
		}
		if n == 0 {
			return nil
		}
		if err := p.requeue(ctx, tx, box, taken); err != nil {
			return err
		}
		subjects := make([]string, min(n, maxAuditedRequests))
		for i := range subjects {
			subjects[i] = strings.TrimSpace(taken[i].call + " " + taken[i].about)
		}
		change.Object, change.After = "plugin/"+plugin, map[string]any{"requests": subjects, "count": n}
		return audit.Record(ctx, p.db, tx, change)
	})
	return n, err
}

// maxAuditedRequests bounds the requests that an audit entry names.
const maxAuditedRequests = 20

// retryOutdated ends what was set aside for builds that no hub runs any more.
func (p Plugins) retryOutdated(ctx context.Context, since time.Time) error {
	var pending bool
	if err := p.db.Bun().QueryRowContext(ctx,
		`SELECT EXISTS (SELECT FROM plugin_set_aside)`).Scan(&pending); err != nil ||
		!pending {
		return err
	}
	return outbox.Run(ctx, p.db, func(tx bun.Conn, box *outbox.Outbox) error {
		taken, err := take(ctx, tx, queries.With("take_outdated", postgres.Args{"since": since}))
		if err != nil {
			return err
		}
		return p.requeue(ctx, tx, box, taken)
	})
}

func take(ctx context.Context, tx bun.Conn, statement string) ([]takenRequest, error) {
	return postgres.Collect(ctx, tx, "ending requests that are set aside", func(r *takenRequest) []any {
		return []any{&r.plugin, &r.call, &r.business, &r.platform, &r.request, &r.store, &r.about}
	}, bun.SafeQuery(statement))
}

// requeue queues the work of requests again: calls to aggregators, menus and checks of items. Other transactions lock
// in this order too. An aggregator resends its own requests.
func (p Plugins) requeue(ctx context.Context, tx bun.Conn, box *outbox.Outbox, requests []takenRequest) error {
	if err := p.requeueCalls(ctx, tx, box, requests); err != nil {
		return err
	}
	type checked struct {
		business core.BusinessID
		platform string
	}
	var rechecks []checked
	for _, r := range requests {
		switch {
		case r.call == "Menu.CheckItems":
			if one := (checked{r.business, r.platform}); !slices.Contains(rechecks, one) {
				rechecks = append(rechecks, one)
			}
		case strings.HasPrefix(r.call, "Menu."):
			if err := publications.PublishStore(ctx, p.db, tx, publications.PublishRequest{
				Business: r.business, StoreRef: r.store, Platforms: []string{r.platform}}); err != nil {
				return err
			}
		}
	}
	for _, one := range rechecks {
		if err := publications.Recheck(ctx, p.db, tx, one.business, one.platform); err != nil {
			return err
		}
	}
	return nil
}

// requeueCalls queues the failed calls of requests again, unless they are outdated.
func (p Plugins) requeueCalls(ctx context.Context, tx bun.Conn, box *outbox.Outbox, requests []takenRequest) error {
	var businesses []int64
	var ids []string
	for _, r := range requests {
		if id, err := uuid.Parse(r.request); err == nil {
			businesses, ids = append(businesses, int64(r.business)), append(ids, id.String())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	now := p.db.Clock().Now()
	failed, err := postgres.Collect(ctx, tx, "reading failed calls", func(c *outbox.Call) []any {
		c.At = now
		return []any{&c.Business, &c.ID, &c.OrderingKey, &c.Kind, &c.Platform, &c.Order}
	}, bun.SafeQuery(queries.With("failed_calls", postgres.Args{
		"businesses": postgres.Array(businesses), "ids": postgres.Array(ids), "inbound": relay.InboundFetch,
		"acknowledgement": relay.OrderAcknowledge, "store_action": relay.StoreAction,
		"action": relay.Action, "contact": action.CustomerData, "completed": order.Completed,
		"cancelled": order.Cancelled,
	})))
	if err != nil || len(failed) == 0 {
		return err
	}
	businesses, ids = nil, nil
	for _, c := range failed {
		businesses, ids = append(businesses, int64(c.Business)), append(ids, c.ID.String())
	}
	if err := box.RequeueCalls(ctx, tx, failed); err != nil {
		return err
	}
	return postgres.Exec(ctx, tx, "queueing failed calls again", queries.With("retry_calls", postgres.Args{
		"businesses": postgres.Array(businesses), "ids": postgres.Array(ids), "now": now,
	}))
}
