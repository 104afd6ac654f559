package relay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"strconv"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/store"
)

// Caller is an aggregator that calls the hub, as a platform of a business.
type Caller struct {
	Business   core.BusinessID
	Platform   string
	Plugin     string // that serves it
	VerifiedBy string // the header that authenticated it, in lower case; "": its callback key or QueryKey
	QueryKey   string // the query parameter that authenticated it; "": none
	Nonce      Nonce  // of its request
}

// InboundCallback is a received request whose sender is not authenticated yet.
type InboundCallback struct {
	Platform string
	Plugin   string // of the shared URL; "": the URL names the platform
	Kind     string
	Store    string          // the part of the path after the kind; "": none
	Key      string          // a callback key; "": none
	Business core.BusinessID // from the URL; 0: none, the key determines it
	Method   string
	Path     string // as sent, escaped
	RawQuery string // as sent
	Query    map[string]string
	Headers  map[string]string // names in lower case
	Body     []byte
}

// Verifications returns how plugins want requests to be authenticated.
type Verifications interface {
	// Verification returns NotFound if the plugin handles no requests of the kind.
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
	Kind       string            // order or action, or a kind that the plugin declares
	Query      map[string]string // without the parameter that carries a credential
	Headers    map[string]string // names in lower case, without those that carry credentials
	Body       []byte
	ReceivedAt time.Time
}

// Message is the meaning of a request. Exactly one field is set, beside IsCallback and Reply.
type Message struct {
	// a normalised order; platform_store_id may replace store_ref_id
	Order        []byte
	Cancellation *Cancellation // of an order
	FollowUp     *order.FollowUp
	Fetch        *Fetch   // the request has only a link
	Outcome      *Outcome // of an action
	Report       *outcome.Report
	Store        *StoreMessage // about a store
	Ignored      string        // why there is nothing to do
	IsCallback   bool          // the request has the outcome of an action; also set with an error
	Reply        *Reply        // the plugin's own response, if the request succeeds; nil: that of the hub
}

// StoreMessage is about a store: its state on the platform, or without one a request of its menu.
type StoreMessage struct {
	RefID, PlatformStoreID string // one of them
	Status                 *store.PlatformStatus
}

// Reply is a plugin's own response to a request.
type Reply struct {
	Status      int
	Headers     map[string]string
	Body        []byte
	OrderIDMark string // a text in the body that stands for the hub's id of the order; "": none
}

// BodyFor returns the body of a reply about an order. Without an order, the id is 0.
func (r Reply) BodyFor(orderID int64) []byte {
	if r.OrderIDMark == "" {
		return r.Body
	}
	id := ""
	if orderID != 0 {
		id = strconv.FormatInt(orderID, 10)
	}
	return bytes.Replace(r.Body, []byte(r.OrderIDMark), []byte(id), 1)
}

// Cancellation is an order that the platform cancels.
type Cancellation struct {
	PlatformOrderID string
	Reason          string // for people
}

// Fetch is a request whose content the hub must fetch.
type Fetch struct {
	PlatformOrderID string // "": unknown
	Plan            Plan
}

// Reader interprets the requests of aggregators. It returns NotFound if the platform's plugin handles no requests of
// the kind, and Invalid if the request itself is wrong.
type Reader interface {
	Read(ctx context.Context, in InboundRequest) (Message, error)
	// HasOrder reports whether a request of its kind contains an order, and returns the platform's id of that order.
	// It needs no running plugin. The id is "" if it is unknown. A kind with several messages contains an order if the
	// id is known.
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

// NonceState is what is known of a nonce.
type NonceState string

// The states of nonces.
const (
	NonceClaimed  NonceState = "claimed"  // by this claim
	NoncePending  NonceState = "pending"  // the hub processes a request with it
	NonceAccepted NonceState = "accepted" // the hub has accepted a request with it
)

// Nonces remembers nonces, for all replicas.
type Nonces interface {
	// ClaimNonce claims a nonce for one request, for nonceClaim. Only one claim of concurrent ones is successful.
	ClaimNonce(ctx context.Context, business core.BusinessID, platform string, nonce [sha256.Size]byte,
		until time.Time) (NonceState, error)
	// KeepNonce remembers a claimed nonce, and ForgetNonce ends the claim.
	KeepNonce(ctx context.Context, business core.BusinessID, platform string, nonce Nonce) error
	ForgetNonce(ctx context.Context, business core.BusinessID, platform string, nonce Nonce) error
}

// Callers authenticates aggregators.
type Callers struct {
	Keys          CallerKeys
	Nonces        Nonces
	Tokens        Tokens
	Directory     Directory
	Verifications Verifications
	Shared        SharedCallers
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
	if k.Plugin != "" {
		return c.verifyShared(ctx, k)
	}
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
		err = c.checkProof(ctx, proof, k, access)
	}
	if core.CodeOf(err) == core.Unavailable {
		return Caller{}, err
	}
	if err != nil {
		refused := &core.Error{Code: core.Unauthenticated,
			Message: "the request does not prove that it comes from this platform", Cause: err}
		return Caller{}, errors.Join(refused, c.Keys.RecordRejection(ctx, k.Business, platform, err.Error()))
	}
	return Caller{Business: k.Business, Platform: platform, Plugin: plugin, VerifiedBy: proof.Header,
		QueryKey: proof.Query, Nonce: proof.nonce(k, c.Clock.Now())}, nil
}

