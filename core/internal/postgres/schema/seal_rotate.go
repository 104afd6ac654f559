package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
)

// sealedColumn is a column of sealed values. business and key are SQL expressions that identify
// its rows.
type sealedColumn struct {
	table, column, business, key, keyType string
	associatedData                        func(business core.BusinessID, key string) string
}

// sealedColumns are all sealed columns except that of seal_check.
var sealedColumns = []sealedColumn{
	{"businesses", "callback_secret", "id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return outbox.CallbackAssociatedData(b) }},
	{"businesses", "previous_callback_secret", "id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return outbox.CallbackAssociatedData(b) }},
	{"businesses", "previous_callback_secret_2", "id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return outbox.CallbackAssociatedData(b) }},
	{"businesses", "customer_key", "id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return customer.KeyAssociatedData(b) }},
	{"webhooks", "headers", "business_id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return outbox.WebhookAssociatedData(b, "headers") }},
	{"webhooks", "secret", "business_id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return outbox.WebhookAssociatedData(b, "secret") }},
	{"webhooks", "previous_secret", "business_id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return outbox.WebhookAssociatedData(b, "secret") }},
	{"webhooks", "previous_secret_2", "business_id", "id", "bigint",
		func(b core.BusinessID, _ string) string { return outbox.WebhookAssociatedData(b, "secret") }},
	{"platforms", "secrets", "business_id", "name", "text", platforms.SecretsAssociatedData},
	{"plugin_shared", "secrets", "0::bigint", "plugin_id", "text",
		func(_ core.BusinessID, key string) string { return platforms.SharedAssociatedData(key) }},
	{"platform_tokens", "sealed", "business_id", "id", "bigint", platforms.TokensAssociatedData},
	{"call_queue", "steps", "business_id", "ordering_key", "text", calls.StepsAssociatedData},
	{"publications", "steps", "business_id", "(store_id || '/' || platform)", "text", publications.StepsAssociatedData},
}

// SealedBy counts the values of a column by the key that sealed them.
type SealedBy struct {
	Column     string         `json:"column"`
	Keys       map[string]int `json:"keys"`       // by key id
	Unnamed    map[string]int `json:"unnamed"`    // version 1 values, by the id of the key that opens them
	Unreadable int            `json:"unreadable"` // values that no key opens
}

// Rotation is the result of a key rotation.
type Rotation struct {
	Key        string   `json:"key"`        // id of the key that seals from now on
	Resealed   int      `json:"resealed"`   // values
	Unreadable []string `json:"unreadable"` // locations of values that no key opens; they stay unchanged
}

// sealedValue is a sealed value and its row.
type sealedValue struct {
	Business core.BusinessID
	Key      string
	Sealed   []byte
}

// sealBatch is the number of values that one transaction reseals.
const sealBatch = 200

// CountSealed counts the sealed values by key. It changes nothing.
func CountSealed(ctx context.Context, db *postgres.DB) ([]SealedBy, error) {
	list := make([]SealedBy, 0, len(sealedColumns))
	for _, column := range sealedColumns {
		counted := SealedBy{column.table + "." + column.column, map[string]int{}, map[string]int{}, 0}
		err := column.each(ctx, db.Bun(), "", nil, func(values []sealedValue) error {
			for _, v := range values {
				switch _, key, err := db.Sealer().OpenWithKey(column.associatedData(v.Business, v.Key), v.Sealed); {
				case err != nil:
					counted.Unreadable++
				case v.Sealed[0] == seal.V1:
					counted.Unnamed[key.ID()]++
				default:
					counted.Keys[key.ID()]++
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		list = append(list, counted)
	}
	return list, nil
}

// SealKey returns the id of the key that this hub seals with.
func SealKey(db *postgres.DB) string { return db.Sealer().Keys[0].ID() }

// SealState returns the id of the key of this database, "" if nothing has been sealed.
func SealState(ctx context.Context, db *postgres.DB) (string, error) {
	var checks [][]byte
	if err := db.Bun().NewRaw(`SELECT sealed FROM seal_check`).Scan(ctx, &checks); err != nil || len(checks) == 0 {
		return "", err
	}
	_, key, err := db.Sealer().OpenWithKey(postgres.SealCheckAssociatedData, checks[0])
	if err != nil {
		return "", postgres.ErrOtherKey
	}
	return key.ID(), nil
}

// RotateSeal reseals all values with the first key of the sealer, in batches, while hubs run.
// Every hub must already have that key. After an interruption, another call continues.
//
// The database switches to the key last, when no value needs another. Until then a hub with
// only the new key cannot start.
func RotateSeal(ctx context.Context, db *postgres.DB, actor string) (Rotation, error) {
	done := Rotation{Key: SealKey(db)}
	if _, err := SealState(ctx, db); err != nil {
		return done, err
	}
	for switched := false; !switched; {
		done.Unreadable = []string{}
		for _, column := range sealedColumns {
			err := eachWithOtherKey(ctx, db, db.Bun(), column, func(values []sealedValue) error {
				return db.InTx(ctx, func(tx bun.Conn) error { return done.reseal(ctx, db, tx, column, values) })
			})
			if err != nil {
				return done, err
			}
		}
		if err := db.InTx(ctx, func(tx bun.Conn) (err error) {
			switched, err = switchKey(ctx, db, tx, actor)
			return err
		}); err != nil {
			return done, err
		}
	}
	return done, nil
}

// eachWithOtherKey visits the values of a column that are not sealed with the first key.
func eachWithOtherKey(ctx context.Context, db *postgres.DB, in bun.IDB, column sealedColumn,
	visit func([]sealedValue) error) error {
	return column.each(ctx, in, "substring("+column.column+" FOR 5) <> ?", []any{db.Sealer().Keys[0].Prefix}, visit)
}

// switchKey switches the database to the first key, unless values of an earlier key were stored
// meanwhile. The lock serializes it with transactions that store sealed values.
func switchKey(ctx context.Context, db *postgres.DB, tx bun.Conn, actor string) (switched bool, err error) {
	var sealed []byte
	if err := tx.QueryRowContext(ctx, `SELECT sealed FROM seal_check FOR UPDATE`).Scan(&sealed); err != nil {
		return false, fmt.Errorf("reading the current encryption key: %w", err)
	}
	for _, column := range sealedColumns {
		remaining := false
		err := eachWithOtherKey(ctx, db, tx, column, func(values []sealedValue) error {
			for _, v := range values {
				_, err := db.Sealer().Open(column.associatedData(v.Business, v.Key), v.Sealed)
				remaining = remaining || err == nil
			}
			return nil
		})
		if remaining || err != nil {
			return false, err
		}
	}
	_, before, err := db.Sealer().OpenWithKey(postgres.SealCheckAssociatedData, sealed)
	if err != nil {
		return false, postgres.ErrOtherKey
	}
	key := db.Sealer().Keys[0]
	if before.ID() == key.ID() && sealed[0] == seal.V2 {
		return true, nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE seal_check SET sealed = ?`,
		key.Seal(postgres.SealCheckAssociatedData, []byte(postgres.SealCheckText))); err != nil {
		return false, fmt.Errorf("changing the encryption key: %w", err)
	}
	return true, audit.Record(ctx, db, tx, access.Change{
		Actor: actor, Action: "secrets.rotate", Object: "key/" + key.ID(),
		Before: map[string]any{"key": before.ID()}, After: map[string]any{"key": key.ID()},
	})
}

// reseal reseals the current values of a batch of rows.
func (r *Rotation) reseal(ctx context.Context, db *postgres.DB, tx bun.Conn, column sealedColumn,
	values []sealedValue) error {
	for _, v := range values {
		where := ` WHERE ` + column.business + ` = ? AND ` + column.key + ` = ?::` + column.keyType
		var now [][]byte
		if err := tx.NewRaw(`SELECT `+column.column+` FROM `+column.table+where+` AND `+column.column+
			` IS NOT NULL FOR UPDATE`, v.Business, v.Key).Scan(ctx, &now); err != nil {
			return fmt.Errorf("reading a sealed value: %w", err)
		}
		if len(now) == 0 {
			continue
		}
		associatedData := column.associatedData(v.Business, v.Key)
		plain, _, err := db.Sealer().OpenWithKey(associatedData, now[0])
		if errors.Is(err, seal.ErrSealed) {
			r.Unreadable = append(r.Unreadable, associatedData)
			continue
		}
		if _, err := tx.ExecContext(ctx, `UPDATE `+column.table+` SET `+column.column+` = ?`+where,
			db.Sealer().Keys[0].Seal(associatedData, plain), v.Business, v.Key); err != nil {
			return fmt.Errorf("storing a sealed value: %w", err)
		}
		r.Resealed++
	}
	return nil
}

// each visits the values of a column that match a condition, in batches.
func (c sealedColumn) each(ctx context.Context, in bun.IDB, condition string, args []any,
	visit func([]sealedValue) error) error {
	if condition != "" {
		condition = " AND " + condition
	}
	at := `(` + c.business + `, ` + c.key + `)`
	for last := (sealedValue{}); ; {
		after, bounds := "", []any{}
		if last.Key != "" {
			after, bounds = ` AND `+at+` > (?, ?::`+c.keyType+`)`, []any{last.Business, last.Key}
		}
		var values []sealedValue
		err := in.NewRaw(`SELECT `+c.business+` AS business, `+c.key+`::text AS key, `+c.column+` AS sealed FROM `+
			c.table+
			` WHERE `+c.column+` IS NOT NULL`+after+condition+` ORDER BY `+c.business+`, `+c.key+` LIMIT ?`,
			append(append(bounds, args...), sealBatch)...).Scan(ctx, &values)
		if err != nil {
			return fmt.Errorf("reading sealed values of %s: %w", c.table, err)
		}
		if len(values) == 0 {
			return nil
		}
		if err := visit(values); err != nil {
			return err
		}
		last = values[len(values)-1]
	}
}
