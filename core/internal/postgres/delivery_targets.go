package postgres

import (
	"context"
	"fmt"

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
	ID      int64         `bun:"id"` // of the webhook; 0: the address is that of a request
	URL     string        `bun:"url"`
	Units   webhook.Units `bun:"retrial_interval_units"`
	Headers []byte        `bun:"headers"`
	Secret  []byte        `bun:"secret"`
	Probed  bool          `bun:"probed"` // it fails, and is probed; read for new deliveries alone

	headers map[string]string
	secret  string
}

// targetColumns reads a target from webhooks w.
const targetColumns = `w.id, w.url, w.retrial_interval_units, w.headers, w.secret`

// probedTarget tells whether the endpoint named is probed.
func probedTarget(endpoint string) string {
	return `EXISTS (SELECT 1 FROM unwell_endpoints h WHERE h.endpoint = ` + endpoint + ` AND h.probing_since IS NOT NULL) AS probed`
}

// callbackColumns reads the target of callback_url deliveries from businesses b.
const callbackColumns = `0 AS id, '' AS url, 'minutes' AS retrial_interval_units, ''::bytea AS headers, b.callback_secret AS secret`

// open decrypts what a target is kept sealed of.
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
	return nil
}

// address completes a delivery with its receiver, which it shares with others.
func (t target) address(d *webhook.Delivery) {
	d.URL, d.Units, d.Headers, d.Secret = t.URL, t.Units, t.headers, t.secret
}

// targets are the receivers of events: the address that came with the request,
// the one subscription that is meant, else every active subscription; of the two
// event types that the spec does not have, those of order_placed where the
// business has none of the type (contract, Webhooks). One
// statement for each of these ways that occurs, whatever the number of events.
func (db *DB) targets(ctx context.Context, tx bun.Conn, events []core.Event) (map[route][]target, error) {
	receivers := map[route][]target{}
	var callbacks, singles, pairs []int64 // businesses
	var ids, endpoints []int64
	var types, addresses []string
	for _, event := range events {
		r := routeOf(event)
		if _, known := receivers[r]; known {
			continue
		}
		receivers[r] = nil
		switch {
		case r.Callback != "":
			callbacks, addresses = append(callbacks, int64(r.Business)), append(addresses, r.Callback)
			endpoints = append(endpoints, endpointOf(r.Business, r.Callback))
		case r.WebhookID != 0:
			singles, ids = append(singles, int64(r.Business)), append(ids, r.WebhookID)
		default:
			pairs, types = append(pairs, int64(r.Business)), append(types, string(r.EventType))
		}
	}
	read := func(query string, args ...any) error {
		var rows []struct {
			route
			target
		}
		if err := tx.NewRaw(query, args...).Scan(ctx, &rows); err != nil {
			return fmt.Errorf("looking for the receivers of events: %w", err)
		}
		for _, row := range rows {
			if err := db.open(row.Business, &row.target); err != nil {
				return err
			}
			receivers[row.route] = append(receivers[row.route], row.target)
		}
		return nil
	}
	if len(pairs) > 0 {
		if err := read(`SELECT w.business_id, r.event_type, `+probedTarget("w.id")+`, `+targetColumns+` FROM unnest(?0::bigint[], ?1::text[]) AS r (business_id, event_type)
			JOIN webhooks w ON w.business_id = r.business_id AND w.active AND w.event_type = CASE
				WHEN r.event_type IN (?2, ?3) AND NOT EXISTS (SELECT 1 FROM webhooks o WHERE o.business_id = r.business_id AND o.event_type = r.event_type)
				THEN ?4 ELSE r.event_type END ORDER BY w.id`,
			pgdialect.Array(pairs), pgdialect.Array(types), core.WebhookRetry, core.FeatureAction, core.OrderPlaced); err != nil {
			return nil, err
		}
	}
	if len(singles) > 0 {
		if err := read(`SELECT w.business_id, w.id AS route_webhook, `+probedTarget("w.id")+`, `+targetColumns+` FROM unnest(?::bigint[], ?::bigint[]) AS r (business_id, id)
			JOIN webhooks w ON w.business_id = r.business_id AND w.id = r.id`,
			pgdialect.Array(singles), pgdialect.Array(ids)); err != nil {
			return nil, err
		}
	}
	if len(callbacks) > 0 {
		if err := read(`SELECT b.id AS business_id, r.address AS callback, `+probedTarget("r.endpoint")+`, `+callbackColumns+`
			FROM unnest(?::bigint[], ?::text[], ?::bigint[]) AS r (business_id, address, endpoint) JOIN businesses b ON b.id = r.business_id`,
			pgdialect.Array(callbacks), pgdialect.Array(addresses), pgdialect.Array(endpoints)); err != nil {
			return nil, err
		}
		for r, list := range receivers {
			for i := range list {
				list[i].URL = orElse(list[i].URL, r.Callback)
			}
		}
	}
	return receivers, nil
}