// checkProof returns why a request is not authentic. It returns Unavailable if the hub cannot know that now.
func (c Callers) checkProof(ctx context.Context, proof CallbackVerification, k InboundCallback, access Access) error {
	if proof.Scheme != SchemeJWT {
		return proof.check(k, access.Secrets[proof.Secret], c.Clock.Now())
	}
	token, expected, err := proof.tokenOf(k, access)
	if err != nil {
		return err
	}
	return c.Tokens.VerifyToken(ctx, token, expected)
}

// nonceClaim is how long a claimed nonce is pending. It is longer than the hub processes a request. If the hub dies
// meanwhile, the aggregator can resend the request after that.
const nonceClaim = 30 * time.Second

// Claim claims the nonce of an authenticated request. It returns Conflict for a replay, and Unavailable if the hub
// still processes a request with the nonce. End must follow.
func (c Callers) Claim(ctx context.Context, caller Caller) error {
	if caller.Nonce == (Nonce{}) {
		return nil
	}
	state, err := c.Nonces.ClaimNonce(ctx, caller.Business, caller.Platform, caller.Nonce.Hash,
		c.Clock.Now().Add(nonceClaim))
	switch {
	case err != nil:
		return err
	case state == NoncePending:
		return &core.Error{Code: core.Unavailable, RetryAfter: time.Second,
			Message: "the hub still processes a request with this nonce: resend it later"}
	case state == NonceAccepted:
		why := unverified(CodeNonceReplayed, "a request with this nonce was already accepted")
		refused := &core.Error{Code: core.Conflict, Message: why.Error()}
		return errors.Join(refused, c.Keys.RecordRejection(ctx, caller.Business, caller.Platform, why.Error()))
	}
	return nil
}

// The attempts to remember the nonce of an accepted request.
const (
	keepAttempts = 5
	keepPause    = 100 * time.Millisecond
)

// End ends the claim of an authenticated request. The nonce of an accepted one is remembered, with retries until the
// context ends. The aggregator may resend a failed one.
func (c Callers) End(ctx context.Context, caller Caller, accepted bool) error {
	switch {
	case caller.Nonce == (Nonce{}):
		return nil
	case accepted:
		return c.keepNonce(ctx, caller)
	}
	return c.Nonces.ForgetNonce(ctx, caller.Business, caller.Platform, caller.Nonce)
}

func (c Callers) keepNonce(ctx context.Context, caller Caller) error {
	for attempt := 1; ; attempt++ {
		err := c.Nonces.KeepNonce(ctx, caller.Business, caller.Platform, caller.Nonce)
		if err == nil || attempt == keepAttempts || ctx.Err() != nil {
			return err
		}
		core.SleepUntil(ctx, c.Clock, c.Clock.Now().Add(keepPause))
	}
}

// CreateKey creates a key for a platform and returns it. It cannot be read later. Create returns NotFound if the
// business has no such platform.
func (c Callers) CreateKey(ctx context.Context, business core.BusinessID, platform string) (string, error) {
	secret := secretPrefix + core.NewToken()
	return secret, c.Keys.CreateCallerKey(ctx, business, platform, core.TokenHash(secret))
}
