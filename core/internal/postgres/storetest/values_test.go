package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

func TestKeptValuesAreBounded(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	store := platforms.New(db)
	require.NoError(t, store.Set(t.Context(), business, core.Platform{Name: "p", ServedBy: "ours"},
		func(*relay.Access) error { return nil }))
	at := aggregator.PluginPlatform{Business: business, Platform: "p", Plugin: "ours"}
	keep := func(name, value string) []string {
		ignored, err := store.KeepValues(t.Context(), at, []relay.KeptValue{{Name: name, Value: value}})
		require.NoError(t, err)
		return ignored
	}
	for n := range aggregator.MaxKeptValues {
		require.Empty(t, keep(fmt.Sprint("v", n), "1"))
	}
	require.Equal(t, []string{"the value more was not stored: there are 32 others"}, keep("more", "1"))
	require.Empty(t, keep("v7", "2"), "a known one changes")
	require.Empty(t, keep("v8", ""), "one is removed")
	require.Empty(t, keep("more", "1"))
	values, err := store.Values(t.Context(), business, "p", "")
	require.NoError(t, err)
	require.Len(t, values, aggregator.MaxKeptValues)
	require.Equal(t, []string{"2", "", "1"}, []string{values["v7"], values["v8"], values["more"]})

	ignored, err := store.KeepValues(t.Context(), at, []relay.KeptValue{{Name: "v1", Value: "1", StoreRefID: "ghost"}})
	require.NoError(t, err)
	require.Equal(t, []string{`the value v1 was not stored: there is no store "ghost"`}, ignored)
	at.Plugin = "another"
	require.Empty(t, keep("v7", "3"))
	values, err = store.Values(t.Context(), business, "p", "")
	require.NoError(t, err)
	require.Equal(t, "2", values["v7"], "the plugin no longer serves the platform")
	_, access, err := store.Lookup(t.Context(), business, "p")
	require.NoError(t, err)
	require.True(t, access.HasValues)
}
