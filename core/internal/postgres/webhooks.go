package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/webhook"
)

// Webhooks keeps subscriptions (webhook.Records).
type Webhooks struct{ *DB }

const webhookColumns = `business_id, id, event_type, url, active, retrial_interval_units, headers, secret, disabled_reason, created_at, updated_at`

type webhookRow struct {
	BusinessID     core.BusinessID `bun:"business_id"`
	ID             int64           `bun:"id"`
	EventType      core.EventType  `bun:"event_type"`
	URL            string          `bun:"url"`
	Active         bool            `bun:"active"`
	Units          webhook.Units   `bun:"retrial_interval_units"`
	Headers        []byte          `bun:"headers"`
	Secret         []byte          `bun:"secret"`
	DisabledReason string          `bun:"disabled_reason"`
	CreatedAt      time.Time       `bun:"created_at"`
	UpdatedAt      time.Time       `bun:"updated_at"`
}

// webhookPlace is what a sealed column of a webhook is bound to: its business,
// because the id of a new one is not known before it is stored.
func webhookPlace(business core.BusinessID, column string) string {
	return fmt.Sprintf("webhooks/%d/%s", business, column)
}

func (db *DB) openHeaders(business core.BusinessID, sealed []byte) (map[string]string, error) {
	plain, err := db.seal.open(webhookPlace(business, "headers"), sealed)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	return headers, json.Unmarshal(plain, &headers)
}

func (db *DB) sealHeaders(ctx context.Context, tx bun.IDB, business core.BusinessID, headers map[string]string) ([]byte, error) {
	plain, err := json.Marshal(headers)
	if err != nil {
		panic(fmt.Sprintf("postgres: a map of strings is always JSON: %v", err))
	}
	return db.sealIn(ctx, tx, webhookPlace(business, "headers"), plain)
}

func (db *DB) subscription(row webhookRow) (webhook.Subscription, error) {
	headers, err := db.openHeaders(row.BusinessID, row.Headers)
	if err != nil {
		return webhook.Subscription{}, fmt.Errorf("headers of webhook %d: %w", row.ID, err)
	}
	secret, err := db.seal.open(webhookPlace(row.BusinessID, "secret"), row.Secret)
	if err != nil {
		return webhook.Subscription{}, fmt.Errorf("secret of webhook %d: %w", row.ID, err)
	}
	return webhook.Subscription{
		ID: row.ID, Business: row.BusinessID, EventType: row.EventType, URL: row.URL, Active: row.Active, Units: row.Units,
		Headers: headers, Secret: string(secret), DisabledReason: row.DisabledReason, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}, nil
}

