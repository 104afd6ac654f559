package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/webhook"
)

// Route determines the receivers of an event.
type Route struct {
	Business  core.BusinessID `bun:"business_id"`
	EventType core.EventType  `bun:"event_type"`    // all subscriptions to this type
	WebhookID int64           `bun:"route_webhook"` // or this webhook only
	Callback  string          `bun:"callback"`      // or the callback_url of a request
}

// RouteOf returns the route of an event.
func RouteOf(event core.Event) Route {
	switch {
	case event.CallbackURL != "":
		return Route{Business: event.Business, Callback: event.CallbackURL}
	case event.WebhookID != 0:
		return Route{Business: event.Business, WebhookID: event.WebhookID}
	default:
		return Route{Business: event.Business, EventType: event.Type}
	}
}

// Target is a receiver of deliveries, as stored. Decrypt adds the decrypted values.
type Target struct {
	ID                  int64         `bun:"id"`      // of the webhook; 0 for a callback_url
	Version             int64         `bun:"version"` // of the webhook
	URL                 string        `bun:"url"`
	Units               webhook.Units `bun:"retrial_interval_units"`
	Headers             []byte        `bun:"headers"`
	EventHeaderName     string        `bun:"event_type_header"`
	EventHeaderValue    string        `bun:"event_type_header_value"`
	Secret              []byte        `bun:"secret"`
	PreviousSecret      []byte        `bun:"previous_secret"`
	PreviousSecretEnds  time.Time     `bun:"previous_secret_expires_at"`
	PreviousSecret2     []byte        `bun:"previous_secret_2"`
	PreviousSecret2Ends time.Time     `bun:"previous_secret_2_expires_at"`
	CircuitOpen         bool          `bun:"probed"` // the circuit is open; read for new deliveries only

	headers         map[string]string
	secret          string
	previousSecrets []string // earlier secrets that still sign
	unready         string   // why the target cannot be used
}

// WebhookTarget and CallbackTarget are the columns of a target, from the row "webhook" of webhooks
// and the row "business" of businesses.
var (
	WebhookTarget  = bun.Safe(queries.With("webhook_target", nil))
	CallbackTarget = bun.Safe(queries.With("callback_target", nil))
)

// Decrypt decrypts the sealed values of a target. If that fails, deliveries to the target fail with
// the reason.
func Decrypt(db *postgres.DB, business core.BusinessID, t *Target) {
	if err := decrypt(db, business, t); err != nil {
		t.unready = err.Error()
	}
}

func decrypt(db *postgres.DB, business core.BusinessID, t *Target) error {
	associatedData := CallbackAssociatedData(business)
	if t.ID != 0 {
		associatedData = WebhookAssociatedData(business, "secret")
		var err error
		if t.headers, err = OpenHeaders(db, business, t.Headers); err != nil {
			return fmt.Errorf("headers of webhook %d: %w", t.ID, err)
		}
	}
	secret, err := db.Sealer().Open(associatedData, t.Secret)
	if err != nil {
		return fmt.Errorf("signing secret for %s: %w", associatedData, err)
	}
	t.secret = string(secret)
	now := db.Clock().Now()
	for _, e := range []struct {
		sealed []byte
		ends   time.Time
	}{{t.PreviousSecret, t.PreviousSecretEnds}, {t.PreviousSecret2, t.PreviousSecret2Ends}} {
		if !e.ends.After(now) {
			continue
		}
		secret, err := db.Sealer().Open(associatedData, e.sealed)
		if err != nil {
			return fmt.Errorf("earlier signing secret for %s: %w", associatedData, err)
		}
		t.previousSecrets = append(t.previousSecrets, string(secret))
	}
	return nil
}

// ApplyTo copies the receiver into a delivery. The maps and slices are shared.
func (t Target) ApplyTo(d *webhook.Delivery) {
	d.URL, d.Units, d.Headers, d.Secret, d.OldSecrets, d.Version, d.BuildError = t.URL, t.Units, t.headers, t.secret,
		t.previousSecrets, t.Version, t.unready
	d.EventHeader = webhook.EventHeader{Name: t.EventHeaderName, Value: webhook.EventValue(t.EventHeaderValue)}
}

// receivers are the targets of routes, and the snapshots of those that were cached.
type receivers struct {
	targets map[Route][]Target
	checks  cache.Checks
}

