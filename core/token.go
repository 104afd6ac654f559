package core

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// NewToken returns a secret: 32 random bytes in URL-safe base64.
func NewToken() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// DeriveToken returns the value of a secret from NewToken for one purpose. No value reveals another, or the secret.
func DeriveToken(purpose, secret string) string {
	sum := sha256.Sum256([]byte(purpose + "/" + secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// TokenHash returns the SHA-256 of a secret from NewToken. It identifies the secret without storing it. A slow hash is
// unnecessary, because the secret cannot be guessed.
func TokenHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
