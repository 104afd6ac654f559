package relay

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/servery-hub/servery/core"
)

// Caller is an aggregator that calls the hub: a platform of a business.
type Caller struct {
	Business core.BusinessID
	Platform string
	Plugin   string // that serves it
	Proof    string // the header by which it showed this, in lower case; "": its callback key
}

// Knock is what came, and from whom nobody knows yet.
type Knock struct {
	Platform string
	Kind     string
	Key      string            // a callback key; "": none
	Business core.BusinessID   // that the address names; 0: none, the key tells it
	Headers  map[string]string // names in lower case
	Body     []byte
}

// Proofs knows how plugins want requests to show that they are genuine.
type Proofs interface {
	// Proof is NotFound where the plugin reads nothing of the kind.
	Proof(plugin, kind string) (Proof, error)
}

// Directory finds the plugin that serves a platform, and the platform's secrets;
// NotFound where the business has no such platform.
type Directory interface {
	Of(ctx context.Context, business core.BusinessID, platform string) (plugin string, access Access, err error)
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

// Message is what it means: one of the four.
type Message struct {
	Order        []byte        // an order in its normal form, as a channel brings it; platform_store_id may stand for store_ref_id; beside an error, what came
	Cancellation *Cancellation // of an order
	Outcome      *Outcome      // of an action
	Ignored      string        // nothing to do, and why
}

// Cancellation is an order that the platform takes back.
type Cancellation struct {
	PlatformOrderID string
	Reason          string // for people
}

// Reader reads what aggregators send. NotFound says that the platform's plugin
// reads nothing of the kind, Invalid that what came is wrong in itself.
type Reader interface {
	Read(ctx context.Context, in Inbound) (Message, error)
}

// CallerRecords keeps the keys by which aggregators call the hub, as hashes.
type CallerRecords interface {
	CallerByHash(ctx context.Context, hash []byte) (Caller, error) // NotFound when there is none
	CreateCallerKey(ctx context.Context, business core.BusinessID, platform string, hash []byte) error
	// NoteRefused keeps why a call in the name of a platform was not believed, where
	// the business has that.
	NoteRefused(ctx context.Context, business core.BusinessID, platform, why string) error
}

// Callers knows the aggregators that may call.
type Callers struct {
	Records   CallerRecords
	Directory Directory
	Proofs    Proofs
	Clock     core.Clock
}

// secretPrefix marks a callback key, so that scanners of leaked secrets know one.
const secretPrefix = "svc_"

var errSecret = core.Errorf(core.Unauthenticated, "send the platform's callback key: Authorization: Bearer KEY, or X-Platform-Secret: KEY")

// Authenticate finds out which platform calls: where the address names the
// business, by the proof that the platform's plugin wants of the kind, else by the
// callback key. Unauthenticated where neither shows it to be the one that is named.
func (c Callers) Authenticate(ctx context.Context, k Knock) (Caller, error) {
	if k.Business != 0 {
		return c.prove(ctx, k)
	}
	if k.Key == "" {
		return Caller{}, errSecret
	}
	caller, err := c.Records.CallerByHash(ctx, core.TokenHash(k.Key))
	if core.CodeOf(err) == core.NotFound || err == nil && subtle.ConstantTimeCompare([]byte(caller.Platform), []byte(k.Platform)) != 1 {
		return Caller{}, errSecret
	}
	return caller, err
}

// prove asks for the plugin's proof. A platform that does not exist looks like a
// wrong proof; the reason is for the log, and for the merchant's support.
func (c Callers) prove(ctx context.Context, k Knock) (Caller, error) {
	plugin, access, err := c.Directory.Of(ctx, k.Business, k.Platform)
	var proof Proof
	if err == nil {
		proof, err = c.Proofs.Proof(plugin, k.Kind)
	}
	if err != nil && core.CodeOf(err) != core.NotFound {
		return Caller{}, err
	}
	if err == nil {
		err = proof.check(k.Headers, k.Body, access.Secrets[proof.Secret], c.Clock.Now())
	}
	if err != nil {
		refused := &core.Error{Code: core.Unauthenticated, Message: "the request does not show that it comes from this platform of the business", Cause: err}
		return Caller{}, errors.Join(refused, c.Records.NoteRefused(ctx, k.Business, k.Platform, err.Error()))
	}
	return Caller{Business: k.Business, Platform: k.Platform, Plugin: plugin, Proof: proof.Header}, nil
}

// Create makes a key for a platform; it is told this once. NotFound where the
// business has no such platform.
func (c Callers) Create(ctx context.Context, business core.BusinessID, platform string) (string, error) {
	secret := secretPrefix + core.NewToken()
	return secret, c.Records.CreateCallerKey(ctx, business, platform, core.TokenHash(secret))
}
