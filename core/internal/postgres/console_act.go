package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// SwitchWebhook pauses or resumes a webhook; Conflict when it is so already,
// because somebody else was quicker. Resumed, it gets what was held.
func (c Console) SwitchWebhook(ctx context.Context, business core.BusinessID, id int64, active bool, change access.Change) error {
	webhooks := Webhooks(c)
	err := c.inTx(ctx, func(tx bun.Conn) error {
		row, err := webhooks.row(ctx, tx, business, id, "FOR UPDATE")
		if err != nil {
			return err
		}
		if row.Active == active {
			return core.Errorf(core.Conflict, "the webhook has been switched already; this page shows how it is now")
		}
		sub, err := webhooks.subscription(row)
		if err != nil {
			return err
		}
		change.Object = fmt.Sprintf("webhook/%d", id)
		change.Before, change.After = map[string]any{"active": row.Active}, map[string]any{"active": active}
		before := sub
		sub.Active, sub.UpdatedAt = active, c.clock.Now()
		if active {
			sub.DisabledReason = ""
		}
		if err := webhooks.write(ctx, tx, before, sub); err != nil {
			return err
		}
		return c.record(ctx, tx, change)
	})
	if err == nil && active {
		c.look()
	}
	return err
}

// RetryDeliveries makes deliveries due now, in one transaction; one that is not
// there, or cannot be sent now, is an error for all.
func (c Console) RetryDeliveries(ctx context.Context, business core.BusinessID, ids []core.ID, change access.Change) error {
	deliveries := Deliveries(c)
	ids = slices.SortedFunc(slices.Values(ids), func(a, b core.ID) int { return bytes.Compare(a[:], b[:]) }) // two such calls lock in one order
	err := c.inTx(ctx, func(tx bun.Conn) error {
		for _, id := range ids {
			err := deliveries.hasten(ctx, tx, business, id)
			if errors.Is(err, sql.ErrNoRows) {
				err = deliveries.beginAnew(ctx, tx, business, id)
			}
			if errors.Is(err, sql.ErrNoRows) {
				return errNoDelivery
			}
			if err != nil {
				return err
			}
			change.Object = "delivery/" + id.String()
			if err := c.record(ctx, tx, change); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		deliveries.look()
	}
	return err
}

// ListKeys reads the API keys of a business, the newest first, those before an id.
func (c Console) ListKeys(ctx context.Context, business core.BusinessID, before int64, limit int) ([]console.Key, error) {
	return c.keys(ctx, c.of(business), `WHERE business_id = ?0 AND (?1 = 0 OR id < ?1) ORDER BY id DESC LIMIT ?2`, business, before, limit)
}

func (c Console) keys(ctx context.Context, in bun.IDB, which string, args ...any) ([]console.Key, error) {
	rows, err := in.QueryContext(ctx, `SELECT business_id, id, username, prefix, scope, coalesce(platform, ''), created_at, disabled_at, used_at FROM api_keys `+which, args...)
	if err != nil {
		return nil, fmt.Errorf("reading keys: %w", err)
	}
	defer rows.Close()
	list := []console.Key{}
	for rows.Next() {
		var key console.Key
		var disabled, used sql.NullTime
		if err := rows.Scan(&key.Business, &key.ID, &key.Username, &key.Prefix, &key.Scope, &key.Platform, &key.CreatedAt, &disabled, &used); err != nil {
			return nil, fmt.Errorf("reading keys: %w", err)
		}
		key.DisabledAt, key.UsedAt = disabled.Time, used.Time
		list = append(list, key)
	}
	return list, rows.Err()
}

// AddKey stores a key; NotFound where there is no such business, or it has no such platform.
func (c Console) AddKey(ctx context.Context, key access.Key, change access.Change) (access.Key, error) {
	err := c.inTx(ctx, func(tx bun.Conn) error {
		err := tx.QueryRowContext(ctx, `INSERT INTO api_keys (business_id, username, key_hash, prefix, scope, platform, created_at)
			VALUES (?, ?, ?, ?, ?, nullif(?, ''), ?) RETURNING id`, key.Business, key.Username, key.Hash, key.Prefix, key.Scope, key.Platform,
			key.CreatedAt).Scan(&key.ID)
		if isCode(err, "23503") {
			return core.Errorf(core.NotFound, "there is no business %d", key.Business)
		}
		if err != nil {
			return fmt.Errorf("storing the key: %w", err)
		}
		if key.Platform != "" {
			var known bool
			err := tx.QueryRowContext(ctx, `SELECT true FROM platforms WHERE business_id = ? AND name = ?`, key.Business, key.Platform).Scan(&known)
			if err != nil {
				return notFound(err, "there is no platform %q", key.Platform)
			}
		}
		change.Object = fmt.Sprintf("key/%d", key.ID)
		change.After = map[string]any{"username": key.Username, "prefix": key.Prefix, "scope": key.Scope}
		return c.record(ctx, tx, change)
	})
	return key, err
}

// RevokeKey makes a key useless; NotFound where the business has no such key,
// Conflict when it is revoked already.
func (c Console) RevokeKey(ctx context.Context, business core.BusinessID, id int64, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		var disabled sql.NullTime
		var username, prefix string
		err := tx.QueryRowContext(ctx, `SELECT disabled_at, username, prefix FROM api_keys WHERE business_id = ? AND id = ? FOR UPDATE`,
			business, id).Scan(&disabled, &username, &prefix)
		if err != nil {
			return notFound(err, "the business has no key %d", id)
		}
		if disabled.Valid {
			return core.Errorf(core.Conflict, "the key has been revoked already")
		}
		if _, err := tx.ExecContext(ctx, `UPDATE api_keys SET disabled_at = ? WHERE business_id = ? AND id = ?`, c.clock.Now(), business, id); err != nil {
			return fmt.Errorf("revoking the key: %w", err)
		}
		change.Object = fmt.Sprintf("key/%d", id)
		change.Before = map[string]any{"username": username, "prefix": prefix, "works": true}
		change.After = map[string]any{"username": username, "prefix": prefix, "works": false}
		return c.record(ctx, tx, change)
	})
}

