// Package seal encrypts secrets at rest with AES-256-GCM.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// Sealer seals values with its first key and opens values of any of its keys. Each value is bound to its location by
// associated data, so that values cannot be swapped.
type Sealer struct{ Keys []Key }

// Key is an encryption key and the prefix of the values it seals: the version and the key id.
type Key struct {
	Prefix []byte
	aead   cipher.AEAD
}

// Every sealed value begins with its version. Version 1 does not name the key. Databases that started with version 1
// keep it until their key is rotated.
const (
	V1        = 1
	V2        = 2
	keyIDSize = 4
)

// New returns a sealer that seals with key and also opens values of previous keys. Each key is 32 bytes in hexadecimal
// or base64.
func New(key string, previous ...string) (*Sealer, error) {
	s := &Sealer{}
	for _, text := range append([]string{key}, previous...) {
		one, err := newKey(text)
		if err != nil {
			return nil, err
		}
		s.Keys = append(s.Keys, one)
	}
	return s, nil
}

func newKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	raw, err := hex.DecodeString(text)
	if err != nil {
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil || len(raw) != 32 {
		return Key{},
			errors.New("the secret key must be 32 bytes in hexadecimal or base64, such as from openssl rand -hex 32")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return Key{}, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return Key{}, err
	}
	id := sha256.Sum256(append([]byte("servery key id:"), raw...))
	return Key{append([]byte{V2}, id[:keyIDSize]...), aead}, nil
}

// ID returns an identifier that reveals nothing of the key.
func (k Key) ID() string { return hex.EncodeToString(k.Prefix[1:]) }

// Seal seals a value in the current version.
func (k Key) Seal(associatedData string, plain []byte) []byte {
	return k.seal(k.Prefix, associatedData, plain)
}

// SealV1 seals a value in version 1.
func (k Key) SealV1(associatedData string, plain []byte) []byte {
	return k.seal([]byte{V1}, associatedData, plain)
}

func (k Key) seal(prefix []byte, associatedData string, plain []byte) []byte {
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails (crypto/rand)
	return k.aead.Seal(append(bytes.Clone(prefix), nonce...), nonce, plain, []byte(associatedData))
}

// ErrSealed is returned for a value that none of the keys opens.
var ErrSealed = errors.New("a stored secret cannot be decrypted: it was encrypted with another key or is damaged")

// Open opens a value. It returns ErrSealed if no key opens it or the associated data differs.
func (s *Sealer) Open(associatedData string, sealed []byte) ([]byte, error) {
	plain, _, err := s.OpenWithKey(associatedData, sealed)
	return plain, err
}

// OpenWithKey opens a value and also returns the key that opened it.
func (s *Sealer) OpenWithKey(associatedData string, sealed []byte) ([]byte, Key, error) {
	for _, key := range s.Keys {
		rest, named := bytes.CutPrefix(sealed, key.Prefix)
		if !named {
			var unnamed bool
			if rest, unnamed = bytes.CutPrefix(sealed, []byte{V1}); !unnamed {
				continue
			}
		}
		if n := key.aead.NonceSize(); len(rest) >= n {
			if plain, err := key.aead.Open(nil, rest[:n], rest[n:], []byte(associatedData)); err == nil {
				return plain, key, nil
			}
		}
	}
	return nil, Key{}, ErrSealed
}