// Upsert finds the subscription of the event type and address and stores what
// decide makes of it.
func (w Webhooks) Upsert(ctx context.Context, business core.BusinessID, actor string, event core.EventType, url string,
	decide func(*webhook.Subscription) (webhook.Subscription, error),
) (sub webhook.Subscription, err error) {
	err = w.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(?, ?))`,
			"webhook/"+string(event), int64(business)); err != nil { // two creations at once: one of them finds the other's
			return fmt.Errorf("locking the subscription: %w", err)
		}
		var rows []webhookRow
		if err := tx.NewRaw(`SELECT `+webhookColumns+` FROM webhooks WHERE business_id = ? AND event_type = ? AND url = ? FOR UPDATE`,
			business, event, url).Scan(ctx, &rows); err != nil {
			return fmt.Errorf("reading the subscription: %w", err)
		}
		if len(rows) > 0 {
			existing, err := w.subscription(rows[0])
			if err != nil {
				return err
			}
			before := existing
			if sub, err = decide(&existing); err != nil {
				return err
			}
			return w.change(ctx, tx, actor, before, sub)
		}
		if sub, err = decide(nil); err != nil {
			return err
		}
		if err := mayBeActive(ctx, tx, webhook.Subscription{}, sub); err != nil {
			return err
		}
		headers, err := w.sealHeaders(ctx, tx, business, sub.Headers)
		if err != nil {
			return err
		}
		secret, err := w.sealIn(ctx, tx, webhookPlace(business, "secret"), []byte(sub.Secret))
		if err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO webhooks (business_id, event_type, url, active, retrial_interval_units, headers, secret, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, sub.Business, sub.EventType, sub.URL, sub.Active, sub.Units,
			headers, secret, sub.CreatedAt, sub.UpdatedAt).Scan(&sub.ID)
		if err != nil {
			return fmt.Errorf("storing the subscription: %w", err)
		}
		return w.record(ctx, tx, access.Change{Business: business, Actor: actor, Action: "webhook.create", Object: fmt.Sprintf("webhook/%d", sub.ID), After: said(sub)})
	})
	return sub, err
}

// Change stores what decide makes of a subscription.
func (w Webhooks) Change(ctx context.Context, business core.BusinessID, actor string, id int64, decide func(*webhook.Subscription) error) error {
	return w.inTx(ctx, func(tx bun.Conn) error {
		row, err := w.row(ctx, tx, business, id, "FOR UPDATE")
		if err != nil {
			return err
		}
		sub, err := w.subscription(row)
		if err != nil {
			return err
		}
		before := sub
		if err := decide(&sub); err != nil {
			return err
		}
		return w.change(ctx, tx, actor, before, sub)
	})
}

// change stores a changed subscription, with a line of the audit trail where it differs:
// many a POS subscribes to the same again and again.
func (w Webhooks) change(ctx context.Context, tx bun.Conn, actor string, before, after webhook.Subscription) error {
	if err := w.write(ctx, tx, before, after); err != nil {
		return err
	}
	was, is := said(before), said(after)
	if !maps.Equal(before.Headers, after.Headers) {
		is["header_values"] = "changed"
	}
	if reflect.DeepEqual(was, is) {
		return nil
	}
	return w.record(ctx, tx, access.Change{Business: after.Business, Actor: actor, Action: "webhook.update", Object: fmt.Sprintf("webhook/%d", after.ID), Before: was, After: is})
}

// said is a subscription in the audit trail: of its headers the names, because their
// values are secret.
func said(sub webhook.Subscription) map[string]any {
	return map[string]any{"event_type": sub.EventType, "url": sub.URL, "active": sub.Active, "retrial_interval_units": sub.Units,
		"headers": slices.Sorted(maps.Keys(sub.Headers))}
}

// replaceSecret sets a column to another secret, sealed, ?0. The one before signs
// until ?1, and the earliest that signs at ?2 goes on until its time is over.
func replaceSecret(column string) string {
	return strings.ReplaceAll(`older_SECRET = CASE WHEN older_SECRET_until > ?2 THEN older_SECRET ELSE old_SECRET END,
		older_SECRET_until = CASE WHEN older_SECRET_until > ?2 THEN older_SECRET_until ELSE old_SECRET_until END,
		old_SECRET = SECRET, old_SECRET_until = ?1, SECRET = ?0`, "SECRET", column)
}

// Rotate stores the secrets that decide gives a subscription, and tells it in
// the audit trail, where the secrets themselves are not.
func (w Webhooks) Rotate(ctx context.Context, business core.BusinessID, id int64, actor, why string,
	decide func(*webhook.Subscription),
) (sub webhook.Subscription, err error) {
	err = w.inTx(ctx, func(tx bun.Conn) error {
		row, err := w.row(ctx, tx, business, id, "FOR UPDATE")
		if err != nil {
			return err
		}
		if sub, err = w.subscription(row); err != nil {
			return err
		}
		decide(&sub)
		sealed, err := w.sealIn(ctx, tx, webhookPlace(business, "secret"), []byte(sub.Secret))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE webhooks SET `+replaceSecret("secret")+`, updated_at = ?2, version = version + 1
			WHERE business_id = ?3 AND id = ?4`, sealed, sub.OldSecretUntil, sub.UpdatedAt, business, id); err != nil {
			return fmt.Errorf("storing the secrets of webhook %d: %w", id, err)
		}
		if err := recall(ctx, tx, business, id); err != nil {
			return err
		}
		return w.record(ctx, tx, access.Change{Business: business, Actor: actor, Action: "webhook.rotate", Object: fmt.Sprintf("webhook/%d", id),
			Why: why, After: map[string]any{"earlier_secret_signs_until": sub.OldSecretUntil.UTC().Format(time.RFC3339)}})
	})
	return sub, err
}

// write stores a changed subscription, and recalls what is on its way as it was.
// With other units it makes what waits due by those, switched on again what was held;
// what its attempts said is forgotten where they say nothing of what it is now.
func (w Webhooks) write(ctx context.Context, tx bun.Conn, before, sub webhook.Subscription) error {
	if err := mayBeActive(ctx, tx, before, sub); err != nil {
		return err
	}
	headers, err := w.sealHeaders(ctx, tx, sub.Business, sub.Headers)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE webhooks SET url = ?, active = ?, retrial_interval_units = ?, headers = ?,
		disabled_reason = ?, updated_at = ?, version = version + 1 WHERE business_id = ? AND id = ?`,
		sub.URL, sub.Active, sub.Units, headers, sub.DisabledReason, sub.UpdatedAt, sub.Business, sub.ID)
	if isCode(err, "23505") {
		return core.Errorf(core.Conflict, "another webhook has this event_type and url")
	}
	if err != nil {
		return fmt.Errorf("storing the subscription: %w", err)
	}
	if err := forgetHealth(ctx, tx, sub.Business, sub.ID); err != nil {
		return err
	}
	moved := before.URL != sub.URL || !maps.Equal(before.Headers, sub.Headers)
	if moved {
		if _, err := tx.ExecContext(ctx, `INSERT INTO endpoint_health (business_id, webhook_id, anew_at) VALUES (?, ?, ?)
			ON CONFLICT (business_id, webhook_id) DO UPDATE SET anew_at = excluded.anew_at, accepted_at = NULL, refused_at = NULL, failing_since = NULL,
				status = 0, error_class = '', error = '', delivery_id = NULL`, sub.Business, sub.ID, w.clock.Now()); err != nil {
			return fmt.Errorf("forgetting what the attempts of webhook %d said: %w", sub.ID, err)
		}
	}
	if moved || before.Units != sub.Units || before.Active != sub.Active {
		if err := recall(ctx, tx, sub.Business, sub.ID); err != nil {
			return err
		}
	}
	if before.Units != sub.Units {
		if err := w.retime(ctx, tx, before, sub); err != nil {
			return err
		}
	}
	if before.Active || !sub.Active {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE delivery_queue SET available_at = greatest(due_at, ?)
		WHERE business_id = ? AND webhook_id = ? AND available_at = 'infinity' AND NOT waits`, w.clock.Now(), sub.Business, sub.ID); err != nil {
		return fmt.Errorf("releasing held deliveries: %w", err)
	}
	return nil
}

