package storetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

func TestCommandLineChangesAreAudited(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db) // creates a business and a key
	keys, platforms := access.New(db), platformsdb.New(db)
	for range 2 { // the second call changes nothing
		require.NoError(t, keys.DisableKey(t.Context(), tenant.ID, tenant.KeyID))
	}
	require.Equal(t, core.NotFound, core.CodeOf(keys.DisableKey(t.Context(), tenant.ID, 999)))
	for _, secret := range []string{"s3cret-1", "s3cret-2", "s3cret-2"} {
		require.NoError(t, platforms.Set(t.Context(), tenant.ID, core.Platform{Name: "tasty", ServedBy: "aggregator-a"},
			func(a *relay.Access) error {
				a.Secrets["token"] = secret
				return nil
			}))
	}
	require.NoError(t, platformsdb.NewCallers(db).CreateCallerKey(t.Context(), tenant.ID, "tasty", []byte("h")))

	entries, err := consolelists.New(db).Audit(t.Context(), tenant.ID, console.EntryFilter{Actor: "cli", Limit: 50})
	require.NoError(t, err)
	var actions []string
	for _, e := range slices.Backward(entries) {
		actions = append(actions, e.Action)
		require.NotContains(t, string(e.Detail), "s3cret")
		require.NotEmpty(t, e.Object)
	}
	require.Equal(t, []string{"business.create", "key.create", "key.revoke", "platform.create", "platform.change",
		"callback.create"}, actions)
	require.Contains(t, string(entries[1].Detail), `"token": "replaced"`)
}

func TestCommandLinePluginChangesAreAudited(t *testing.T) {
	db := hubtest.Database(t, nil)
	for _, enabled := range []bool{false, true} {
		require.NoError(t, calls.NewPlugins(db).SetEnabled(t.Context(), "aggregator-b", enabled))
	}
	entries, err := consolelists.New(db).Audit(t.Context(), 0,
		console.EntryFilter{Object: "plugin/aggregator-b", Limit: 50})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, []string{"plugin.enable", "plugin.disable"}, []string{entries[0].Action, entries[1].Action})
	require.Equal(t, "cli", entries[0].Actor)
}
