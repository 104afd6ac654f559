// Package webhooks stores the subscriptions of businesses.
package webhooks

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/webhook"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores subscriptions (webhook.SubscriptionStore).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

const webhookColumns = `business_id, id, event_type, url, active, retrial_interval_units, headers, event_type_header,` +
	` event_type_header_value, secret, disabled_reason, created_at, updated_at`

type webhookRow struct {
	BusinessID     core.BusinessID `bun:"business_id"`
	ID             int64           `bun:"id"`
	EventType      core.EventType  `bun:"event_type"`
	URL            string          `bun:"url"`
	Active         bool            `bun:"active"`
	Units          webhook.Units   `bun:"retrial_interval_units"`
	Headers        []byte          `bun:"headers"`
	EventHeader    string          `bun:"event_type_header"`
	EventValue     string          `bun:"event_type_header_value"`
	Secret         []byte          `bun:"secret"`
	DisabledReason string          `bun:"disabled_reason"`
	CreatedAt      time.Time       `bun:"created_at"`
	UpdatedAt      time.Time       `bun:"updated_at"`
}

func subscription(db *postgres.DB, row webhookRow) (webhook.Subscription, error) {
	headers, err := outbox.OpenHeaders(db, row.BusinessID, row.Headers)
	if err != nil {
		return webhook.Subscription{}, fmt.Errorf("headers of webhook %d: %w", row.ID, err)
	}
	secret, err := db.Sealer().Open(outbox.WebhookAssociatedData(row.BusinessID, "secret"), row.Secret)
	if err != nil {
		return webhook.Subscription{}, fmt.Errorf("secret of webhook %d: %w", row.ID, err)
	}
	return webhook.Subscription{
		ID: row.ID, Business: row.BusinessID, EventType: row.EventType, URL: row.URL, Active: row.Active,
		Units:   row.Units,
		Headers: headers, EventHeader: eventHeader(row), Secret: string(secret), DisabledReason: row.DisabledReason,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}, nil
}

func eventHeader(row webhookRow) webhook.EventHeader {
	if row.EventHeader == "" {
		return webhook.EventHeader{}
	}
	return webhook.EventHeader{Name: row.EventHeader, Value: webhook.EventValue(row.EventValue)}
}

// eventValue returns the stored form of a header's value.
func eventValue(h webhook.EventHeader) webhook.EventValue { return cmp.Or(h.Value, webhook.EventName) }

// Change stores the result of decide for a subscription.
func (w Store) Change(ctx context.Context, business core.BusinessID, actor string, id int64,
	decide func(*webhook.Subscription) error) error {
	return w.db.InTx(ctx, func(tx bun.Conn) error {
		sub, err := w.lock(ctx, tx, business, id)
		if err != nil {
			return err
		}
		before := sub
		if err := decide(&sub); err != nil {
			return err
		}
		return w.change(ctx, tx, update(business, actor), before, sub)
	})
}

// update is the change of a subscription by the API.
func update(business core.BusinessID, actor string) access.Change {
	return access.Change{Business: business, Actor: actor, Action: "webhook.update"}
}

// change stores a changed subscription and its audit entry. It does nothing if nothing differs, because many POS
// repeat their subscriptions, and a change resets the circuit.
func (w Store) change(ctx context.Context, tx bun.Conn, change access.Change,
	before, after webhook.Subscription) error {
	same := after
	if same.UpdatedAt = before.UpdatedAt; reflect.DeepEqual(before, same) {
		return nil
	}
	if err := w.write(ctx, tx, before, after); err != nil {
		return err
	}
	was, is := auditEntry(before), auditEntry(after)
	if !maps.Equal(before.Headers, after.Headers) {
		is["header_values"] = "changed"
	}
	change.Object, change.Before, change.After = fmt.Sprintf("webhook/%d", after.ID), was, is
	return audit.Record(ctx, w.db, tx, change)
}

// headerNames returns the sorted names of a subscription's headers.
func headerNames(sub webhook.Subscription) any {
	return postgres.Array(slices.Sorted(maps.Keys(sub.Headers)))
}

// auditEntry returns the audit entry of a subscription. It lists only the names of headers, because
// their values are secret.
func auditEntry(sub webhook.Subscription) map[string]any {
	entry := map[string]any{"event_type": sub.EventType, "url": sub.URL, "active": sub.Active,
		"retrial_interval_units": sub.Units,
		"headers":                slices.Sorted(maps.Keys(sub.Headers))}
	if h := sub.EventHeader; h.Name != "" {
		entry["event_type_header"], entry["event_type_header_value"] = h.Name, h.Value
	}
	return entry
}

