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

// Sealer encrypts secrets at rest: AES-256-GCM, each value bound to the place
// where it is kept, so that one cannot be put in the place of another. It opens what
// any of its keys has sealed.
type Sealer struct{ keys []sealKey }

// sealKey is a key and the beginning of what it seals: the version, and the id
// of the key.
type sealKey struct {
	prefix []byte
	aead   cipher.AEAD
}

// The version begins every sealed value. Values of the first one do not say which
// key sealed them; databases that have begun with it stay with it until their key is rotated.
const (
	sealUnnamed = 1
	sealNamed   = 2
	keyIDSize   = 4
)

// NewSealer takes the key that is to seal, and keys that may have sealed before:
// 32 bytes each, written in hexadecimal or base64.
func NewSealer(key string, previous ...string) (*Sealer, error) {
	s := &Sealer{}
	for _, text := range append([]string{key}, previous...) {
		one, err := newSealKey(text)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, one)
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
		return sealKey{}, errors.New("the secret key must be 32 bytes in hexadecimal or base64, as `openssl rand -hex 32` makes one")
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
	return sealKey{append([]byte{sealNamed}, id[:keyIDSize]...), aead}, nil
}

// id names the key to people, without telling anything of it.
func (k sealKey) id() string { return hex.EncodeToString(k.prefix[1:]) }

// seal seals in the present form.
func (k sealKey) seal(place string, plain []byte) []byte { return k.sealAs(k.prefix, place, plain) }

func (k sealKey) sealAs(prefix []byte, place string, plain []byte) []byte {
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails (crypto/rand)
	return k.aead.Seal(append(bytes.Clone(prefix), nonce...), nonce, plain, []byte(place))
}

var errSeal = errors.New("a stored secret cannot be opened: it was sealed with another key, or is damaged")

func (s *Sealer) open(place string, sealed []byte) ([]byte, error) {
	plain, _, err := s.opened(place, sealed)
	return plain, err
}

// opened is also the key that opens the value.
func (s *Sealer) opened(place string, sealed []byte) ([]byte, sealKey, error) {
	for _, key := range s.keys {
		rest, named := bytes.CutPrefix(sealed, key.prefix)
		if !named {
			var unnamed bool
			if rest, unnamed = bytes.CutPrefix(sealed, []byte{sealUnnamed}); !unnamed {
				continue
			}
		}
		if n := key.aead.NonceSize(); len(rest) >= n {
			if plain, err := key.aead.Open(nil, rest[:n], rest[n:], []byte(place)); err == nil {
				return plain, key, nil
			}
		}
	}
	return nil, sealKey{}, errSeal
}

// The value by which a database tells which key seals it, and in which form.
const (
	sealPlace = "seal_check"
	sealWord  = "servery"
)

var errOtherKey = errors.New("SERVERY_SECRET_KEY is not the key that seals the secrets of this database, and none of SERVERY_SECRET_KEY_PREVIOUS is")

// sealIn seals a value in the transaction that stores it: with the key, and in
// the form, that the database is at. A rotation waits for such transactions, and they for it.
func (db *DB) sealIn(ctx context.Context, tx bun.IDB, place string, plain []byte) ([]byte, error) {
	var checks [][]byte
	if err := tx.NewRaw(`SELECT sealed FROM seal_check FOR SHARE`).Scan(ctx, &checks); err != nil {
		return nil, fmt.Errorf("reading which key seals: %w", err)
	}
	if len(checks) == 0 {
		return db.seal.keys[0].seal(place, plain), nil
	}
	_, key, err := db.seal.opened(sealPlace, checks[0])
	if err != nil {
		return nil, errOtherKey
	}
	if checks[0][0] == sealUnnamed {
		return key.sealAs([]byte{sealUnnamed}, place, plain), nil
	}
	return key.seal(place, plain), nil
}

// CheckSeal makes sure that this hub has the key that seals this database; the
// first hub to come fixes it.
func (db *DB) CheckSeal(ctx context.Context) error {
	if _, err := db.bun.ExecContext(ctx, "INSERT INTO seal_check (sealed) VALUES (?) ON CONFLICT DO NOTHING",
		db.seal.keys[0].seal(sealPlace, []byte(sealWord))); err != nil {
		return fmt.Errorf("checking the secret key: %w", err)
	}
	var sealed []byte
	if err := db.bun.QueryRowContext(ctx, "SELECT sealed FROM seal_check").Scan(&sealed); err != nil {
		return fmt.Errorf("checking the secret key: %w", err)
	}
	if _, err := db.seal.open(sealPlace, sealed); err != nil {
		return errOtherKey
	}
	return nil
}
