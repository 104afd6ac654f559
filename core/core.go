// Package core names what every room of the hub shares: businesses, identifiers,
// money, error codes, events, the clock, the caller, and the strict reading of
// JSON. It imports nothing else of this module.
package core

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// BusinessID names one tenant. It is the first argument, after the context, of
// everything that reads or writes a tenant's data.
type BusinessID int64

// ID is a version 7 UUID (RFC 9562, section 5.7): its first 48 bits are the
// millisecond of its making, so identifiers sort by time and a day of them is a range.
type ID = uuid.UUID

// NewID makes an ID for the given instant. The twelve bits after the version
// hold the fraction of the millisecond (RFC 9562, section 6.2, method 3), so
// identifiers made by one process sort in the order in which they were made.
func NewID(at time.Time) ID {
	var id ID
	_, _ = rand.Read(id[8:]) // never fails (crypto/rand)
	ns := at.UnixNano()
	ms, fraction := ns/1e6, ns%1e6
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|0x7000|uint64(fraction*4096/1e6))
	id[8] = id[8]&0x3f | 0x80
	return id
}

// FirstID is the smallest ID that can be made at or after the instant, for
// asking a range of time in terms of identifiers. Of instants outside of what
// identifiers can tell (1970 to 10889) it is the first or the last one.
func FirstID(at time.Time) ID {
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(min(max(at.UnixMilli(), 0), 1<<48-1))<<16)
	return id
}

// TimeOf is the millisecond at which the ID was made, in UTC.
func TimeOf(id ID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)).UTC()
}

// Scope is what an API key may do.
type Scope string

// The scopes of an API key: pos for the merchant's system, channel for a
// source of orders.
const (
	ScopePOS     Scope = "pos"
	ScopeChannel Scope = "channel"
)

// Caller is who makes a request: a key of one business.
type Caller struct {
	Business BusinessID
	Username string
	Scope    Scope
	Platform string // of a channel key: the platform whose orders it brings; "" any
}

// Actor names the caller where a deed is recorded.
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

// ServedByOwn marks a platform that is the merchant's own website or app; any
// other value of Platform.ServedBy is the id of a plugin.
const ServedByOwn = "own"

// Platform is an ordering channel of a business under the name the business gave it.
type Platform struct {
	Name     string `json:"name"`
	ServedBy string `json:"served_by"`
}
