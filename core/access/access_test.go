package access

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

type fakeKeyStore struct {
	keys   []Key
	cached []Key // as they were read
	reads  int
}

func (f *fakeKeyStore) KeyByHash(_ context.Context, hash []byte) (Key, error) {
	f.reads++
	for _, key := range f.keys {
		if string(key.Hash) == string(hash) {
			return key, nil
		}
	}
	return Key{}, core.Errorf(core.NotFound, "none")
}

func (f *fakeKeyStore) CachedKeyByHash(ctx context.Context, hash []byte) (key Key, cached bool, err error) {
	for _, key := range f.cached {
		if string(key.Hash) == string(hash) {
			return key, true, nil
		}
	}
	key, err = f.KeyByHash(ctx, hash)
	return key, false, err
}

func (f *fakeKeyStore) CreateBusiness(context.Context, core.Business, string,
	[]core.Platform) (core.BusinessID, error) {
	return 7, nil
}

func (f *fakeKeyStore) CreateKey(_ context.Context, key Key) (Key, error) {
	key.ID = int64(len(f.keys) + 1)
	f.keys = append(f.keys, key)
	return key, nil
}

func TestAuthenticateAcceptsOnlyValidKeys(t *testing.T) {
	ctx, records := context.Background(), &fakeKeyStore{}
	a := Access{Keys: records, Clock: core.NewSystemClock(nil)}
	_, secret, err := a.CreateKey(ctx, Key{Business: 7, Username: "pos", Scope: core.ScopePOS})
	require.NoError(t, err)
	_, second, err := a.CreateKey(ctx, Key{Business: 7, Username: "pos", Scope: core.ScopePOS})
	require.NoError(t, err)
	_, disabled, err := a.CreateKey(ctx, Key{Business: 7, Username: "old", Scope: core.ScopePOS})
	require.NoError(t, err)
	records.keys[2].DisabledAt = time.Now()
	for name, row := range map[string]struct {
		header string
		code   core.Code
	}{
		"as the spec has it":       {"apikey pos:" + secret, ""},
		"scheme in any case":       {"ApiKey pos:" + secret, ""},
		"a second key of the same": {"apikey pos:" + second, ""},
		"nothing":                  {"", core.Unauthenticated},
		"another scheme":           {"Bearer pos:" + secret, core.Unauthenticated},
		"no user name":             {"apikey :" + secret, core.Unauthenticated},
		"no key":                   {"apikey pos:", core.Unauthenticated},
		"no colon":                 {"apikey " + secret, core.Unauthenticated},
		"another's user name":      {"apikey other:" + secret, core.Unauthenticated},
		"a wrong key":              {"apikey pos:" + strings.ToUpper(secret), core.Unauthenticated},
		"a disabled key":           {"apikey old:" + disabled, core.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := a.Authenticate(ctx, row.header)
			require.Equal(t, row.code, core.CodeOf(err))
			if err == nil {
				require.Equal(t, core.BusinessID(7), caller.Business)
			}
		})
	}
	for _, key := range records.keys {
		require.NotContains(t, string(key.Hash)+key.Prefix, secret)
	}
}

func TestOnlyRejectedCachedKeysAreReadAgain(t *testing.T) {
	ctx, records := context.Background(), &fakeKeyStore{}
	a := Access{Keys: records, Clock: core.NewSystemClock(nil)}
	_, works, err := a.CreateKey(ctx, Key{Business: 7, Username: "shop", Scope: core.ScopeChannel})
	require.NoError(t, err)
	_, enabled, err := a.CreateKey(ctx, Key{Business: 7, Username: "shop", Scope: core.ScopeChannel})
	require.NoError(t, err)
	records.cached = slices.Clone(records.keys)
	records.cached[1].DisabledAt = time.Now()
	_, disabled, err := a.CreateKey(ctx, Key{Business: 7, Username: "shop", Scope: core.ScopeChannel})
	require.NoError(t, err)
	records.keys[2].DisabledAt = time.Now()
	for name, row := range map[string]struct {
		secret string
		reads  int
		code   core.Code
	}{
		"cached":                      {works, 0, ""},
		"disabled when it was cached": {enabled, 1, ""},
		"disabled and not cached":     {disabled, 1, core.Forbidden},
		"unknown":                     {"svk_unknown", 1, core.Unauthenticated},
		"none":                        {"", 0, core.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			records.reads = 0
			_, err := a.Recognize(ctx, "apikey shop:"+row.secret)
			require.Equal(t, row.code, core.CodeOf(err))
			require.Equal(t, row.reads, records.reads)
		})
	}
}

func TestBusinessFieldsAreValidated(t *testing.T) {
	a := Access{Keys: &fakeKeyStore{}, Clock: core.NewSystemClock(nil)}
	good := core.Business{Name: "A", Country: "in", Timezone: "Asia/Kolkata", Currency: "inr"}
	made, err := a.CreateBusiness(context.Background(), good, "s", []string{"aggregator-a"})
	require.NoError(t, err)
	require.Equal(t, "IN", made.Country)
	require.Equal(t, "INR", made.Currency)
	for field, spoil := range map[string]func(*core.Business){
		"name":     func(b *core.Business) { b.Name = " " },
		"country":  func(b *core.Business) { b.Country = "IND" },
		"timezone": func(b *core.Business) { b.Timezone = "Kolkata" },
		"currency": func(b *core.Business) { b.Currency = "RUPEE" },
	} {
		b := good
		spoil(&b)
		_, err := a.CreateBusiness(context.Background(), b, "s", nil)
		require.Equal(t, core.Invalid, core.CodeOf(err), field)
		require.Contains(t, err.Error(), field)
	}
}

func TestRepeatedChangeOfAUserIsNoConflict(t *testing.T) {
	a, clock := newAccounts(t)
	p := a.Users.(*fakeAccounts)
	p.user = User{ID: 2, Role: Viewer}
	update := UserUpdate{Role: Support, Businesses: []core.BusinessID{8, 7, 7}, Disabled: true,
		Seen: p.user.AccessVersion()}
	// as the first of two equal forms stored it
	p.user.Role, p.user.Businesses, p.user.DisabledAt = Support, []core.BusinessID{7, 8}, clock.Now().Add(-time.Minute)
	stored := p.user
	sam := User{ID: 1, Role: Admin}
	require.NoError(t, a.ChangeUser(t.Context(), sam, 2, update, "as agreed"))
	require.Equal(t, stored, p.user)
	update.Businesses = update.Businesses[:1]
	require.ErrorIs(t, a.ChangeUser(t.Context(), sam, 2, update, "as agreed"), ErrUserChanged)
	require.Equal(t, stored, p.user)
}
