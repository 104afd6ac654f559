package core

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// NewToken makes a secret: 32 random bytes in URL-safe base64.
func NewToken() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// TokenHash is the SHA-256 of the text of a secret of NewToken's, by which it is
// known where it must not be kept: there is nothing to guess, so no slow hash.
func TokenHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
