package postgres

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Sealer encrypts secrets at rest: AES-256-GCM, each value bound to the place
// where it is kept, so that one cannot be put in the place of another.
type Sealer struct{ aead cipher.AEAD }

// sealVersion begins every sealed value, so that keys and schemes can change.
const sealVersion = 1

// NewSealer takes a key of 32 bytes, written in hexadecimal or base64.
func NewSealer(key string) (*Sealer, error) {
	key = strings.TrimSpace(key)
	raw, err := hex.DecodeString(key)
	if err != nil {
		raw, err = base64.StdEncoding.DecodeString(key)
	}
	if err != nil || len(raw) != 32 {
		return nil, errors.New("the secret key must be 32 bytes in hexadecimal or base64, as `openssl rand -hex 32` makes one")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

func (s *Sealer) seal(place string, plain []byte) []byte {
	out := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	out[0] = sealVersion
	if _, err := rand.Read(out[1:]); err != nil {
		panic(fmt.Sprintf("postgres: no random bytes: %v", err)) // crypto/rand never fails on a supported system
	}
	return s.aead.Seal(out, out[1:], plain, []byte(place))
}

var errSeal = errors.New("a stored secret cannot be opened: it was sealed with another key")

func (s *Sealer) open(place string, sealed []byte) ([]byte, error) {
	n := 1 + s.aead.NonceSize()
	if len(sealed) < n || sealed[0] != sealVersion {
		return nil, errSeal
	}
	plain, err := s.aead.Open(nil, sealed[1:n], sealed[n:], []byte(place))
	if err != nil {
		return nil, errSeal
	}
	return plain, nil
}

// CheckSeal makes sure that this hub's key is the one that seals this database;
// the first hub to come fixes it.
func (db *DB) CheckSeal(ctx context.Context) error {
	const place, word = "seal_check", "servery"
	if _, err := db.bun.ExecContext(ctx, "INSERT INTO seal_check (sealed) VALUES (?) ON CONFLICT DO NOTHING",
		db.seal.seal(place, []byte(word))); err != nil {
		return fmt.Errorf("checking the secret key: %w", err)
	}
	var sealed []byte
	err := db.bun.QueryRowContext(ctx, "SELECT sealed FROM seal_check").Scan(&sealed)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("checking the secret key: %w", err)
	}
	if _, err := db.seal.open(place, sealed); err != nil {
		return errors.New("SERVERY_SECRET_KEY is not the key that seals the secrets of this database")
	}
	return nil
}
