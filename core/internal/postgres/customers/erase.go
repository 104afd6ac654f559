package customers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// eraseBatch is the number of orders that one transaction erases.
const eraseBatch = 50

// workTime bounds how long a run takes, because other maintenance waits for it. The next run continues.
const workTime = 10 * time.Second

// settleTime is the time after a request in which orders placed before it may still be committed.
const settleTime = time.Minute

// requestTimeout bounds how long a request erases. Erase does the rest: every replica calls it.
const requestTimeout = 2 * time.Second

// EraseCustomer requests that the personal data of a customer be erased, and erases what it can at once. It returns
// Invalid for a name, because others may have it, and NotFound without an order.
func (s Store) EraseCustomer(ctx context.Context, business core.BusinessID, subject customer.Subject,
	change access.Change) error {
	if !subject.IsOnePerson() {
		return core.Errorf(core.Invalid, "several people may have the same name: search by phone or email address")
	}
	now := s.db.Clock().Now()
	id := core.NewID(now)
	extent, err := s.CustomerExtent(ctx, business, subject)
	if err == nil && extent.Orders == 0 {
		err = core.Errorf(core.NotFound, "there is no order of this customer")
	}
	if err != nil {
		return err
	}
	err = s.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO customer_erasures
				(business_id, id, kind, hash, order_id, actor, requested_at) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO NOTHING`,
			business, id, subject.Kind, subject.Hash, subject.Order, change.Actor, now); err != nil {
			return fmt.Errorf("storing an erasure: %w", err)
		}
		// Data that arrived after an earlier erasure is erased again.
		if _, err := tx.ExecContext(ctx, `UPDATE orders SET erased_at = NULL
				WHERE business_id = ? AND id = ? AND erased_at IS NOT NULL`, business, subject.Order); err != nil {
			return fmt.Errorf("storing an erasure: %w", err)
		}
		change.Object, change.After = subject.Object(), map[string]any{"orders": extent.ToErase()}
		if extent.More {
			change.After["more"] = true
		}
		return audit.Record(ctx, s.db, tx, change)
	})
	if err != nil {
		return err
	}
	running, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := s.erase(running, business); err != nil && running.Err() == nil {
		s.db.Log().Warn("erasing personal data failed, and is retried", "error", err)
	}
	return nil
}

// Erase works on the requested erasures of all businesses until each is done or waits for deliveries. Any replica may
// call it. An interrupted one continues with the next batch.
func (s Store) Erase(ctx context.Context) error { return s.erase(ctx, 0) }

// erase works on the erasures of a business, or of all: business 0.
func (s Store) erase(ctx context.Context, business core.BusinessID) error {
	after, started := openErasure{}, time.Now()
	var failed error
	for time.Since(started) < workTime {
		next, err := s.eraseNext(ctx, business, after)
		failed = errors.Join(failed, err)
		if next == nil || ctx.Err() != nil {
			break
		}
		after = *next
		after.more = after.more && err == nil // another erasure must not wait for a failing one
	}
	return failed
}

// openErasure is an erasure that is not done.
type openErasure struct {
	business core.BusinessID
	id       core.ID
	subject  customer.Subject
	at       time.Time
	more     bool // a further batch may follow
}

// eraseNext erases a batch of the erasure after another one, or a further batch of that one. It returns nil without
// an erasure.
func (s Store) eraseNext(ctx context.Context, business core.BusinessID,
	after openErasure) (next *openErasure, err error) {
	var only postgres.Conditions
	only.Add(business != 0, "business_id = ?", business)
	from := after
	if after.more { // the same one again
		only.Add(true, "id = ?", after.id)
		from = openErasure{}
	}
	err = s.db.InTx(ctx, func(tx bun.Conn) error {
		e := openErasure{}
		err := tx.QueryRowContext(ctx, queries.With("open_erasure", postgres.Args{
			"after_at": from.at, "after_id": from.id, "only": only,
		})).Scan(&e.business, &e.id, &e.subject.Kind, &e.subject.Hash, &e.subject.Order, &e.at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading an erasure: %w", err)
		}
		next = &e
		return s.eraseSome(ctx, tx, next)
	})
	if err == nil && next == nil && after.more { // another replica has it
		after.more = false
		return &after, nil
	}
	return next, err
}

// eraseSome erases a batch of an erasure, and stores how far it is.
func (s Store) eraseSome(ctx context.Context, tx bun.Conn, e *openErasure) error {
	due := selection{e.business, matching(e.subject), e.at}
	orders, err := s.erasable(ctx, tx, due)
	if err != nil {
		return err
	}
	if err := s.eraseOrders(ctx, tx, e.business, orders); err != nil {
		return err
	}
	waiting, err := remaining(ctx, tx, selection{e.business, matchingOrUnknown(e.subject), e.at})
	if err != nil {
		return err
	}
	var done any
	now := s.db.Clock().Now()
	if e.more = len(orders) > 0; !e.more && len(waiting) == 0 && now.Sub(e.at) >= settleTime {
		done = now
	}
	return postgres.Exec(ctx, tx, "storing an erasure",
		`UPDATE customer_erasures SET erased = erased + ?, waiting = ?, done_at = ?
			WHERE business_id = ? AND id = ?`, len(orders), len(waiting), done, e.business, e.id)
}

// selection is the orders of a business that match a condition and were placed by a time.
type selection struct {
	business core.BusinessID
	only     postgres.Conditions
	until    time.Time
}

// erasable locks at most eraseBatch selected orders, and returns those that are finished. It checks them again once
// they are locked, because another transaction may have changed them before.
func (s Store) erasable(ctx context.Context, tx bun.Conn, due selection) (orders []int64, err error) {
	if err := tx.NewRaw(queries.With("erasable", postgres.Args{
		"business": due.business, "only": due.only, "until": due.until, "now": s.db.Clock().Now(),
		"limit": eraseBatch,
	})).Scan(ctx, &orders); err != nil {
		return nil, fmt.Errorf("reading the orders to erase: %w", err)
	}
	if len(orders) == 0 {
		return nil, nil
	}
	locked := selection{due.business, postgres.Conditions{}, due.until}
	locked.only.Add(true, "orders.id = ANY (?::bigint[])", postgres.Array(orders))
	changed, err := s.unfinished(ctx, tx, locked)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(orders, func(id int64) bool { return slices.Contains(changed, id) }), nil
}

// remaining returns the selected orders whose personal data was not erased, whether or not they are finished.
func remaining(ctx context.Context, tx bun.Conn, due selection) (orders []int64, err error) {
	if err := tx.NewRaw(queries.With("remaining", postgres.Args{
		"business": due.business, "only": due.only, "until": due.until,
	})).Scan(ctx, &orders); err != nil {
		return nil, fmt.Errorf("reading the orders that are left to erase: %w", err)
	}
	return orders, nil
}

// unfinished returns the selected orders that are not finished.
func (s Store) unfinished(ctx context.Context, tx bun.Conn, due selection) (orders []int64, err error) {
	if err := tx.NewRaw(queries.With("unfinished", postgres.Args{
		"business": due.business, "only": due.only, "until": due.until, "now": s.db.Clock().Now(),
	})).Scan(ctx, &orders); err != nil {
		return nil, fmt.Errorf("reading unfinished orders: %w", err)
	}
	return orders, nil
}

// eraseOrders erases the personal data of finished orders of a business.
func (s Store) eraseOrders(ctx context.Context, tx bun.Conn, business core.BusinessID, orders []int64) error {
	if len(orders) == 0 {
		return nil
	}
	events, quoted, err := s.scrubEvents(ctx, tx, business, orders)
	if err != nil {
		return err
	}
	if err := scrubCalls(ctx, tx, business, orders); err != nil {
		return err
	}
	deliveries, err := deliveriesOf(ctx, tx, business, events)
	if err != nil {
		return err
	}
	objects, abouts := make([]string, 0, len(orders)+len(deliveries)), make([]string, 0, len(orders))
	for _, id := range orders {
		objects, abouts = append(objects, customer.OfOrder(id).Object()), append(abouts, fmt.Sprintf("order %d", id))
	}
	for _, id := range deliveries {
		objects = append(objects, "delivery/"+id)
	}
	if _, err := tx.ExecContext(ctx, queries.With("erase_orders", postgres.Args{
		"business": business, "orders": postgres.Array(orders), "deliveries": postgres.Array(deliveries),
		"objects": postgres.Array(objects), "abouts": postgres.Array(abouts), "now": s.db.Clock().Now(),
	})); err != nil {
		return fmt.Errorf("erasing the personal data of %d orders: %w", len(orders), err)
	}
	if quoted.Any == "" {
		return nil
	}
	if _, err := tx.ExecContext(ctx, queries.With("erase_mentions", postgres.Args{
		"business": business, "pattern": quoted.Any, "contact": quoted.Contact, "instead": "(erased)",
	})); err != nil {
		return fmt.Errorf("erasing texts about %d orders: %w", len(orders), err)
	}
	return nil
}

// scrubEvents removes personal data from the events of orders. It returns their ids, and what quotes of the customers
// match.
func (s Store) scrubEvents(ctx context.Context, tx bun.Conn, business core.BusinessID,
	orders []int64) (ids []core.ID, quoted customer.Quotes, err error) {
	type event struct {
		ID   core.ID        `bun:"id"`
		Type core.EventType `bun:"event_type"`
		Body []byte         `bun:"body"`
	}
	var events []event
	if err := tx.NewRaw(queries.With("bodies_of_orders", postgres.Args{
		"business": business, "orders": postgres.Array(orders),
	})).Scan(ctx, &events); err != nil {
		return nil, quoted, fmt.Errorf("reading the events of orders: %w", err)
	}
	var placed [][]byte
	bodies := make([][]byte, len(events))
	for i, e := range events {
		body, err := s.db.Decompress(e.Body)
		if err != nil {
			return nil, quoted, err
		}
		if e.Type == core.OrderPlaced || e.Type == core.OrderUpdated {
			placed = append(placed, body)
		}
		ids, bodies[i] = append(ids, e.ID), s.db.Compress(customer.Scrub(body))
	}
	if _, err := tx.ExecContext(ctx, queries.With("replace_bodies", postgres.Args{
		"business": business, "ids": postgres.Array(ids), "bodies": postgres.Array(bodies),
	})); err != nil {
		return nil, quoted, fmt.Errorf("storing events without personal data: %w", err)
	}
	return ids, customer.QuotesOf(placed), nil
}

// scrubCalls removes personal data from the calls about orders.
func scrubCalls(ctx context.Context, tx bun.Conn, business core.BusinessID, orders []int64) error {
	type call struct {
		ID      core.ID `bun:"id"`
		Payload string  `bun:"payload"`
	}
	var calls []call
	if err := tx.NewRaw(`SELECT id, payload FROM calls WHERE business_id = ? AND order_id = ANY (?::bigint[])`,
		business, postgres.Array(orders)).Scan(ctx, &calls); err != nil {
		return fmt.Errorf("reading the calls of orders: %w", err)
	}
	ids, payloads := make([]core.ID, len(calls)), make([]string, len(calls))
	for i, c := range calls {
		ids[i], payloads[i] = c.ID, string(customer.Scrub([]byte(c.Payload)))
	}
	return postgres.Exec(ctx, tx, "storing calls without personal data", queries.With("replace_payloads", postgres.Args{
		"business": business, "ids": postgres.Array(ids), "payloads": postgres.Array(payloads),
	}))
}
