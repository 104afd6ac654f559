package hubtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// Tenant is a business with a key.
type Tenant struct {
	ID             core.BusinessID
	Authorization  string // value of the Authorization header
	KeyID          int64
	CallbackSecret string
}

// Business creates a business in the United States with a key of scope pos.
func Business(t testing.TB, db *postgres.DB) Tenant {
	t.Helper()
	return BusinessIn(t, db, "USD")
}

// BusinessIn is Business with another currency.
func BusinessIn(t testing.TB, db *postgres.DB, currency string) Tenant {
	t.Helper()
	ctx := context.Background()
	accounts := access.Access{Keys: accessdb.New(db), Clock: db.Clock()}
	tenant := Tenant{CallbackSecret: webhook.NewSecret()}
	business, err := accounts.CreateBusiness(ctx,
		core.Business{Name: "Test Kitchen", Country: "US", Timezone: "America/New_York", Currency: currency},
		tenant.CallbackSecret, nil)
	require.NoError(t, err)
	key, secret, err := accounts.CreateKey(ctx,
		access.Key{Business: business.ID, Username: "pos", Scope: core.ScopePOS})
	require.NoError(t, err)
	tenant.ID, tenant.KeyID, tenant.Authorization = business.ID, key.ID, "apikey pos:"+secret
	return tenant
}

// Subscribe creates a webhook subscription whose waits are in minutes.
func Subscribe(t testing.TB, db *postgres.DB, business core.BusinessID, event core.EventType,
	url string) webhook.Subscription {
	t.Helper()
	return SubscribeAs(t, db, webhook.Subscription{Business: business, EventType: event, URL: url,
		Units: webhook.Minutes})
}

// SubscribeSeconds is Subscribe with waits in seconds.
func SubscribeSeconds(t testing.TB, db *postgres.DB, business core.BusinessID, event core.EventType,
	url string) webhook.Subscription {
	t.Helper()
	return SubscribeAs(t, db, webhook.Subscription{Business: business, EventType: event, URL: url,
		Units: webhook.Seconds})
}

// SubscribeAs creates an active webhook subscription with the business, event type, URL and units of s.
func SubscribeAs(t testing.TB, db *postgres.DB, s webhook.Subscription) webhook.Subscription {
	t.Helper()
	s.Active, s.Headers, s.Secret = true, map[string]string{}, webhook.NewSecret()
	s.CreatedAt = db.Clock().Now()
	s.UpdatedAt = s.CreatedAt
	subs, err := webhooksdb.New(db).Upsert(context.Background(), s.Business, "test",
		[]webhook.Key{{EventType: s.EventType, URL: s.URL}},
		func(int, *webhook.Subscription) (webhook.Subscription, error) { return s, nil })
	require.NoError(t, err)
	return subs[0]
}

// ChannelKey creates a key of scope channel and returns the value of the Authorization header. The key is valid for one
// platform; "" means all.
func ChannelKey(t testing.TB, db *postgres.DB, business core.BusinessID, platform string) string {
	t.Helper()
	accounts := access.Access{Keys: accessdb.New(db), Clock: db.Clock()}
	_, secret, err := accounts.CreateKey(context.Background(),
		access.Key{Business: business, Username: "shop", Scope: core.ScopeChannel, Platform: platform})
	require.NoError(t, err)
	return "apikey shop:" + secret
}
