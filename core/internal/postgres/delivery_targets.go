package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// route is what an event's receivers depend on.
type route struct {
	Business  core.BusinessID `bun:"business_id"`
	EventType core.EventType  `bun:"event_type"`    // of its subscriptions
	WebhookID int64           `bun:"route_webhook"` // when it goes to this one alone
	Callback  string          `bun:"callback"`      // when it goes to the address of a request
}

func routeOf(event core.Event) route {
	switch {
	case event.CallbackURL != "":
		return route{Business: event.Business, Callback: event.CallbackURL}
	case event.WebhookID != 0:
		return route{Business: event.Business, WebhookID: event.WebhookID}
	default:
		return route{Business: event.Business, EventType: event.Type}
	}
}

// target is a receiver of deliveries, as stored and, once opened, in clear.
type target struct {
	ID        int64         `bun:"id"`      // of the webhook; 0: the address is that of a request
	Version   int64         `bun:"version"` // of the webhook
	URL       string        `bun:"url"`
	Units     webhook.Units `bun:"retrial_interval_units"`
	Headers   []byte        `bun:"headers"`
	Secret    []byte        `bun:"secret"`
	Old       []byte        `bun:"old_secret"`
	OldEnds   time.Time     `bun:"old_secret_until"`
	Older     []byte        `bun:"older_secret"`
	OlderEnds time.Time     `bun:"older_secret_until"`
	Probed    bool          `bun:"probed"` // it fails, and is probed; read for new deliveries alone

	headers map[string]string
	secret  string
	earlier []string // secrets that sign too
	unready string   // why it cannot be used
}

// targetColumns reads a target from webhooks w.
const targetColumns = `w.id, w.version, w.url, w.retrial_interval_units, w.headers, w.secret, w.old_secret, w.old_secret_until, w.older_secret, w.older_secret_until`

// probedTarget tells whether the endpoint named is probed.
func probedTarget(endpoint string) string {
	return `EXISTS (SELECT 1 FROM unwell_endpoints h WHERE h.endpoint = ` + endpoint + ` AND h.probing_since IS NOT NULL) AS probed`
}

// callbackColumns reads the target of callback_url deliveries from businesses b.
const callbackColumns = `0 AS id, 0 AS version, '' AS url, 'minutes' AS retrial_interval_units, ''::bytea AS headers, b.callback_secret AS secret,
	b.old_callback_secret AS old_secret, b.old_callback_secret_until AS old_secret_until, b.older_callback_secret AS older_secret, b.older_callback_secret_until AS older_secret_until`

// ready decrypts what a target is kept sealed of. One that cannot be opened is left
// unready: its own deliveries fail, and say so, and everybody else's go on.
func (db *DB) ready(business core.BusinessID, t *target) {
	if err := db.open(business, t); err != nil {
		t.unready = err.Error()
	}
}

func (db *DB) open(business core.BusinessID, t *target) error {
	place := callbackSecretPlace(business)
	if t.ID != 0 {
		place = webhookPlace(business, "secret")
		var err error
		if t.headers, err = db.openHeaders(business, t.Headers); err != nil {
			return fmt.Errorf("headers of webhook %d: %w", t.ID, err)
		}
	}
	secret, err := db.seal.open(place, t.Secret)
	if err != nil {
		return fmt.Errorf("signing secret for %s: %w", place, err)
	}
	t.secret = string(secret)
	now := db.clock.Now()
	for _, e := range []struct {
		sealed []byte
		ends   time.Time
	}{{t.Old, t.OldEnds}, {t.Older, t.OlderEnds}} {
		if !e.ends.After(now) {
			continue
		}
		secret, err := db.seal.open(place, e.sealed)
		if err != nil {
			return fmt.Errorf("earlier signing secret for %s: %w", place, err)
		}
		t.earlier = append(t.earlier, string(secret))
	}
	return nil
}

// address completes a delivery with its receiver, which it shares with others.
func (t target) address(d *webhook.Delivery) {
	d.URL, d.Units, d.Headers, d.Secret, d.Earlier, d.Version, d.Unready = t.URL, t.Units, t.headers, t.secret, t.earlier, t.Version, t.unready
}

// targets are the receivers of events: the address that came with the request,
// the one subscription that is meant, else every active subscription; of the two
// event types that the spec does not have, those of order_placed where the
// business has none of the type that is on (contract, Webhooks). One statement for each of
// these ways that occurs, whatever the number of events.
func (db *DB) targets(ctx context.Context, tx bun.Conn, events []core.Event) (map[route][]target, error) {
	receivers := map[route][]target{}
	var subscribed, single, callbacks []route
	for _, event := range events {
		r := routeOf(event)
		if _, known := receivers[r]; known {
			continue
		}
		receivers[r] = nil
		switch {
		case r.Callback != "":
			callbacks = append(callbacks, r)
		case r.WebhookID != 0:
			single = append(single, r)
		default:
			subscribed = append(subscribed, r)
		}
	}
	if err := db.readSubscribed(ctx, tx, receivers, subscribed); err != nil {
		return nil, err
	}
	if err := db.readSingle(ctx, tx, receivers, single); err != nil {
		return nil, err
	}
	return receivers, db.readCallbacks(ctx, tx, receivers, callbacks)
}

