// Package core defines what every package of the hub shares: businesses, identifiers, money, error codes, events, the
// clock, the caller and strict JSON decoding. It imports no other package of this module.
package core

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// BusinessID identifies a tenant. Every function that reads or writes a tenant's data takes it first, after the
// context.
type BusinessID int64

// ID is a version 7 UUID (RFC 9562, section 5.7). Its first 48 bits are its creation time in milliseconds, so
// identifiers sort by time and a day of them is a range.
type ID = uuid.UUID

// NewID returns an ID for the given time. The twelve bits after the version hold the fraction of the millisecond (RFC
// 9562, section 6.2, method 3). One process therefore creates identifiers in ascending order.
func NewID(at time.Time) ID {
	var id ID
	_, _ = rand.Read(id[8:]) // never fails (crypto/rand)
	ns := at.UnixNano()
	ms, fraction := ns/1e6, ns%1e6
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|0x7000|uint64(fraction*4096/1e6))
	id[8] = id[8]&0x3f | 0x80
	return id
}

// FirstID returns the smallest ID that can be created at or after the given time. It turns a time range into an
// identifier range. Times outside 1970 to 10889 are clamped to that range.
func FirstID(at time.Time) ID {
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(min(max(at.UnixMilli(), 0), 1<<48-1))<<16)
	return id
}

// TimeOf returns the millisecond at which the ID was created, in UTC.
func TimeOf(id ID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)).UTC()
}

// Scope is the set of operations that an API key permits.
type Scope string

// The scopes of an API key: pos for the merchant's system, channel for a source of orders.
const (
	ScopePOS     Scope = "pos"
	ScopeChannel Scope = "channel"
)

// Caller identifies who makes a request, by an API key of one business.
type Caller struct {
	Business BusinessID
	Username string
	Scope    Scope
	Platform string // of a channel key: the platform whose orders it sends; "" is any

	Credential Credential
}

// Credential identifies the API key of a caller.
type Credential struct {
	KeyHash  string
	Snapshot string // of the database in which the key was read
}

// Actor returns the caller's name for the audit trail.
func (c Caller) Actor() string { return "key:" + c.Username }

// Business is a tenant: a merchant with its stores, menu and channels.
type Business struct {
	ID        BusinessID `json:"id"`
	Name      string     `json:"name"`
	Country   string     `json:"country"`  // ISO 3166-1 alpha-2, upper case
	Timezone  string     `json:"timezone"` // IANA name
	Currency  string     `json:"currency"` // ISO 4217, upper case
	CreatedAt time.Time  `json:"created_at"`
}
