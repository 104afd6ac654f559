package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

var newKey = strings.Repeat("cd", 32)

// openWithKeys opens a database as a hub with these keys would.
func openWithKeys(t *testing.T, url string, keys ...string) *postgres.DB {
	t.Helper()
	db := hubtest.Open(t, url, nil)
	sealer, err := seal.New(keys[0], keys[1:]...)
	require.NoError(t, err)
	db.UseSealer(sealer)
	require.NoError(t, db.CheckSeal(context.Background()))
	return db
}

// createSecrets stores secrets of every kind, with enough webhooks for several batches.
func createSecrets(t *testing.T, db *postgres.DB) (hubtest.Tenant, []webhook.Subscription) {
	t.Helper()
	tenant := hubtest.Business(t, db)
	keys := make([]webhook.Key, 450)
	for i := range keys {
		keys[i] = webhook.Key{EventType: core.EventTypes()[i/90], URL: fmt.Sprintf("https://pos.example.com/%d", i)}
	}
	now := db.Clock().Now()
	subscriptions, err := webhooksdb.New(db).Upsert(context.Background(), tenant.ID, "test", keys,
		func(i int, _ *webhook.Subscription) (webhook.Subscription, error) {
			return webhook.Subscription{Business: tenant.ID, EventType: keys[i].EventType, URL: keys[i].URL,
				Units: webhook.Minutes, Active: true, Headers: map[string]string{}, Secret: webhook.NewSecret(),
				CreatedAt: now, UpdatedAt: now}, nil
		})
	require.NoError(t, err)
	require.NoError(t, platforms.New(db).Set(context.Background(), tenant.ID,
		core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
			a.Settings, a.BaseURLs, a.Secrets = []byte(`{}`), map[string]string{}, map[string]string{"key": "hush"}
			return nil
		}))
	return tenant, subscriptions
}

func requireDecryptable(t *testing.T, db *postgres.DB, tenant hubtest.Tenant, subscriptions []webhook.Subscription) {
	t.Helper()
	ctx := context.Background()
	secret, err := accessdb.New(db).CallbackSecret(ctx, tenant.ID)
	require.NoError(t, err)
	require.Equal(t, tenant.CallbackSecret, secret)
	list, n, err := webhooksdb.New(db).List(ctx, tenant.ID, 1000, 0)
	require.NoError(t, err)
	require.Equal(t, len(subscriptions), n)
	for i, sub := range subscriptions {
		require.Equal(t, sub.Secret, list[i].Secret)
	}
	access, err := platforms.New(db).Access(ctx, tenant.ID, "tasty")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"key": "hush"}, access.Secrets)
}

func countSealedWith(t *testing.T, db *postgres.DB, key string) (n int) {
	t.Helper()
	sealed, err := schema.CountSealed(context.Background(), db)
	require.NoError(t, err)
	for _, column := range sealed {
		n += column.Keys[key]
	}
	return n
}

func TestKeyRotationReencryptsEverythingWhileHubsRun(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	old := openWithKeys(t, url, hubtest.SecretKey)
	tenant, subscriptions := createSecrets(t, old)

	hub := openWithKeys(t, url, newKey, hubtest.SecretKey)
	requireDecryptable(t, hub, tenant, subscriptions)
	subscriptions = append(subscriptions,
		hubtest.Subscribe(t, hub, tenant.ID, core.StoreCreation, "https://pos.example.com/early"))
	requireDecryptable(t, old, tenant, subscriptions)
	require.Zero(t, countSealedWith(t, hub, schema.SealKey(hub)),
		"until the rotation hubs seal with the key that all have")

	done, err := schema.RotateSeal(ctx, hub, "cli")
	require.NoError(t, err)
	require.Equal(t, schema.Rotation{Key: schema.SealKey(hub), Resealed: 2*len(subscriptions) + 3,
		Unreadable: []string{}}, done)
	subscriptions = append(subscriptions,
		hubtest.Subscribe(t, hub, tenant.ID, core.StoreCreation, "https://pos.example.com/late"))
	requireDecryptable(t, openWithKeys(t, url, newKey), tenant, subscriptions)
	require.ErrorContains(t, old.CheckSeal(ctx), "has the key of this database")
	require.Equal(t, 2*len(subscriptions)+3, countSealedWith(t, hub, schema.SealKey(hub)))

	again, err := schema.RotateSeal(ctx, hub, "cli")
	require.NoError(t, err)
	require.Zero(t, again.Resealed)
	require.Equal(t, 1, pgtest.AuditEntries(t, hub, "secrets.rotate"))
}

