package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres/seal"
)

// The check value shows which key and version a database uses.
const (
	SealCheckAssociatedData = "seal_check"
	SealCheckText           = "servery"
)

// ErrOtherKey is returned if none of the keys is that of the database.
var ErrOtherKey = errors.New("neither SERVERY_SECRET_KEY nor SERVERY_SECRET_KEY_PREVIOUS has the key of this database")

// SealIn seals a value in the transaction that stores it, with the database's key and version.
// The shared lock makes key rotation and such transactions wait for each other.
func (db *DB) SealIn(ctx context.Context, tx bun.IDB, associatedData string, plain []byte) ([]byte, error) {
	var checks [][]byte
	if err := tx.NewRaw(`SELECT sealed FROM seal_check FOR SHARE`).Scan(ctx, &checks); err != nil {
		return nil, fmt.Errorf("reading the current encryption key: %w", err)
	}
	if len(checks) == 0 {
		return db.sealer.Keys[0].Seal(associatedData, plain), nil
	}
	_, key, err := db.sealer.OpenWithKey(SealCheckAssociatedData, checks[0])
	if err != nil {
		return nil, ErrOtherKey
	}
	if checks[0][0] == seal.V1 {
		return key.SealV1(associatedData, plain), nil
	}
	return key.Seal(associatedData, plain), nil
}

// CheckSeal returns ErrOtherKey if this hub lacks the key of the database. The first hub to
// start stores the check value.
func (db *DB) CheckSeal(ctx context.Context) error {
	if _, err := db.bun.ExecContext(ctx, "INSERT INTO seal_check (sealed) VALUES (?) ON CONFLICT DO NOTHING",
		db.sealer.Keys[0].Seal(SealCheckAssociatedData, []byte(SealCheckText))); err != nil {
		return fmt.Errorf("checking the secret key: %w", err)
	}
	var sealed []byte
	if err := db.bun.QueryRowContext(ctx, "SELECT sealed FROM seal_check").Scan(&sealed); err != nil {
		return fmt.Errorf("checking the secret key: %w", err)
	}
	if _, err := db.sealer.Open(SealCheckAssociatedData, sealed); err != nil {
		return ErrOtherKey
	}
	return nil
}