// targets returns the receivers of events: the request's callback_url, the one given
// webhook, or every active subscription. It takes cached subscriptions, except the ones that are known to be
// stale.
//
// Two event types, webhook_retry and feature_action, go to the order_placed subscriptions if the
// business has no active one for the type. The number of statements does not grow with the number
// of events.
func (o *Outbox) targets(ctx context.Context, tx bun.IDB, events []core.Event, stale cache.Stale) (receivers,
	error) {
	found := receivers{targets: map[Route][]Target{}}
	var subscribed, single, callbacks []Route
	for _, event := range events {
		r := RouteOf(event)
		if _, known := found.targets[r]; known {
			continue
		}
		found.targets[r] = nil
		switch {
		case r.Callback != "":
			callbacks = append(callbacks, r)
		case r.WebhookID != 0:
			single = append(single, r)
		case o.uncached || !o.replica.subscriptions.find(o.db, r, stale, &found):
			subscribed = append(subscribed, r)
		}
	}
	if err := o.readSubscribed(ctx, tx, &found, subscribed); err != nil {
		return found, err
	}
	if err := readSubstitutes(ctx, o.db, tx, found.targets); err != nil {
		return found, err
	}
	if err := readSingle(ctx, o.db, tx, found.targets, single); err != nil {
		return found, err
	}
	return found, readCallbacks(ctx, o.db, tx, found.targets, callbacks)
}

// foundTarget is a target with its route.
type foundTarget struct {
	Route
	Target
}

func readTargets(ctx context.Context, db *postgres.DB, tx bun.IDB, query string) ([]foundTarget, error) {
	var rows []foundTarget
	if err := tx.NewRaw(query).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("finding the receivers of events: %w", err)
	}
	for i := range rows {
		Decrypt(db, rows[i].Business, &rows[i].Target)
	}
	return rows, nil
}

// readSubstitutes adds the order_placed webhooks for the two event types that the specification
// does not have, if the business has no active webhook for them.
func readSubstitutes(ctx context.Context, db *postgres.DB, tx bun.IDB, receivers map[Route][]Target) error {
	var businesses []int64
	var types []string
	for r, targets := range receivers {
		if (r.EventType == core.WebhookRetry || r.EventType == core.FeatureAction) && len(targets) == 0 {
			businesses, types = append(businesses, int64(r.Business)), append(types, string(r.EventType))
		}
	}
	if len(businesses) == 0 {
		return nil
	}
	rows, err := readTargets(ctx, db, tx, queries.With("substitute_targets", postgres.Args{
		"businesses": pgdialect.Array(businesses), "types": pgdialect.Array(types), "substitute": core.OrderPlaced,
	}))
	for _, row := range rows {
		receivers[row.Route] = append(receivers[row.Route], row.Target)
	}
	return err
}

func readSingle(ctx context.Context, db *postgres.DB, tx bun.IDB, receivers map[Route][]Target, routes []Route) error {
	if len(routes) == 0 {
		return nil
	}
	pairs := make([][]any, len(routes))
	for i, r := range routes {
		pairs[i] = []any{r.Business, r.WebhookID}
	}
	rows, err := readTargets(ctx, db, tx, queries.With("single_targets", postgres.Args{"webhooks": bun.Tuple(pairs)}))
	for _, row := range rows {
		receivers[row.Route] = append(receivers[row.Route], row.Target)
	}
	return err
}

func readCallbacks(ctx context.Context, db *postgres.DB, tx bun.IDB, receivers map[Route][]Target,
	routes []Route) error {
	if len(routes) == 0 {
		return nil
	}
	n := len(routes)
	businesses, urls, endpoints := make([]int64, n), make([]string, n), make([]int64, n)
	for i, r := range routes {
		businesses[i], urls[i], endpoints[i] = int64(r.Business), r.Callback, EndpointOf(r.Business, r.Callback)
	}
	rows, err := readTargets(ctx, db, tx, queries.With("callback_targets", postgres.Args{
		"businesses": pgdialect.Array(businesses), "urls": pgdialect.Array(urls),
		"endpoints": pgdialect.Array(endpoints),
	}))
	for _, row := range rows {
		row.URL = row.Callback
		receivers[row.Route] = append(receivers[row.Route], row.Target)
	}
	return err
}
