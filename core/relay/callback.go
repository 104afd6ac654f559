package relay

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/servery-hub/servery/core"
)

// Caller is an aggregator that calls the hub, as a platform of a business.
type Caller struct {
	Business   core.BusinessID
	Platform   string
	Plugin     string // that serves it
	VerifiedBy string // the header that authenticated it, in lower case; "": its callback key
}

// InboundCallback is a received request whose sender is not authenticated yet.
type InboundCallback struct {
	Platform string
	Kind     string
	Key      string            // a callback key; "": none
	Business core.BusinessID   // from the URL; 0: none, the key determines it
	Headers  map[string]string // names in lower case
	Body     []byte
}

// Verifications returns how plugins want requests to be authenticated.
type Verifications interface {
	// Proof returns NotFound if the plugin handles no requests of the kind.
	Verification(plugin, kind string) (CallbackVerification, error)
}

// Directory returns the plugin that serves a platform, and the platform's secrets. It returns NotFound if the
// business has no such platform.
type Directory interface {
	Lookup(ctx context.Context, business core.BusinessID, platform string) (plugin string, access Access, err error)
}

// InboundRequest is a request of an authenticated aggregator.
type InboundRequest struct {
	Caller
	Kind       string // order or action, or a kind that the plugin declares
	Query      map[string]string
	Headers    map[string]string // names in lower case, without those that carry credentials
	Body       []byte
	ReceivedAt time.Time
}

// Message is the meaning of a request. Exactly one field is set.
type Message struct {
	// a normalised order; platform_store_id may replace store_ref_id
	Order        []byte
	Cancellation *Cancellation // of an order
	Outcome      *Outcome      // of an action
	Ignored      string        // why there is nothing to do
}

// Cancellation is an order that the platform cancels.
type Cancellation struct {
	PlatformOrderID string
	Reason          string // for people
}

// Reader interprets the requests of aggregators. It returns NotFound if the platform's plugin handles no requests of
// the kind, and Invalid if the request itself is wrong.
type Reader interface {
	Read(ctx context.Context, in InboundRequest) (Message, error)
	// HasOrder reports whether a request of its kind contains an order, and returns the platform's id of that order.
	// It needs no running plugin. The id is "" if it is unknown.
	HasOrder(in InboundRequest) (orderID string, ok bool)
}

// CallerKeys stores the keys that authenticate aggregators, as hashes.
type CallerKeys interface {
	CallerByHash(ctx context.Context, hash []byte) (Caller, error) // NotFound when there is none
	CreateCallerKey(ctx context.Context, business core.BusinessID, platform string, hash []byte) error
	// RecordRejection records why a request in the name of a platform was rejected, if the business has that platform.
	RecordRejection(ctx context.Context, business core.BusinessID, platform, why string) error
	// Resolve returns the platform that a name or an alias stands for. It returns an unknown name unchanged.
	Resolve(ctx context.Context, business core.BusinessID, name string) (string, error)
}

// Callers authenticates aggregators.
type Callers struct {
	Keys          CallerKeys
	Directory     Directory
	Verifications Verifications
	Clock         core.Clock
}

// secretPrefix marks a callback key, so that secret scanners can recognise a leaked one.
const secretPrefix = "svc_"

var errSecret = core.Errorf(core.Unauthenticated,
	"send the platform's callback key as Authorization: Bearer KEY or X-Platform-Secret: KEY")

// Authenticate returns the platform that sends a request. If the URL names the business, it checks the proof that the
// platform's plugin requires, and otherwise the callback key. It returns Unauthenticated if neither matches the
// platform.
func (c Callers) Authenticate(ctx context.Context, k InboundCallback) (Caller, error) {
	if k.Business != 0 {
		return c.verify(ctx, k)
	}
	if k.Key == "" {
		return Caller{}, errSecret
	}
	caller, err := c.Keys.CallerByHash(ctx, core.TokenHash(k.Key))
	if core.CodeOf(err) == core.NotFound {
		return Caller{}, errSecret
	}
	if err != nil {
		return Caller{}, err
	}
	platform, err := c.Keys.Resolve(ctx, caller.Business, k.Platform)
	if err == nil && subtle.ConstantTimeCompare([]byte(caller.Platform), []byte(platform)) != 1 {
		return Caller{}, errSecret
	}
	return caller, err
}

// verify checks the plugin's proof. An unknown platform gets the same error as a wrong proof. The reason is for the
// log, and for the merchant's support.
func (c Callers) verify(ctx context.Context, k InboundCallback) (Caller, error) {
	platform, err := c.Keys.Resolve(ctx, k.Business, k.Platform)
	if err != nil {
		return Caller{}, err
	}
	plugin, access, err := c.Directory.Lookup(ctx, k.Business, platform)
	var proof CallbackVerification
	if err == nil {
		proof, err = c.Verifications.Verification(plugin, k.Kind)
	}
	if err != nil && core.CodeOf(err) != core.NotFound {
		return Caller{}, err
	}
	if err == nil {
		err = proof.check(k.Headers, k.Body, access.Secrets[proof.Secret], c.Clock.Now())
	}
	if err != nil {
		refused := &core.Error{Code: core.Unauthenticated,
			Message: "the request does not prove that it comes from this platform", Cause: err}
		return Caller{}, errors.Join(refused, c.Keys.RecordRejection(ctx, k.Business, platform, err.Error()))
	}
	return Caller{Business: k.Business, Platform: platform, Plugin: plugin, VerifiedBy: proof.Header}, nil
}

// CreateKey creates a key for a platform and returns it. It cannot be read later. Create returns NotFound if the
// business has no such platform.
func (c Callers) CreateKey(ctx context.Context, business core.BusinessID, platform string) (string, error) {
	secret := secretPrefix + core.NewToken()
	return secret, c.Keys.CreateCallerKey(ctx, business, platform, core.TokenHash(secret))
}
