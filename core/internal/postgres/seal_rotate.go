package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// sealedColumn is a column of sealed values: of a table whose rows have a
// business and a key, each an SQL expression.
type sealedColumn struct {
	table, column, business, key, keyType string
	place                                 func(business core.BusinessID, key string) string
}

// sealedColumns are all columns of sealed values but seal_check's.
var sealedColumns = []sealedColumn{
	{"businesses", "callback_secret", "id", "id", "bigint", func(b core.BusinessID, _ string) string { return callbackSecretPlace(b) }},
	{"businesses", "old_callback_secret", "id", "id", "bigint", func(b core.BusinessID, _ string) string { return callbackSecretPlace(b) }},
	{"businesses", "older_callback_secret", "id", "id", "bigint", func(b core.BusinessID, _ string) string { return callbackSecretPlace(b) }},
	{"webhooks", "headers", "business_id", "id", "bigint", func(b core.BusinessID, _ string) string { return webhookPlace(b, "headers") }},
	{"webhooks", "secret", "business_id", "id", "bigint", func(b core.BusinessID, _ string) string { return webhookPlace(b, "secret") }},
	{"webhooks", "old_secret", "business_id", "id", "bigint", func(b core.BusinessID, _ string) string { return webhookPlace(b, "secret") }},
	{"webhooks", "older_secret", "business_id", "id", "bigint", func(b core.BusinessID, _ string) string { return webhookPlace(b, "secret") }},
	{"platforms", "secrets", "business_id", "name", "text", secretsPlace},
}

// SealedBy is how many values of a column each key has sealed.
type SealedBy struct {
	Column     string         `json:"column"`
	Keys       map[string]int `json:"keys"`       // by the key's id
	Unnamed    map[string]int `json:"unnamed"`    // of the form that does not name the key, by the id of the key that opens it
	Unreadable int            `json:"unreadable"` // that none of the keys opens
}

// Rotation is what became of a rotation.
type Rotation struct {
	Key        string   `json:"key"`        // id of the key that seals from now on
	Resealed   int      `json:"resealed"`   // values
	Unreadable []string `json:"unreadable"` // places of values that none of the keys opens; they stay as they are
}

// sealedValue is a value and where it is.
type sealedValue struct {
	Business core.BusinessID
	Key      string
	Sealed   []byte
}

// sealBatch is how many values are read, and sealed anew, in one transaction.
const sealBatch = 200