// Rotate stores the secrets that decide gives a subscription. The audit entry does not
// contain the secrets.
func (w Store) Rotate(ctx context.Context, business core.BusinessID, id int64, by webhook.Author,
	decide func(*webhook.Subscription),
) (sub webhook.Subscription, err error) {
	err = w.db.InTx(ctx, func(tx bun.Conn) error {
		if sub, err = w.lock(ctx, tx, business, id); err != nil {
			return err
		}
		decide(&sub)
		sealed, err := w.db.SealIn(ctx, tx, outbox.WebhookAssociatedData(business, "secret"), []byte(sub.Secret))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE webhooks SET `+outbox.ReplaceSecret("secret")+`, updated_at = ?2, version = version + 1
			WHERE business_id = ?3 AND id = ?4`, sealed, sub.OldSecretUntil, sub.UpdatedAt, business, id); err != nil {
			return fmt.Errorf("storing the secrets of webhook %d: %w", id, err)
		}
		if err := outbox.Invalidate(ctx, tx, business, id); err != nil {
			return err
		}
		return audit.Record(ctx, w.db, tx,
			access.Change{Business: business, Actor: by.Actor, Action: "webhook.rotate",
				Object: fmt.Sprintf("webhook/%d", id),
				Why:    by.Why,
				After:  map[string]any{"earlier_secret_signs_until": sub.OldSecretUntil.UTC().Format(time.RFC3339)}})
	})
	return sub, err
}

// write stores a changed subscription and invalidates its leased deliveries. New retry units
// reschedule waiting deliveries, and switching it on releases held ones. It resets
// the circuit, and the recorded health if the URL or headers changed.
func (w Store) write(ctx context.Context, tx bun.Conn, before, sub webhook.Subscription) error {
	if err := checkActiveLimit(ctx, tx, before, sub); err != nil {
		return err
	}
	headers, err := outbox.SealHeaders(ctx, w.db, tx, sub.Business, sub.Headers)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, queries.With("change_webhook", postgres.Args{
		"url": sub.URL, "active": sub.Active, "units": sub.Units, "headers": headers,
		"header_names": headerNames(sub), "headers_changed": !maps.Equal(before.Headers, sub.Headers),
		"event_header": sub.EventHeader.Name, "event_value": eventValue(sub.EventHeader),
		"disabled_reason": sub.DisabledReason, "updated_at": sub.UpdatedAt, "business": sub.Business, "id": sub.ID,
	}))
	if postgres.IsCode(err, "23505") {
		return core.Errorf(core.Conflict, "another webhook has this event_type and url")
	}
	if err != nil {
		return fmt.Errorf("storing the subscription: %w", err)
	}
	if err := DeleteCircuit(ctx, tx, sub.Business, sub.ID); err != nil {
		return err
	}
	endpointChanged := before.URL != sub.URL || !maps.Equal(before.Headers, sub.Headers) ||
		before.EventHeader != sub.EventHeader
	if endpointChanged {
		if _, err := tx.ExecContext(ctx, queries.With("reset_health", postgres.Args{
			"business": sub.Business, "webhook": sub.ID, "now": w.db.Clock().Now(),
		})); err != nil {
			return fmt.Errorf("resetting the last error of webhook %d: %w", sub.ID, err)
		}
	}
	if endpointChanged || before.Units != sub.Units || before.Active != sub.Active {
		if err := outbox.Invalidate(ctx, tx, sub.Business, sub.ID); err != nil {
			return err
		}
	}
	if before.Units != sub.Units {
		if err := w.rescheduleRetries(ctx, tx, before, sub); err != nil {
			return err
		}
	}
	if before.Active || !sub.Active {
		return nil
	}
	return postgres.Exec(ctx, tx, "releasing held deliveries",
		`UPDATE delivery_queue SET available_at = greatest(due_at, ?)
		WHERE business_id = ? AND endpoint = ? AND available_at = 'infinity' AND NOT blocked`, w.db.Clock().Now(),
		sub.Business, sub.ID)
}

// rescheduleRetries reschedules deliveries that wait for a retry: the wait since the last attempt follows
// the new units. Held or blocked deliveries are already due.
func (w Store) rescheduleRetries(ctx context.Context, tx bun.Conn, before, sub webhook.Subscription) error {
	differences := sub.Units.Schedule().Waits()
	for n, wait := range before.Units.Schedule().Waits() {
		differences[n] = (differences[n] - wait) / time.Second
	}
	_, err := tx.ExecContext(ctx, queries.With("reschedule_retries", postgres.Args{
		"business": sub.Business, "webhook": sub.ID, "now": w.db.Clock().Now(),
		"differences": postgres.Array(differences),
	}))
	if err != nil {
		return fmt.Errorf("rescheduling the retries of webhook %d: %w", sub.ID, err)
	}
	return nil
}

// checkActiveLimit returns Conflict if a webhook is enabled and its business already has the
// maximum of active webhooks for the event type.
func checkActiveLimit(ctx context.Context, tx bun.Conn, before, sub webhook.Subscription) error {
	if before.Active || !sub.Active {
		return nil
	}
	var others int
	if err := tx.QueryRowContext(ctx,
		`SELECT count(*) FROM webhooks WHERE business_id = ? AND event_type = ? AND active`, sub.Business,
		sub.EventType).Scan(&others); err != nil {
		return fmt.Errorf("counting subscriptions: %w", err)
	}
	if others >= webhook.MaxActive {
		return core.Errorf(core.Conflict,
			"the business has %d active webhooks of the event_type %s, the maximum: disable one first",
			others, sub.EventType)
	}
	return nil
}

// lock reads a subscription that the transaction changes.
func (w Store) lock(ctx context.Context, tx bun.Conn, business core.BusinessID,
	id int64) (webhook.Subscription, error) {
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('webhook/' || event_type, ?0))
		FROM webhooks WHERE business_id = ?0 AND id = ?1`, business, id); err != nil {
		return webhook.Subscription{}, fmt.Errorf("locking the subscription: %w", err)
	}
	row, err := w.read(ctx, tx, business, id, "FOR UPDATE")
	if err != nil {
		return webhook.Subscription{}, err
	}
	return subscription(w.db, row)
}

func (w Store) read(ctx context.Context, in bun.IDB, business core.BusinessID, id int64,
	lock string) (webhookRow, error) {
	var row webhookRow
	err := in.NewRaw(`SELECT `+webhookColumns+` FROM webhooks WHERE business_id = ? AND id = ? `+lock, business,
		id).Scan(ctx, &row)
	return row, postgres.NotFound(err, "there is no webhook with this id")
}

// Get returns a subscription.
func (w Store) Get(ctx context.Context, business core.BusinessID, id int64) (webhook.Subscription, error) {
	row, err := w.read(ctx, w.db.Tenant(business), business, id, "")
	if err != nil {
		return webhook.Subscription{}, err
	}
	return subscription(w.db, row)
}

// List returns a page of subscriptions, oldest first, and their total number.
func (w Store) List(ctx context.Context, business core.BusinessID, limit,
	offset int) ([]webhook.Subscription, int, error) {
	var total int
	if err := w.db.Tenant(business).QueryRowContext(ctx, `SELECT count(*) FROM webhooks WHERE business_id = ?`,
		business).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("counting subscriptions: %w", err)
	}
	var rows []webhookRow
	if err := w.db.Tenant(business).NewRaw(`SELECT `+webhookColumns+
		` FROM webhooks WHERE business_id = ? ORDER BY id LIMIT ? OFFSET ?`,
		business, limit, offset).Scan(ctx, &rows); err != nil {
		return nil, 0, fmt.Errorf("reading subscriptions: %w", err)
	}
	list := make([]webhook.Subscription, len(rows))
	for i, row := range rows {
		var err error
		if list[i], err = subscription(w.db, row); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}

// Servers returns at most limit servers (scheme, host and port) of all active webhooks, sorted.
func (w Store) Servers(ctx context.Context, limit int) (servers []string, err error) {
	err = w.db.Bun().NewRaw(`SELECT DISTINCT server FROM webhooks WHERE active ORDER BY server LIMIT ?`,
		limit).Scan(ctx, &servers)
	if err != nil {
		return nil, fmt.Errorf("reading the servers of webhooks: %w", err)
	}
	return servers, nil
}

// DeleteCircuit deletes the circuit of an endpoint, because its subscription has changed.
func DeleteCircuit(ctx context.Context, tx bun.Conn, business core.BusinessID, endpoint int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM endpoint_circuits WHERE business_id = ? AND endpoint = ?`, business,
		endpoint)
	if err != nil {
		return fmt.Errorf("deleting the health of webhook %d: %w", endpoint, err)
	}
	return nil
}
