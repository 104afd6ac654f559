// Package signature computes the HMAC of a request by a template. The hub signs outbound requests and verifies inbound
// ones with it, and the SDK checks the templates of a description.
package signature

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // some aggregators sign with HMAC-SHA1, which is not broken
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
)

// Algorithm is the hash function of an HMAC.
type Algorithm string

// The algorithms.
const (
	SHA1   Algorithm = "sha1"
	SHA256 Algorithm = "sha256"
	SHA512 Algorithm = "sha512"
)

func (a Algorithm) new() hash.Hash {
	switch a {
	case SHA1:
		return sha1.New()
	case SHA512:
		return sha512.New()
	default:
		return sha256.New()
	}
}

// Encoding is the text form of a signature.
type Encoding string

// The encodings. Hexadecimal is in lower case. Base64 is the standard one, with padding.
const (
	Hex    Encoding = "hex"
	Base64 Encoding = "base64"
)

// Scheme specifies how a request is signed. An empty algorithm is SHA256, and an empty encoding is Hex.
type Scheme struct {
	Template  Template
	Algorithm Algorithm
	Encoding  Encoding
}

// MAC returns the HMAC of a request with a key.
func (s Scheme) MAC(key []byte, r Request) []byte {
	mac := hmac.New(s.Algorithm.new, key)
	s.Template.writeTo(mac, r)
	return mac.Sum(nil)
}

// Sum returns the text form of a request's HMAC with a key.
func (s Scheme) Sum(key []byte, r Request) string {
	if s.Encoding == Base64 {
		return base64.StdEncoding.EncodeToString(s.MAC(key, r))
	}
	return hex.EncodeToString(s.MAC(key, r))
}