// Sealed counts which keys have sealed what; it changes nothing.
func (db *DB) Sealed(ctx context.Context) ([]SealedBy, error) {
	list := make([]SealedBy, 0, len(sealedColumns))
	for _, column := range sealedColumns {
		counted := SealedBy{column.table + "." + column.column, map[string]int{}, map[string]int{}, 0}
		err := column.each(ctx, db.bun, "", nil, func(values []sealedValue) error {
			for _, v := range values {
				switch _, key, err := db.seal.opened(column.place(v.Business, v.Key), v.Sealed); {
				case err != nil:
					counted.Unreadable++
				case v.Sealed[0] == sealUnnamed:
					counted.Unnamed[key.id()]++
				default:
					counted.Keys[key.id()]++
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

// SealKey is the id of the key that is to seal.
func (db *DB) SealKey() string { return db.seal.keys[0].id() }

// SealState is the id of the key that seals in this database, "" while nothing
// has been sealed.
func (db *DB) SealState(ctx context.Context) (string, error) {
	var checks [][]byte
	if err := db.bun.NewRaw(`SELECT sealed FROM seal_check`).Scan(ctx, &checks); err != nil || len(checks) == 0 {
		return "", err
	}
	_, key, err := db.seal.opened(sealPlace, checks[0])
	if err != nil {
		return "", errOtherKey
	}
	return key.id(), nil
}

// RotateSeal seals everything with the first key of the sealer that is sealed
// otherwise, a batch at a time, while hubs run; every hub must have that key by
// now. Broken off, it goes on where it was when it is called again. The database turns to
// the key last, when no value needs another: a hub that has that key alone cannot start before.
func (db *DB) RotateSeal(ctx context.Context, actor string) (Rotation, error) {
	done := Rotation{Key: db.SealKey()}
	if _, err := db.SealState(ctx); err != nil {
		return done, err
	}
	for turned := false; !turned; {
		done.Unreadable = []string{}
		for _, column := range sealedColumns {
			err := db.eachOther(ctx, db.bun, column, func(values []sealedValue) error {
				return db.inTx(ctx, func(tx bun.Conn) error { return db.reseal(ctx, tx, column, values, &done) })
			})
			if err != nil {
				return done, err
			}
		}
		if err := db.inTx(ctx, func(tx bun.Conn) (err error) {
			turned, err = db.turnKey(ctx, tx, actor)
			return err
		}); err != nil {
			return done, err
		}
	}
	return done, nil
}

// eachOther visits the values of a column that the first key has not sealed.
func (db *DB) eachOther(ctx context.Context, in bun.IDB, column sealedColumn, visit func([]sealedValue) error) error {
	return column.each(ctx, in, "substring("+column.column+" FOR 5) <> ?", []any{db.seal.keys[0].prefix}, visit)
}

// turnKey makes the first key the one that seals from now on, unless values have been
// stored meanwhile that an earlier one opens. Whoever stores one waits for it, and it for them.
func (db *DB) turnKey(ctx context.Context, tx bun.Conn, actor string) (turned bool, err error) {
	var sealed []byte
	if err := tx.QueryRowContext(ctx, `SELECT sealed FROM seal_check FOR UPDATE`).Scan(&sealed); err != nil {
		return false, fmt.Errorf("reading which key seals: %w", err)
	}
	for _, column := range sealedColumns {
		again := false
		err := db.eachOther(ctx, tx, column, func(values []sealedValue) error {
			for _, v := range values {
				_, err := db.seal.open(column.place(v.Business, v.Key), v.Sealed)
				again = again || err == nil
			}
			return nil
		})
		if again || err != nil {
			return false, err
		}
	}
	_, before, err := db.seal.opened(sealPlace, sealed)
	if err != nil {
		return false, errOtherKey
	}
	key := db.seal.keys[0]
	if before.id() == key.id() && sealed[0] == sealNamed {
		return true, nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE seal_check SET sealed = ?`, key.seal(sealPlace, []byte(sealWord))); err != nil {
		return false, fmt.Errorf("changing the key that seals: %w", err)
	}
	return true, db.record(ctx, tx, access.Change{
		Actor: actor, Action: "secrets.rotate", Object: "key/" + key.id(),
		Before: map[string]any{"key": before.id()}, After: map[string]any{"key": key.id()},
	})
}

// reseal seals a batch of values anew, as they are now.
func (db *DB) reseal(ctx context.Context, tx bun.Conn, column sealedColumn, values []sealedValue, done *Rotation) error {
	for _, v := range values {
		where := ` WHERE ` + column.business + ` = ? AND ` + column.key + ` = ?::` + column.keyType
		var now [][]byte
		if err := tx.NewRaw(`SELECT `+column.column+` FROM `+column.table+where+` FOR UPDATE`, v.Business, v.Key).Scan(ctx, &now); err != nil {
			return fmt.Errorf("reading a sealed value: %w", err)
		}
		if len(now) == 0 {
			continue
		}
		place := column.place(v.Business, v.Key)
		plain, _, err := db.seal.opened(place, now[0])
		if errors.Is(err, errSeal) {
			done.Unreadable = append(done.Unreadable, place)
			continue
		}
		if _, err := tx.ExecContext(ctx, `UPDATE `+column.table+` SET `+column.column+` = ?`+where,
			db.seal.keys[0].seal(place, plain), v.Business, v.Key); err != nil {
			return fmt.Errorf("storing a sealed value: %w", err)
		}
		done.Resealed++
	}
	return nil
}

// each visits the values of a column that meet a condition, a batch at a time.
func (c sealedColumn) each(ctx context.Context, in bun.IDB, condition string, args []any, visit func([]sealedValue) error) error {
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
		err := in.NewRaw(`SELECT `+c.business+` AS business, `+c.key+`::text AS key, `+c.column+` AS sealed FROM `+c.table+
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