func TestInterruptedKeyRotationResumes(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	tenant, subscriptions := createSecrets(t, openWithKeys(t, url, hubtest.SecretKey))
	all, hub := 2*len(subscriptions)+3, openWithKeys(t, url, newKey, hubtest.SecretKey)
	pgtest.Exec(t, hub,
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no more'; END $$`)
	pgtest.Exec(t, hub,
		`CREATE TRIGGER refuse BEFORE UPDATE ON webhooks FOR EACH ROW WHEN (OLD.id = ?) EXECUTE FUNCTION refuse()`,
		subscriptions[300].ID)
	_, err := schema.RotateSeal(ctx, hub, "cli")
	require.ErrorContains(t, err, "no more")
	done := countSealedWith(t, hub, schema.SealKey(hub))
	require.Equal(t, all, done+countSealedWith(t, hub, keyID(t, hubtest.SecretKey)),
		"each value is sealed with one of the two")
	requireDecryptable(t, hub, tenant, subscriptions)
	alone := hubtest.Open(t, url, nil)
	sealer, err := seal.New(newKey)
	require.NoError(t, err)
	alone.UseSealer(sealer)
	require.ErrorContains(t, alone.CheckSeal(ctx), "has the key of this database",
		"with the new key alone no hub starts before all is sealed with it")

	pgtest.Exec(t, hub, `DROP TRIGGER refuse ON webhooks`)
	rest, err := schema.RotateSeal(ctx, hub, "cli")
	require.NoError(t, err)
	require.Positive(t, done)
	require.Equal(t, all-done, rest.Resealed, "resealed values are not resealed again")
	requireDecryptable(t, openWithKeys(t, url, newKey), tenant, subscriptions)
}

// keyID returns the id of a key.
func keyID(t *testing.T, key string) string {
	t.Helper()
	db := &postgres.DB{}
	sealer, err := seal.New(key)
	require.NoError(t, err)
	db.UseSealer(sealer)
	return schema.SealKey(db)
}

func TestOldEncryptionFormatStaysUntilRotation(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	hub := openWithKeys(t, url, hubtest.SecretKey)
	pgtest.Exec(t, hub, `UPDATE seal_check SET sealed = ?`,
		hub.Sealer().Keys[0].SealV1(postgres.SealCheckAssociatedData, []byte(postgres.SealCheckText)))
	tenant, subscriptions := createSecrets(t, hub)
	requireDecryptable(t, hub, tenant, subscriptions)
	require.Zero(t, countSealedWith(t, hub, schema.SealKey(hub)), "an earlier version can be put back")
	done, err := schema.RotateSeal(ctx, hub, "cli")
	require.NoError(t, err)
	require.Equal(t, 2*len(subscriptions)+3, done.Resealed)
	requireDecryptable(t, hub, tenant, subscriptions)
}

func TestRotationNamesAndKeepsUndecryptableValues(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	tenant := hubtest.Business(t, hubtest.Open(t, url, nil))
	lost, err := seal.New(newKey)
	require.NoError(t, err)
	db := hubtest.Open(t, url, nil)
	db.UseSealer(lost)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	hub := openWithKeys(t, url, hubtest.SecretKey)
	done, err := schema.RotateSeal(ctx, hub, "cli")
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("webhooks/%d/headers", tenant.ID),
		fmt.Sprintf("webhooks/%d/secret", tenant.ID)}, done.Unreadable)
	sealed, err := schema.CountSealed(ctx, hub)
	require.NoError(t, err)
	for _, column := range sealed {
		lost := column.Column == "webhooks.headers" || column.Column == "webhooks.secret"
		require.Equal(t, lost, column.Unreadable == 1, column.Column)
	}
}