// retime has what waits for another attempt wait since its last one as long as the
// units say now. What is held or stands in a line is due already.
func (w Webhooks) retime(ctx context.Context, tx bun.Conn, before, sub webhook.Subscription) error {
	was, _ := webhook.RetryAfter(1, before.Units)
	is, _ := webhook.RetryAfter(1, sub.Units)
	_, err := tx.ExecContext(ctx, `UPDATE delivery_queue q SET due_at = r.due_at, available_at = r.due_at
		FROM (SELECT business_id, id, greatest(due_at + ?0 * interval '1 second' * power(2, attempts - base - 1), ?1) AS due_at FROM delivery_queue
			WHERE business_id = ?2 AND webhook_id = ?3 AND owner IS NULL AND attempts > base AND due_at > ?1 ORDER BY id FOR UPDATE) r
		WHERE q.business_id = r.business_id AND q.id = r.id`, int64((is-was)/time.Second), w.clock.Now(), sub.Business, sub.ID)
	if err != nil {
		return fmt.Errorf("setting the retries of webhook %d by its units: %w", sub.ID, err)
	}
	return nil
}

// mayBeActive is a Conflict where a webhook is switched on and its business has as
// many of the event type as there may be.
func mayBeActive(ctx context.Context, tx bun.Conn, before, sub webhook.Subscription) error {
	if before.Active || !sub.Active {
		return nil
	}
	var others int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM webhooks WHERE business_id = ? AND event_type = ? AND active`, sub.Business, sub.EventType).Scan(&others); err != nil {
		return fmt.Errorf("counting subscriptions: %w", err)
	}
	if others >= webhook.MaxActive {
		return core.Errorf(core.Conflict, "the business has %d active webhooks of the event_type %s, and there may be no more; switch one off first", others, sub.EventType)
	}
	return nil
}

func (w Webhooks) row(ctx context.Context, in bun.IDB, business core.BusinessID, id int64, lock string) (webhookRow, error) {
	var row webhookRow
	err := in.NewRaw(`SELECT `+webhookColumns+` FROM webhooks WHERE business_id = ? AND id = ? `+lock, business, id).Scan(ctx, &row)
	return row, notFound(err, "there is no webhook with this id")
}

// Get reads a subscription.
func (w Webhooks) Get(ctx context.Context, business core.BusinessID, id int64) (webhook.Subscription, error) {
	row, err := w.row(ctx, w.of(business), business, id, "")
	if err != nil {
		return webhook.Subscription{}, err
	}
	return w.subscription(row)
}

// List reads a page of subscriptions, oldest first, and how many there are.
func (w Webhooks) List(ctx context.Context, business core.BusinessID, limit, offset int) ([]webhook.Subscription, int, error) {
	var total int
	if err := w.of(business).QueryRowContext(ctx, `SELECT count(*) FROM webhooks WHERE business_id = ?`, business).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("counting subscriptions: %w", err)
	}
	var rows []webhookRow
	if err := w.of(business).NewRaw(`SELECT `+webhookColumns+` FROM webhooks WHERE business_id = ? ORDER BY id LIMIT ? OFFSET ?`,
		business, limit, offset).Scan(ctx, &rows); err != nil {
		return nil, 0, fmt.Errorf("reading subscriptions: %w", err)
	}
	list := make([]webhook.Subscription, len(rows))
	for i, row := range rows {
		var err error
		if list[i], err = w.subscription(row); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}

// Servers lists the servers (scheme, host and port) of all active webhooks of
// all businesses, in order, at most limit.
func (w Webhooks) Servers(ctx context.Context, limit int) (servers []string, err error) {
	err = w.bun.NewRaw(`SELECT DISTINCT server FROM webhooks WHERE active ORDER BY server LIMIT ?`, limit).Scan(ctx, &servers)
	if err != nil {
		return nil, fmt.Errorf("reading the servers of webhooks: %w", err)
	}
	return servers, nil
}
