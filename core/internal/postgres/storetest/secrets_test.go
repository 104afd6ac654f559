package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

func TestTwiceReplacedSecretSignsUntilItsOverlapEnds(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	before := openWithKeys(t, url, hubtest.SecretKey)
	tenant, sink := hubtest.Business(t, before), hubtest.NewSink(t, nil)
	sub := hubtest.SubscribeSeconds(t, before, tenant.ID, core.StoreCreation, sink.URL+"/webhook")
	subscriptions := webhook.Subscriptions{Store: webhooksdb.New(before), Overlap: time.Hour,
		Clock: before.Clock()}
	secrets := map[string][]string{"/hook/webhook": {sub.Secret}, "/hook/callback": {tenant.CallbackSecret}}
	for range 2 {
		rotated, err := subscriptions.Rotate(ctx, tenant.ID, sub.ID, "test", "")
		require.NoError(t, err)
		another := webhook.NewSecret()
		require.NoError(t, access.New(before).ReplaceCallbackSecret(ctx, tenant.ID, another,
			before.Clock().Now().Add(time.Hour)))
		secrets["/hook/webhook"], secrets["/hook/callback"] = append(secrets["/hook/webhook"], rotated.Secret),
			append(secrets["/hook/callback"], another)
	}
	require.Equal(t, 2, pgtest.AuditEntries(t, before, "business.callback_secret"))
	err := access.New(before).ReplaceCallbackSecret(ctx, tenant.ID+1, webhook.NewSecret(), before.Clock().Now())
	require.Equal(t, core.NotFound, core.CodeOf(err))

	_, err = schema.RotateSeal(ctx, openWithKeys(t, url, newKey, hubtest.SecretKey), "cli")
	require.NoError(t, err)
	db := openWithKeys(t, url, newKey)
	startEngine(t, db, webhook.Config{}, true)
	publish(t, db, tenant.ID, "", `{}`)
	publish(t, db, tenant.ID, sink.URL+"/callback", `{}`)
	eventually(t, "both arrived", func() bool { return len(sink.Arrivals()) >= 2 })
	for _, arrival := range sink.Arrivals() {
		require.Len(t, secrets[arrival.Path], 3)
		for i, secret := range secrets[arrival.Path] {
			_, err := webhook.Verify([]string{secret}, webhook.SignatureOf(arrival.Header), arrival.Body,
				db.Clock().Now())
			require.NoError(t, err, "secret %d of %s", i, arrival.Path)
		}
	}
}
