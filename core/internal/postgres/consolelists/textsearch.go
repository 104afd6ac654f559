package consolelists

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/webhook"
)

// texts calls visit for each text that a query returns: the id of its row, a text, whether that is compressed, and a
// further text.
func (c Store) texts(ctx context.Context, business core.BusinessID, index map[core.ID]int, query string,
	visit func(int, []byte)) error {
	rows, err := c.db.Tenant(business).QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("searching texts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id core.ID
		var text []byte
		var compressed bool
		var more string
		if err := rows.Scan(&id, &text, &compressed, &more); err != nil {
			return fmt.Errorf("searching texts: %w", err)
		}
		if compressed {
			if text, err = c.db.Decompress(text); err != nil {
				return err
			}
		}
		visit(index[id], text)
		visit(index[id], []byte(more))
	}
	return rows.Err()
}

// indexByID returns the ids of rows, and the index of each.
func indexByID[R any](rows []R, id func(R) core.ID) (ids []string, index map[core.ID]int) {
	ids, index = make([]string, len(rows)), make(map[core.ID]int, len(rows))
	for i, row := range rows {
		ids[i], index[id(row)] = id(row).String(), i
	}
	return ids, index
}

// newTextSearch returns a search in the rows of each call of next.
func newTextSearch[R any](c Store, text string, limit int, next func(ctx context.Context, limit int) ([]R, error),
	texts func(ctx context.Context, rows []R, visit func(int, []byte)) error) console.TextSearch[R] {
	return console.TextSearch[R]{Text: text, Limit: limit, Now: c.db.Clock().Now, Next: next, Texts: texts}
}

// nextPage returns a function that lists the rows of a filter. Each call continues after the last row.
func nextPage[R any, F interface{ After(row R) F }](f F,
	list func(ctx context.Context, f F, limit int) ([]R, error)) func(context.Context, int) ([]R, error) {
	return func(ctx context.Context, limit int) ([]R, error) {
		rows, err := list(ctx, f, limit)
		if len(rows) > 0 {
			f = f.After(rows[len(rows)-1])
		}
		return rows, err
	}
}

// SearchDeliveries returns deliveries of a filter with a text in their payload, or in a response or error of an
// attempt. It may end before it has searched all of them.
func (c Store) SearchDeliveries(ctx context.Context, business core.BusinessID, f webhook.Filter,
	text string) ([]webhook.DeliveryRecord, console.SearchProgress[webhook.DeliveryRecord], error) {
	history := deliveries.New(c.db)
	return newTextSearch(c, text, f.Limit,
		nextPage(f, func(ctx context.Context, f webhook.Filter, limit int) ([]webhook.DeliveryRecord, error) {
			f.Limit = limit
			return history.List(ctx, business, f)
		}),
		func(ctx context.Context, rows []webhook.DeliveryRecord, visit func(int, []byte)) error {
			ids, index := indexByID(rows, func(d webhook.DeliveryRecord) core.ID { return d.ID })
			events, _ := indexByID(rows, func(d webhook.DeliveryRecord) core.ID { return d.EventID })
			return c.texts(ctx, business, index, queries.With("texts_of_deliveries", postgres.Args{
				"business": business, "ids": postgres.Array(ids), "events": postgres.Array(events)}), visit)
		}).Run(ctx)
}

// SearchJobs returns jobs of a filter with a text in their request, result or error. It may end before it has searched
// all of them.
func (c Store) SearchJobs(ctx context.Context, business core.BusinessID, f console.JobFilter,
	text string) ([]console.Job, console.SearchProgress[console.Job], error) {
	return newTextSearch(c, text, f.Limit,
		nextPage(f, func(ctx context.Context, f console.JobFilter, limit int) ([]console.Job, error) {
			f.Limit = limit
			return c.ListJobs(ctx, business, f)
		}),
		func(ctx context.Context, rows []console.Job, visit func(int, []byte)) error {
			ids, index := indexByID(rows, func(j console.Job) core.ID { return j.Reference })
			return c.texts(ctx, business, index, queries.With("texts_of_jobs", postgres.Args{
				"business": business, "ids": postgres.Array(ids)}), visit)
		}).Run(ctx)
}

// SearchOrders returns orders of a filter with a text in the order as it was placed. It may end before it has searched
// all of them.
func (c Store) SearchOrders(ctx context.Context, business core.BusinessID, f console.OrderFilter,
	text string) ([]console.Order, console.SearchProgress[console.Order], error) {
	return newTextSearch(c, text, f.Limit,
		nextPage(f, func(ctx context.Context, f console.OrderFilter, limit int) ([]console.Order, error) {
			f.Limit = limit
			return c.ListOrders(ctx, business, f)
		}),
		func(ctx context.Context, rows []console.Order, visit func(int, []byte)) error {
			_, index := indexByID(rows, func(o console.Order) core.ID { return o.PlacedEvent })
			events := make([]string, 0, len(rows))
			for _, o := range rows {
				events = append(events, o.PlacedEvent.String())
			}
			return c.texts(ctx, business, index, queries.With("texts_of_events", postgres.Args{
				"business": business, "events": postgres.Array(events)}), visit)
		}).Run(ctx)
}

// SearchAudit returns entries of a filter with a text in their details. It may end before it has searched all of them.
func (c Store) SearchAudit(ctx context.Context, business core.BusinessID, f console.EntryFilter,
	text string) ([]console.Entry, console.SearchProgress[console.Entry], error) {
	return newTextSearch(c, text, f.Limit,
		nextPage(f, func(ctx context.Context, f console.EntryFilter, limit int) ([]console.Entry, error) {
			f.Limit = limit
			return c.Audit(ctx, business, f)
		}),
		func(_ context.Context, rows []console.Entry, visit func(int, []byte)) error {
			for i, e := range rows {
				visit(i, e.Detail)
			}
			return nil
		}).Run(ctx)
}
