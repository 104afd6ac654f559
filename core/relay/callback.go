package relay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
)

// Caller is an aggregator that calls the hub: a platform of a business.
type Caller struct {
	Business core.BusinessID
	Platform string
	Plugin   string // that serves it
}

// Inbound is what an aggregator sent, its sender known.
type Inbound struct {
	Caller
	Kind       string // order or action, or a kind that the plugin declares
	Query      map[string]string
	Headers    map[string]string // names in lower case, without those that carry credentials
	Body       []byte
	ReceivedAt time.Time
}

// Message is what it means: one of the three.
type Message struct {
	Order   []byte   // an order in its normal form, as a channel brings it; platform_store_id may stand for store_ref_id
	Outcome *Outcome // of an action
	Ignored string   // nothing to do, and why
}

// Reader reads what aggregators send. NotFound says that the platform's plugin
// reads nothing of the kind, Invalid that what came is wrong in itself.
type Reader interface {
	Read(ctx context.Context, in Inbound) (Message, error)
}

// CallerRecords keeps the keys by which aggregators call the hub, as hashes.
type CallerRecords interface {
	CallerByHash(ctx context.Context, hash []byte) (Caller, error) // NotFound when there is none
	CreateCallerKey(ctx context.Context, business core.BusinessID, platform string, hash []byte, at time.Time) error
}

// Callers knows the aggregators that may call.
type Callers struct {
	Records CallerRecords
	Clock   core.Clock
}

// secretPrefix marks a callback key, so that scanners of leaked secrets know one.
const secretPrefix = "svc_"

var errSecret = core.Errorf(core.Unauthenticated, "send the platform's callback key: Authorization: Bearer KEY, or X-Platform-Secret: KEY")

// Authenticate finds the platform that a key belongs to. Unauthenticated where
// there is none, or another than the one that is named.
func (c Callers) Authenticate(ctx context.Context, platform, secret string) (Caller, error) {
	if secret == "" {
		return Caller{}, errSecret
	}
	caller, err := c.Records.CallerByHash(ctx, hash(secret))
	if core.CodeOf(err) == core.NotFound || err == nil && subtle.ConstantTimeCompare([]byte(caller.Platform), []byte(platform)) != 1 {
		return Caller{}, errSecret
	}
	return caller, err
}

// Create makes a key for a platform; it is told this once. NotFound where the
// business has no such platform.
func (c Callers) Create(ctx context.Context, business core.BusinessID, platform string) (string, error) {
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(fmt.Sprintf("relay: no random bytes: %v", err)) // crypto/rand never fails on a supported system
	}
	secret := secretPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	return secret, c.Records.CreateCallerKey(ctx, business, platform, hash(secret), c.Clock.Now())
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret)) // the key is 32 random bytes: nothing to guess, so no slow hash
	return sum[:]
}