// foundTarget is a target with the route that leads to it.
type foundTarget struct {
	route
	target
}

func (db *DB) readTargets(ctx context.Context, tx bun.Conn, query string, args ...any) ([]foundTarget, error) {
	var rows []foundTarget
	if err := tx.NewRaw(query, args...).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("looking for the receivers of events: %w", err)
	}
	for i := range rows {
		db.ready(rows[i].Business, &rows[i].target)
	}
	return rows, nil
}

var subscribedTargets = planned{
	name: "subscribed_targets", types: "bigint[], text[]",
	query: `SELECT w.business_id, w.event_type, ` + probedTarget("w.id") + `, ` + targetColumns + `
		FROM unnest($1, $2) AS r (business_id, event_type)
		JOIN webhooks w ON w.business_id = r.business_id AND w.event_type = r.event_type AND w.active ORDER BY w.id`,
}

func (db *DB) readSubscribed(ctx context.Context, tx bun.Conn, receivers map[route][]target, routes []route) error {
	if len(routes) == 0 {
		return nil
	}
	businesses, types := make([]int64, len(routes)), make([]string, len(routes))
	for i, r := range routes {
		businesses[i], types[i] = int64(r.Business), string(r.EventType)
	}
	query, err := db.prepared.ready(ctx, tx, &subscribedTargets, array(businesses), array(types))
	if err != nil {
		return err
	}
	rows, err := db.readTargets(ctx, tx, query)
	for _, row := range rows {
		receivers[row.route] = append(receivers[row.route], row.target)
	}
	if err != nil {
		return err
	}
	return db.readInstead(ctx, tx, receivers, routes)
}

// readInstead finds the receivers of events for which nobody can have been
// meant by the spec, where no webhook of the business of the type is on.
func (db *DB) readInstead(ctx context.Context, tx bun.Conn, receivers map[route][]target, routes []route) error {
	var businesses []int64
	var types []string
	for _, r := range routes {
		if (r.EventType == core.WebhookRetry || r.EventType == core.FeatureAction) && len(receivers[r]) == 0 {
			businesses, types = append(businesses, int64(r.Business)), append(types, string(r.EventType))
		}
	}
	if len(businesses) == 0 {
		return nil
	}
	rows, err := db.readTargets(ctx, tx, `SELECT w.business_id, r.event_type, `+probedTarget("w.id")+`, `+targetColumns+`
		FROM unnest(?::bigint[], ?::text[]) AS r (business_id, event_type)
		JOIN webhooks w ON w.business_id = r.business_id AND w.event_type = ? AND w.active
		WHERE NOT EXISTS (SELECT 1 FROM webhooks o WHERE o.business_id = r.business_id AND o.event_type = r.event_type AND o.active) ORDER BY w.id`,
		pgdialect.Array(businesses), pgdialect.Array(types), core.OrderPlaced)
	for _, row := range rows {
		receivers[row.route] = append(receivers[row.route], row.target)
	}
	return err
}

func (db *DB) readSingle(ctx context.Context, tx bun.Conn, receivers map[route][]target, routes []route) error {
	if len(routes) == 0 {
		return nil
	}
	pairs := make([][]any, len(routes))
	for i, r := range routes {
		pairs[i] = []any{r.Business, r.WebhookID}
	}
	rows, err := db.readTargets(ctx, tx, `SELECT w.business_id, w.id AS route_webhook, `+probedTarget("w.id")+`, `+targetColumns+`
		FROM webhooks w WHERE (w.business_id, w.id) IN ?`, bun.Tuple(pairs))
	for _, row := range rows {
		receivers[row.route] = append(receivers[row.route], row.target)
	}
	return err
}

func (db *DB) readCallbacks(ctx context.Context, tx bun.Conn, receivers map[route][]target, routes []route) error {
	if len(routes) == 0 {
		return nil
	}
	n := len(routes)
	businesses, addresses, endpoints := make([]int64, n), make([]string, n), make([]int64, n)
	for i, r := range routes {
		businesses[i], addresses[i], endpoints[i] = int64(r.Business), r.Callback, endpointOf(r.Business, r.Callback)
	}
	rows, err := db.readTargets(ctx, tx, `SELECT b.id AS business_id, r.address AS callback, `+probedTarget("r.endpoint")+`, `+callbackColumns+`
		FROM unnest(?::bigint[], ?::text[], ?::bigint[]) AS r (business_id, address, endpoint) JOIN businesses b ON b.id = r.business_id`,
		pgdialect.Array(businesses), pgdialect.Array(addresses), pgdialect.Array(endpoints))
	for _, row := range rows {
		row.URL = row.Callback
		receivers[row.route] = append(receivers[row.route], row.target)
	}
	return err
}