func TestUndecryptableWebhookSecretFailsOnlyItsDeliveries(t *testing.T) {
	for _, column := range []string{"secret", "headers"} {
		t.Run(column, func(t *testing.T) {
			db := hubtest.Database(t, nil)
			readable, unreadable, sink := hubtest.Business(t, db), hubtest.Business(t, db), hubtest.NewSink(t, nil)
			hubtest.Subscribe(t, db, readable.ID, core.StoreCreation, sink.URL)
			broken := hubtest.Subscribe(t, db, unreadable.ID, core.StoreCreation, sink.URL)
			pgtest.Exec(t, db, `UPDATE webhooks SET `+column+` = set_byte(`+column+`, 20, get_byte(`+column+
				`, 20) # 1) WHERE id = ?`, broken.ID)
			now := db.Clock().Now()
			event := func(tenant hubtest.Tenant) core.Event {
				return core.Event{ID: core.NewID(now), Business: tenant.ID, Type: core.StoreCreation, At: now,
					Body: []byte(`{}`)}
			}
			claimed, lost := event(readable), event(unreadable) // claimed by an engine that starts later
			require.NoError(t, outbox.NewPublisher(db).Publish(context.Background(), lost, claimed))
			startEngine(t, db, webhook.Config{}, true)
			eventually(t, "both are tried in the claim",
				func() bool { return len(history(t, db, claimed.ID)) == 1 && len(history(t, db, lost.ID)) == 1 })
			started, again := event(readable), event(unreadable)
			require.NoError(t, outbox.NewPublisher(db).Publish(context.Background(), again, started))
			eventually(t, "both are attempted at once",
				func() bool { return len(history(t, db, started.ID)) == 1 && len(history(t, db, again.ID)) == 1 })
			for _, id := range []core.ID{claimed.ID, started.ID} {
				require.Equal(t, "delivered", history(t, db, id)[0].State)
			}
			for _, id := range []core.ID{lost.ID, again.ID} {
				require.Contains(t, history(t, db, id)[0].Error, "encrypted with another key")
			}
			require.Len(t, sink.Arrivals(), 2)
		})
	}
}

func TestRotationReencryptsRowsAddedMeanwhile(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	tenant, subscriptions := createSecrets(t, openWithKeys(t, url, hubtest.SecretKey))
	hub := openWithKeys(t, url, newKey, hubtest.SecretKey)
	late := subscriptions[10].ID
	pgtest.Exec(t, hub, `CREATE TABLE late AS SELECT * FROM webhooks WHERE id = ?`, late)
	pgtest.Exec(t, hub, `ALTER TABLE late DROP COLUMN server`) // a generated column
	pgtest.Exec(t, hub, `DELETE FROM webhooks WHERE id = ?`, late)
	pgtest.Exec(t, hub, `CREATE FUNCTION come() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE (SELECT format('INSERT INTO webhooks (%1$s) OVERRIDING SYSTEM VALUE SELECT %1$s FROM late',
			string_agg(column_name, ', ')) FROM information_schema.columns WHERE table_name = 'late');
		RETURN NEW; END $$`)
	// The secrets of platforms are the last column to be resealed.
	pgtest.Exec(t, hub, `CREATE TRIGGER come BEFORE UPDATE ON platforms FOR EACH ROW EXECUTE FUNCTION come()`)
	_, err := schema.RotateSeal(ctx, hub, "cli")
	require.NoError(t, err)
	requireDecryptable(t, openWithKeys(t, url, newKey), tenant, subscriptions)
}
