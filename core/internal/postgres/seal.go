package postgres

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
)

// Sealer encrypts secrets at rest with AES-256-GCM. Each value is bound to its location as
// associated data, so that values cannot be swapped. The sealer opens values of any of its keys.
type Sealer struct{ Keys []sealKey }

// sealKey is a key and the prefix of the values it seals: the version and the key id.
type sealKey struct {
	Prefix []byte
	aead   cipher.AEAD
}

// Every sealed value begins with its version. Version 1 does not name the key. Databases
// that started with version 1 keep it until their key is rotated.
const (
	SealV1    = 1
	SealV2    = 2
	keyIDSize = 4
)

// NewSealer returns a sealer that seals with key and also opens values of previous keys.
// Each key is 32 bytes in hexadecimal or base64.
func NewSealer(key string, previous ...string) (*Sealer, error) {
	s := &Sealer{}
	for _, text := range append([]string{key}, previous...) {
		one, err := newSealKey(text)
		if err != nil {
			return nil, err
		}
		s.Keys = append(s.Keys, one)
	}
	return s, nil
}

func newSealKey(text string) (sealKey, error) {
	text = strings.TrimSpace(text)
	raw, err := hex.DecodeString(text)
	if err != nil {
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil || len(raw) != 32 {
		return sealKey{},
			errors.New("the secret key must be 32 bytes in hexadecimal or base64, such as from openssl rand -hex 32")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return sealKey{}, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return sealKey{}, err
	}
	id := sha256.Sum256(append([]byte("servery key id:"), raw...))
	return sealKey{append([]byte{SealV2}, id[:keyIDSize]...), aead}, nil
}

// ID returns an identifier that reveals nothing of the key.
func (k sealKey) ID() string { return hex.EncodeToString(k.Prefix[1:]) }

// Seal seals a value in the current format.
func (k sealKey) Seal(place string, plain []byte) []byte { return k.sealAs(k.Prefix, place, plain) }

func (k sealKey) sealAs(prefix []byte, place string, plain []byte) []byte {
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails (crypto/rand)
	return k.aead.Seal(append(bytes.Clone(prefix), nonce...), nonce, plain, []byte(place))
}

// ErrSeal is returned for a value that none of the keys opens.
var ErrSeal = errors.New("a stored secret cannot be decrypted: it was encrypted with another key or is damaged")

// Open opens a value that was sealed for a location.
func (s *Sealer) Open(place string, sealed []byte) ([]byte, error) {
	plain, _, err := s.OpenWithKey(place, sealed)
	return plain, err
}

// OpenWithKey opens a value and also returns the key that opened it.
func (s *Sealer) OpenWithKey(place string, sealed []byte) ([]byte, sealKey, error) {
	for _, key := range s.Keys {
		rest, named := bytes.CutPrefix(sealed, key.Prefix)
		if !named {
			var unnamed bool
			if rest, unnamed = bytes.CutPrefix(sealed, []byte{SealV1}); !unnamed {
				continue
			}
		}
		if n := key.aead.NonceSize(); len(rest) >= n {
			if plain, err := key.aead.Open(nil, rest[:n], rest[n:], []byte(place)); err == nil {
				return plain, key, nil
			}
		}
	}
	return nil, sealKey{}, ErrSeal
}

// The check value shows which key and format a database uses.
const (
	SealCheckAssociatedData = "seal_check"
	SealCheckText           = "servery"
)

// ErrOtherKey is returned if none of the keys is that of the database.
var ErrOtherKey = errors.New("neither SERVERY_SECRET_KEY nor SERVERY_SECRET_KEY_PREVIOUS has the key of this database")

// SealIn seals a value in the transaction that stores it, with the database's key and format.
// The shared lock makes key rotation and such transactions wait for each other.
func (db *DB) SealIn(ctx context.Context, tx bun.IDB, place string, plain []byte) ([]byte, error) {
	var checks [][]byte
	if err := tx.NewRaw(`SELECT sealed FROM seal_check FOR SHARE`).Scan(ctx, &checks); err != nil {
		return nil, fmt.Errorf("reading the current encryption key: %w", err)
	}
	if len(checks) == 0 {
		return db.sealer.Keys[0].Seal(place, plain), nil
	}
	_, key, err := db.sealer.OpenWithKey(SealCheckAssociatedData, checks[0])
	if err != nil {
		return nil, ErrOtherKey
	}
	if checks[0][0] == SealV1 {
		return key.sealAs([]byte{SealV1}, place, plain), nil
	}
	return key.Seal(place, plain), nil
}

// CheckSeal returns an error if this hub lacks the key of the database. The first hub to
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
