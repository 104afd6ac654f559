package relay

import (
	"context"
	"errors"

	"github.com/servery-hub/servery/core"
)

// SharedCallers knows what verifies and routes the requests at the shared URL of a plugin.
type SharedCallers interface {
	// SharedSecrets returns the secrets of the plugin's installation.
	SharedSecrets(ctx context.Context, plugin string) (map[string]string, error)
	// SharedPlatforms returns the platforms of the plugin with a store that has the aggregator's id, at most two.
	SharedPlatforms(ctx context.Context, plugin, storeID string) ([]Caller, error)
	// RecordShared records why a request was rejected. An unrouted one was authentic, but of no single business.
	RecordShared(ctx context.Context, plugin, why string, unrouted bool) error
}

// ErrUnrouted is an authentic request at a shared URL that names no store of one business.
var ErrUnrouted = errors.New("the request names no store of one business")

// verifyShared authenticates a request at the shared URL of a plugin, and finds the business by the aggregator's id of
// the store. A plugin without such a URL gets the same error as a wrong proof. The response about an authentic request
// does not say which ids are known.
func (c Callers) verifyShared(ctx context.Context, k InboundCallback) (Caller, error) {
	secrets, err := c.Shared.SharedSecrets(ctx, k.Plugin)
	if err != nil {
		return Caller{}, err
	}
	proof, err := c.Verifications.Verification(k.Plugin, k.Kind)
	if core.CodeOf(err) == core.Unavailable && len(secrets) > 0 { // the plugin has a shared URL
		return Caller{}, err
	}
	if err == nil && (proof.StoreID == nil || proof.Scheme == SchemeJWT) {
		err = core.Errorf(core.NotFound, "plugin %s receives no requests of the kind %q at its shared URL", k.Plugin,
			k.Kind)
	}
	if err == nil {
		err = proof.check(k, secrets[proof.Secret], c.Clock.Now())
	}
	if err != nil {
		refused := &core.Error{Code: core.Unauthenticated,
			Message: "the request does not prove that it comes from this aggregator", Cause: err}
		return Caller{}, errors.Join(refused, c.Shared.RecordShared(ctx, k.Plugin, err.Error(), false))
	}
	caller, err := c.route(ctx, k.Plugin, proof.StoreID(k))
	if err != nil {
		return Caller{}, err
	}
	caller.Plugin, caller.VerifiedBy, caller.QueryKey = k.Plugin, proof.Header, proof.Query
	caller.Nonce = proof.nonce(k, c.Clock.Now())
	return caller, nil
}

// route returns the platform that a request at a shared URL is for. If stores of several platforms have the id, none
// gets the request.
func (c Callers) route(ctx context.Context, plugin, storeID string) (Caller, error) {
	why := "the request has no id of a store"
	if storeID != "" {
		found, err := c.Shared.SharedPlatforms(ctx, plugin, storeID)
		if err != nil || len(found) == 1 {
			return append(found, Caller{})[0], err
		}
		why = "no store of a platform that was set up has the id " + storeID
		if len(found) > 1 {
			why = "stores of several platforms have the id " + storeID
		}
	}
	unrouted := &core.Error{Code: core.NotFound, Message: "no store takes this request",
		Cause: errors.Join(ErrUnrouted, errors.New(why))}
	return Caller{}, errors.Join(unrouted, c.Shared.RecordShared(ctx, plugin, why, true))
}
