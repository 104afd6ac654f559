// Package customers finds the orders of a customer, exports what is stored about them, and erases their personal data.
package customers

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store finds customers by keyed hashes.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// index returns the index of a business. It returns NotFound if there is no such business.
func (s Store) index(ctx context.Context, business core.BusinessID) (customer.Index, error) {
	var x customer.Index
	var sealed []byte
	err := s.db.Tenant(business).QueryRowContext(ctx, `SELECT country, customer_key FROM businesses WHERE id = ?`,
		business).Scan(&x.Country, &sealed)
	if err != nil {
		return x, postgres.NotFound(err, "there is no business %d", business)
	}
	x.Key, err = s.db.Sealer().Open(customer.KeyAssociatedData(business), sealed)
	return x, err
}

// SearchCustomer returns the customer that a text names: a telephone number, an email address or a name. The audit
// trail records the hash and not the text. It returns Invalid for any other text.
func (s Store) SearchCustomer(ctx context.Context, business core.BusinessID, text string,
	change access.Change) (customer.Subject, error) {
	x, err := s.index(ctx, business)
	if err != nil {
		return customer.Subject{}, err
	}
	subject, err := x.Search(text)
	if err != nil {
		return subject, err
	}
	change.Object = subject.Object()
	return subject, s.db.InTx(ctx, func(tx bun.Conn) error { return audit.Record(ctx, s.db, tx, change) })
}

// matching is the condition that a row of orders is of the subject.
func matching(subject customer.Subject) (only postgres.Conditions) {
	if subject.Kind == customer.Order {
		only.Add(true, "orders.id = ?", subject.Order)
	} else {
		only.Add(true, "orders.customer_hashes @> ARRAY[?::bigint]", subject.Hash)
	}
	return only
}

// matchingOrUnknown is the condition that a row of orders is of the subject, or may be: its hashes are unknown.
func matchingOrUnknown(subject customer.Subject) (only postgres.Conditions) {
	if subject.Kind == customer.Order {
		return matching(subject)
	}
	only.Add(true, "(orders.customer_hashes @> ARRAY[?::bigint] OR orders.customer_hashes IS NULL)", subject.Hash)
	return only
}

// OrdersOfCustomer returns orders of a customer, the newest first.
//
// The statements of this package run as the owner of the tables. PostgreSQL uses no GIN index below the policies of
// the tenant role, because the operator of arrays is not leakproof.
func (s Store) OrdersOfCustomer(ctx context.Context, business core.BusinessID, subject customer.Subject,
	before console.OrderCursor, limit int) ([]console.Order, error) {
	var page postgres.Conditions
	page.Add(before.ID != 0, "(found.created_at, found.id) < (?, ?)", time.UnixMicro(before.Placed).UTC(), before.ID)
	return postgres.Collect(ctx, s.db.Bun(), "reading the orders of a customer", func(o *console.Order) []any {
		return []any{&o.ID, &o.Platform, &o.PlatformOrderID, &o.StoreID, &o.StoreRef, &o.StoreName, &o.State,
			&o.Placed}
	}, bun.SafeQuery(queries.With("orders_of_customer", postgres.Args{
		"business": business, "only": matching(subject), "page": page, "limit": limit,
	})))
}

// CustomerExtent returns how much is stored about a customer. It counts at most customer.MaxCounted orders.
func (s Store) CustomerExtent(ctx context.Context, business core.BusinessID,
	subject customer.Subject) (extent customer.Extent, err error) {
	err = s.db.Bun().QueryRowContext(ctx, queries.With("extent", postgres.Args{
		"business": business, "only": matching(subject), "now": s.db.Clock().Now(), "most": customer.MaxCounted + 1,
	})).Scan(&extent.Orders, &extent.Erased, &extent.Unfinished, &extent.Calls)
	if err != nil {
		return extent, fmt.Errorf("counting the orders of a customer: %w", err)
	}
	if extent.More = extent.Orders > customer.MaxCounted; extent.More {
		extent.Orders = customer.MaxCounted
	}
	var events []core.ID
	if err := s.db.Bun().NewRaw(queries.With("events_of_customer", postgres.Args{
		"business": business, "only": matching(subject), "most": customer.MaxCounted,
	})).Scan(ctx, &events); err != nil {
		return extent, fmt.Errorf("reading the events of a customer: %w", err)
	}
	deliveries, err := deliveriesOf(ctx, s.db.Bun(), business, events)
	extent.Deliveries = len(deliveries)
	return extent, err
}

// eventWindow bounds the time between an event and its delivery, whose ids have the time.
const eventWindow = time.Minute

// deliveriesOf returns the ids of the deliveries of events.
func deliveriesOf(ctx context.Context, in bun.IDB, business core.BusinessID,
	events []core.ID) (ids []string, err error) {
	first, last := make([]core.ID, len(events)), make([]core.ID, len(events))
	for i, id := range events {
		at := core.TimeOf(id)
		first[i], last[i] = core.FirstID(at.Add(-eventWindow)), core.FirstID(at.Add(eventWindow))
	}
	if err := in.NewRaw(queries.With("deliveries_of_events", postgres.Args{
		"business": business, "events": postgres.Array(events), "first": postgres.Array(first),
		"last": postgres.Array(last),
	})).Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("reading the deliveries of events: %w", err)
	}
	return ids, nil
}

// Erasures returns requests to erase personal data, the latest first, from before an id on. The zero id is the start.
func (s Store) Erasures(ctx context.Context, business core.BusinessID, before core.ID,
	limit int) ([]customer.Erasure, error) {
	var only postgres.Conditions
	only.Add(before != core.ID{}, "id < ?", before)
	return postgres.Collect(ctx, s.db.Tenant(business), "reading erasures", func(e *customer.Erasure) []any {
		return []any{&e.ID, &e.Subject.Kind, &e.Subject.Hash, &e.Subject.Order, &e.Actor, &e.At, &e.Erased, &e.Waiting,
			postgres.OrZero(&e.DoneAt)}
	}, bun.SafeQuery(`SELECT id, kind, hash, order_id, actor, requested_at, erased, waiting, done_at
		FROM customer_erasures WHERE business_id = ? ? ORDER BY id DESC LIMIT ?`, business, only, limit))
}
