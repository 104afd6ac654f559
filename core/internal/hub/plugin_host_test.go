package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

func (d *menuClient) platform(name, plugin, settings string) {
	d.t.Helper()
	require.NoError(d.t, platformsdb.New(d.hub.db).Set(d.t.Context(), d.tenant.ID,
		core.Platform{Name: name, ServedBy: plugin}, func(a *relay.Access) error {
			a.Settings = []byte(settings)
			return nil
		}))
}

func findings(callback map[string]any, item int) any {
	return callback["items"].([]any)[item].(map[string]any)["platform_findings"]
}

// visibleItems returns the ref_ids of the items on a platform, and the menu's entity tag.
func (d *menuClient) visibleItems(platform string) (refs []string, tag string) {
	d.t.Helper()
	r := d.ok("GET", "/channel/api/v1/stores/s1/menu/?platform="+platform, "")
	for _, item := range r.body["items"].([]any) {
		refs = append(refs, item.(map[string]any)["ref_id"].(string))
	}
	return refs, r.header.Get("ETag")
}

const (
	nutritious = `{"group":"NutritionalInfo","key_value_data":[{"key":"fat_mg","value":"1"},` +
		`{"key":"protein_mg","value":"1"},{"key":"fiber_mg","value":"1"},{"key":"calorie_kcal","value":"1"}]}`
	lacking = `{"group":"NutritionalInfo","key_value_data":[{"key":"fat_mg","value":"1"},` +
		`{"key":"protein_mg","value":"1"},{"key":"fiber_mg","value":"1"}]}`
)

func soupMenu(soup string) string {
	return fmt.Sprintf(`{"items":[{"ref_id":"soup","title":"Soup","price":5,"key_value_groups":[%s]},`+
		`{"ref_id":"tea","title":"Tea","price":2}]}`, soup)
}

func TestPlatformFindingsBlockOnlyThatPlatform(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	d.platform("tasty", "aggregator-a", "")
	d.platform("strict", "aggregator-a", `{"nutrition":"required"}`)

	d.ok("POST", menuRoute+"s1/", soupMenu(lacking))
	callback := d.awaitCallback(2)
	energy := func(platform string) map[string]any {
		return map[string]any{"platform": platform, "rule": "nutrition_energy",
			"message": findings(callback, 0).([]any)[0].(map[string]any)["message"]}
	}
	require.Equal(t, []any{energy("strict"), energy("tasty")}, findings(callback, 0))
	require.Len(t, findings(callback, 1), 4,
		"where the setting says so, items without the group are held against it too")
	require.Nil(t, callback["warnings"])
	require.Equal(t, map[string]any{"created": 2.0, "updated": 0.0, "deleted": 0.0, "errors": 0.0},
		callback["stats"].(map[string]any)["items"],
		"a finding is no error of the item")
	web, _ := d.visibleItems("web")
	require.Equal(t, []string{"soup", "tea"}, web)
	tasty, before := d.visibleItems("tasty")
	require.Equal(t, []string{"tea"}, tasty)
	strict, _ := d.visibleItems("strict")
	require.Empty(t, strict)

	d.ok("POST", menuRoute+"-1/", soupMenu(nutritious))
	callback = d.awaitCallback(3)
	require.Nil(t, findings(callback, 0))
	tasty, after := d.visibleItems("tasty")
	require.Equal(t, []string{"soup", "tea"}, tasty)
	require.NotEqual(t, before, after)

	// The plugin is down: the menu is accepted, and the earlier findings stay.
	d.hub.config.Host.Stop("aggregator-a")
	d.ok("POST", menuRoute+"-1/", soupMenu(lacking))
	callback = d.awaitCallback(4)
	require.Nil(t, findings(callback, 0))
	require.Contains(t, callback["warnings"].([]any)[0].(map[string]any)["message"],
		`the rules of platform "strict" could not be applied`)
	strict, _ = d.visibleItems("strict")
	require.Equal(t, []string{"soup"}, strict)
}

func TestUnlistedItemIsNotCheckedAgainstPlatformRules(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-c", "../../../plugins/aggregatorc")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	d.platform("tasty", "aggregator-c", `{"nutrition":"required"}`)
	d.ok("POST", menuRoute+"s1/",
		`{"items":[{"ref_id":"soup","title":"Soup","price":5,"included_platforms":["web"]},{"ref_id":"tea",`+
			`"title":"Tea","price":2,"included_platforms":["tasty"]}]}`)
	callback := d.awaitCallback(2)
	require.Nil(t, findings(callback, 0))
	require.NotEmpty(t, findings(callback, 1))
}

func TestHubStartsDespiteABrokenPlugin(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "aggregator-z"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "aggregator-z", sdk.ManifestName), []byte("id: other\n"), 0o600))
	a := newPluginAPI(t, dir, unlimited)
	require.Contains(t, a.hub.config.Host.Status()[0].Faults[0].Text, "its manifest")
	list, err := calls.NewPlugins(a.hub.db).List(t.Context())
	require.NoError(t, err)
	require.Contains(t, list[0].Status, "its manifest")
}