// AuditEntry reads a line of the audit trail; NotFound where the business, or
// as business 0 the hub, has none of that id.
func (c Console) AuditEntry(ctx context.Context, business core.BusinessID, id core.ID) (console.Entry, error) {
	var e console.Entry
	err := c.of(business).QueryRowContext(ctx, `SELECT business_id, id, at, actor, action, object, detail FROM audit WHERE business_id = ? AND id = ?`, business, id).
		Scan(&e.Business, &e.ID, &e.At, &e.Actor, &e.Action, &e.Object, &e.Detail)
	return e, notFound(err, "there is no such entry")
}

// Audit reads lines of the audit trail of a business, the newest first;
// business 0 is that of the hub itself.
func (c Console) Audit(ctx context.Context, business core.BusinessID, f console.EntryFilter) ([]console.Entry, error) {
	var only conditions
	only.add(f.Actor != "", "actor = ?", f.Actor)
	only.add(f.Action != "", "action = ?", f.Action)
	only.add(f.Object != "", "object = ?", f.Object)
	only.add(f.Objects != nil, "object = ANY (?)", array(f.Objects))
	only.add(f.Before != core.ID{}, "id < ?", f.Before)
	return listOf(ctx, c.of(business), "reading the audit trail", func(e *console.Entry) []any {
		return []any{&e.Business, &e.ID, &e.At, &e.Actor, &e.Action, &e.Object, &e.Detail}
	}, `SELECT business_id, id, at, actor, action, object, detail FROM audit WHERE business_id = ?`+only.text+
		` ORDER BY id DESC LIMIT ?`, slices.Concat([]any{business}, only.args, []any{f.Limit})...)
}
