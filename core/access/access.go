// Package access authenticates callers: businesses, their API keys and the scope of a key.
package access

import (
	"context"
	"crypto/subtle"
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"

	"github.com/servery-hub/servery/core"
)

// Key is a stored API key. It contains only the hash of the key.
type Key struct {
	ID         int64
	Business   core.BusinessID
	Username   string
	Hash       []byte // SHA-256 of the key's text
	Prefix     string // the first characters, to identify the key for people
	Scope      core.Scope
	Platform   string // of a channel key: the platform whose orders it sends; "" is any
	CreatedAt  time.Time
	DisabledAt time.Time // zero while it works
	Snapshot   string    // of the database in which it was read
}

// Check returns the error for a key that does not work: Forbidden if it is disabled, or Unauthenticated if reading it
// returned NotFound. It returns other errors of reading it as they are.
func (k Key) Check(err error) error {
	switch {
	case core.CodeOf(err) == core.NotFound:
		return errCredentials
	case err != nil:
		return err
	case !k.DisabledAt.IsZero():
		return core.Errorf(core.Forbidden, "this API key is disabled")
	}
	return nil
}

// KeyStore stores businesses and keys.
type KeyStore interface {
	KeyByHash(ctx context.Context, hash []byte) (Key, error) // NotFound when there is none
	// CachedKeyByHash is KeyByHash, but a cached key may be out of date.
	CachedKeyByHash(ctx context.Context, hash []byte) (key Key, cached bool, err error)
	CreateBusiness(ctx context.Context, b core.Business, callbackSecret string,
		platforms []core.Platform) (core.BusinessID, error)
	CreateKey(ctx context.Context, key Key) (Key, error) // NotFound when the business, or its platform, does not exist
}

// Access authenticates callers and creates businesses and keys.
type Access struct {
	Keys  KeyStore
	Clock core.Clock
	Usage *KeyUsage // records the use of keys; nil: not recorded
}

// keyPrefix marks an API key, so that secret scanners can recognise a leaked one.
const keyPrefix = "svk_"

var errCredentials = core.Errorf(core.Unauthenticated,
	"send the header Authorization: apikey USERNAME:API_KEY with a valid key")

// Authenticate returns the caller of an Authorization header. It returns Unauthenticated if the credentials are
// missing or wrong, and Forbidden if the key is disabled.
func (a Access) Authenticate(ctx context.Context, header string) (core.Caller, error) {
	return a.authenticate(ctx, header, a.Keys.KeyByHash)
}

// Recognize is Authenticate by a cached key, which may be out of date. The statement that acts for the caller must
// check the caller's Credential.
func (a Access) Recognize(ctx context.Context, header string) (core.Caller, error) {
	cached := false
	caller, err := a.authenticate(ctx, header, func(ctx context.Context, hash []byte) (key Key, err error) {
		key, cached, err = a.Keys.CachedKeyByHash(ctx, hash)
		return key, err
	})
	if err != nil && cached {
		return a.Authenticate(ctx, header)
	}
	return caller, err
}

func (a Access) authenticate(ctx context.Context, header string,
	keyByHash func(context.Context, []byte) (Key, error)) (core.Caller, error) {
	scheme, credentials, _ := strings.Cut(strings.TrimSpace(header), " ")
	username, secret, found := strings.Cut(strings.TrimSpace(credentials), ":")
	if !strings.EqualFold(scheme, "apikey") || !found || username == "" || secret == "" {
		return core.Caller{}, errCredentials
	}
	key, err := keyByHash(ctx, core.TokenHash(secret))
	if err == nil && subtle.ConstantTimeCompare([]byte(key.Username), []byte(username)) != 1 {
		return core.Caller{}, errCredentials
	}
	if err == nil && a.Usage != nil {
		a.Usage.record(key, a.Clock.Now())
	}
	if err := key.Check(err); err != nil {
		return core.Caller{}, err
	}
	return core.Caller{Business: key.Business, Username: key.Username, Scope: key.Scope, Platform: key.Platform,
		Credential: core.Credential{KeyHash: string(key.Hash), Snapshot: key.Snapshot}}, nil
}

var usernamePattern = regexp.MustCompile(`^[A-Za-z0-9._@-]{1,64}$`)

// CreateKey creates a key and returns its text, which is not stored.
func (a Access) CreateKey(ctx context.Context, key Key) (Key, string, error) {
	if !usernamePattern.MatchString(key.Username) {
		return Key{}, "", ErrUsername
	}
	if key.Scope != core.ScopePOS && key.Scope != core.ScopeChannel {
		return Key{}, "", ErrScope
	}
	if key.Platform != "" && key.Scope != core.ScopeChannel {
		return Key{}, "", ErrPlatform
	}
	secret := keyPrefix + core.NewToken()
	key.Hash, key.Prefix, key.CreatedAt = core.TokenHash(secret), secret[:len(keyPrefix)+4], a.Clock.Now()
	key, err := a.Keys.CreateKey(ctx, key)
	return key, secret, err
}

// CheckBusiness returns Invalid if a tenant has no name, or an unknown country, time zone or currency.
func CheckBusiness(b core.Business) error {
	if strings.TrimSpace(b.Name) == "" {
		return core.Errorf(core.Invalid, "name must not be empty")
	}
	if region, err := language.ParseRegion(b.Country); err != nil || len(b.Country) != 2 || !region.IsCountry() {
		return core.Errorf(core.Invalid, "country must be a two-letter ISO 3166 code such as US")
	}
	if _, err := time.LoadLocation(b.Timezone); err != nil || b.Timezone == "" || b.Timezone == "Local" {
		return core.Errorf(core.Invalid, "timezone must be an IANA name such as America/Los_Angeles")
	}
	if _, err := currency.ParseISO(b.Currency); err != nil {
		return core.Errorf(core.Invalid, "currency must be an ISO 4217 code such as USD")
	}
	return nil
}

// CreateBusiness creates a tenant with platforms for its own website and app, and one for each plugin. The
// callbackSecret signs deliveries to a request's callback_url.
func (a Access) CreateBusiness(ctx context.Context, b core.Business, callbackSecret string,
	plugins []string) (core.Business, error) {
	b.Name = strings.TrimSpace(b.Name)
	err := CheckBusiness(b)
	if err != nil {
		return b, err
	}
	b.Country, b.Currency, b.CreatedAt = strings.ToUpper(b.Country), strings.ToUpper(b.Currency), a.Clock.Now()
	platforms := []core.Platform{
		{Name: "web", ServedBy: core.ServedByMerchant}, {Name: "app", ServedBy: core.ServedByMerchant},
	}
	for _, plugin := range plugins {
		platforms = append(platforms, core.Platform{Name: plugin, ServedBy: plugin})
	}
	b.ID, err = a.Keys.CreateBusiness(ctx, b, callbackSecret, platforms)
	return b, err
}