func TestDatabaseStateStopsAndStartsPlugins(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-b", "../../../plugins/aggregatorb")
	first := newPluginAPI(t, dir, unlimited).hub
	host, records := first.config.Host, calls.NewPlugins(first.db)
	is := func(state string) func() bool { return func() bool { return string(host.Status()[0].State) == state } }
	for _, wanted := range []struct {
		enabled bool
		state   string
	}{{false, "stopped"}, {true, "ready"}} {
		require.NoError(t, records.SetEnabled(t.Context(), "aggregator-b", wanted.enabled))
		require.NoError(t, host.Refresh(t.Context(), false))
		hubtest.WaitUntil(t, wanted.state, is(wanted.state))
	}
	require.NoError(t, host.Refresh(t.Context(), false))
	next, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: t.TempDir(), Log: hubtest.Logger()}, first.db)
	require.NoError(t, err)
	defer next.Close()
	_, err = next.Actions(t.Context(), "aggregator-b")
	require.NoError(t, err, "the next hub knows its description")
}

func TestHangingSettingsCheckDelaysNoOtherPlugin(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-b", "../../../plugins/aggregatorb")
	installtest.Plugin(t, dir, "hostile", "../../pluginhost/testdata/hostile")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	d.platform("tasty", "hostile", `{"hang":true}`)
	host := d.hub.config.Host
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); host.Run(ctx, false) }()
	defer func() { cancel(); <-ended }()
	host.Wake()
	hubtest.WaitUntil(t, "the check hangs", func() bool { return host.Status()[1].InFlight == 1 })
	require.NoError(t, calls.NewPlugins(d.hub.db).SetEnabled(t.Context(), "aggregator-b", false))
	host.Wake()
	hubtest.WaitUntil(t, "the other plugin is stopped",
		func() bool { return host.Status()[0].State == pluginhost.Stopped })
	require.Empty(t, host.Status()[1].Faults, "the check still hangs")
}

func TestRemovedPluginIsNotStarted(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-b", "../../../plugins/aggregatorb")
	first := newPluginAPI(t, dir, unlimited).hub
	host, records := first.config.Host, calls.NewPlugins(first.db)
	require.NoError(t, records.Remove(t.Context(), "aggregator-b"))
	require.NoError(t, host.Refresh(t.Context(), false))
	hubtest.WaitUntil(t, "it is stopped", func() bool { return host.Status()[0].State == pluginhost.Stopped })
	next, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: dir, Log: hubtest.Logger()}, first.db)
	require.NoError(t, err)
	defer next.Close()
	require.Empty(t, next.Status())
	require.NoError(t, records.SetEnabled(t.Context(), "aggregator-b", true))
	require.NoError(t, host.Refresh(t.Context(), false))
	hubtest.WaitUntil(t, "it runs again", func() bool { return host.Status()[0].State == pluginhost.Ready })
}

func TestPlatformSecretsAreEncryptedPerBusiness(t *testing.T) {
	db := hubtest.Database(t, nil)
	one, other := hubtest.Business(t, db), hubtest.Business(t, db)
	platforms := platformsdb.New(db)
	require.NoError(t, platforms.Set(t.Context(), one.ID, core.Platform{Name: "tasty", ServedBy: "aggregator-a"},
		func(a *relay.Access) error {
			a.Settings, a.BaseURLs, a.Secrets = []byte(`{"a":1}`), map[string]string{"api": "https://x.example"},
				map[string]string{"token": "s3cret"}
			return nil
		}))
	set, err := platforms.Access(t.Context(), one.ID, "tasty")
	require.NoError(t, err)
	require.Equal(t, relay.Access{Settings: []byte(`{"a":1}`), BaseURLs: map[string]string{"api": "https://x.example"},
		Secrets: map[string]string{"token": "s3cret"}, Accept: relay.AcceptHub, Currency: "USD"}, set)
	_, err = platforms.Access(t.Context(), other.ID, "tasty")
	require.Equal(t, core.NotFound, core.CodeOf(err))
	as := func(*relay.Access) error { return nil }
	err = platforms.Set(t.Context(), 999, core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, as)
	require.Equal(t, core.NotFound, core.CodeOf(err))

	list, err := consoleview.New(db).ListPlatforms(t.Context(), one.ID)
	require.NoError(t, err)
	tasty := list[slices.IndexFunc(list, func(p console.PlatformSettings) bool { return p.Name == "tasty" })]
	require.NoError(t, platformsdb.New(db).SetPlatform(t.Context(), one.ID,
		core.Platform{Name: "tasty", ServedBy: "aggregator-b"}, relay.AccessUpdate{Version: tasty.Version, Set: as},
		access.Change{Business: one.ID, Action: "platform.change"}))
	set, err = platforms.Access(t.Context(), one.ID, "tasty")
	require.NoError(t, err)
	require.Equal(t, relay.Access{Settings: []byte{}, BaseURLs: map[string]string{}, Secrets: map[string]string{},
		Accept: relay.AcceptHub, Currency: "USD"}, set,
		"what one plugin was given is not for another")
	entries, err := consolelists.New(db).Audit(t.Context(), one.ID,
		console.EntryFilter{Object: "platform/tasty", Action: "platform.change", Limit: 1})
	require.NoError(t, err)
	require.Contains(t, string(entries[0].Detail), `"token": "set"`, "the audit trail says what it had")
}
