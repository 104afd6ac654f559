package hub

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// settingsClient is a hub with plugin A and a console, and a support user of a business.
type settingsClient struct {
	*api
	kim    *browser
	tenant hubtest.Tenant
}

func newSettingsClient(t *testing.T) settingsClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	a := newPluginAPI(t, dir, unlimited)
	a.hub.console = a.hub.newConsole()
	a.hub.mountPages("http://example.com", 0)
	tenant := hubtest.Business(t, a.hub.db)
	return settingsClient{a, a.user(t, "kim@example.com", access.Support, tenant.ID), tenant}
}

func (s settingsClient) page(platform string) string {
	return shell.BusinessLink(s.tenant.ID, "settings/platform/?name="+url.QueryEscape(platform))
}

// version returns the version field of a platform's form.
func (s settingsClient) version(t *testing.T, platform string) string {
	t.Helper()
	found := regexp.MustCompile(`name="version" value="([0-9a-f]{32})"`).FindStringSubmatch(s.kim.get(t,
		s.page(platform)).text)
	require.NotNil(t, found)
	return found[1]
}

func (s settingsClient) save(t *testing.T, platform string, fields url.Values) apiResponse {
	t.Helper()
	for name, value := range map[string]string{"name": platform, "served_by": "aggregator-a", "why": "a good reason"} {
		if fields.Get(name) == "" {
			fields.Set(name, value)
		}
	}
	if fields.Get("version") == "" {
		fields.Set("version", s.version(t, platform))
	}
	return s.kim.post(t, shell.BusinessLink(s.tenant.ID, "settings/platform/"), fields)
}

const oddName = `tasty/eats & "co" <b>`

func TestConsoleConfiguresAPlatform(t *testing.T) {
	s := newSettingsClient(t)
	list := shell.BusinessLink(s.tenant.ID, "settings/")
	add := func(name, served string) apiResponse {
		return s.kim.post(t, shell.BusinessLink(s.tenant.ID, "settings/platforms/"),
			url.Values{"name": {name}, "served_by": {served}, "why": {"a good reason"}})
	}
	require.Equal(t, http.StatusSeeOther, add(oddName, "aggregator-a").status)
	require.Equal(t, http.StatusConflict, add(oddName, "own").status)
	require.Equal(t, http.StatusBadRequest, add("", "own").status)
	require.Equal(t, http.StatusBadRequest, add("x", "nothing").status)
	require.Contains(t, s.kim.get(t, list).text, "tasty/eats &amp; &#34;co&#34; &lt;b&gt;")
	require.Equal(t, http.StatusNotFound, s.kim.get(t, s.page("none")).status)

	empty := s.version(t, oddName)
	for says, fields := range map[string]url.Values{
		"must be a JSON object":                            {"settings": {`[1]`}},
		"settings.nutrition":                               {"settings": {`{"nutrition":"sometimes"}`}},
		"the settings of the plugin are: brand, nutrition": {"settings": {`{"longest_titel":1}`}},
		"is not allowed by the plugin&#39;s manifest":      {"endpoint-partner_api": {"https://evil.example"}},
		"must begin with https://": {
			"endpoint-partner_api": {"http://api.aggregator-a.example"}},
		"must be hub or pos, not &#34;nobody&#34;": {"accept": {"nobody"}},
		"This platform is served by the merchant":  {"served_by": {"own"}, "settings": {`{}`}},
	} {
		r := s.save(t, oddName, fields)
		require.Equal(t, http.StatusBadRequest, r.status, r.text)
		require.Contains(t, r.text, says)
	}
	require.Equal(t, empty, s.version(t, oddName), "what is refused changes nothing")

	address := "https://" + hostOf(t, s)
	r := s.save(t, oddName, url.Values{"settings": {`{ "nutrition": "required" }`},
		"endpoint-partner_api": {address + "/"}, "secret-api_key": {"s3cret-one"}})
	require.Equal(t, http.StatusSeeOther, r.status, r.text)
	platforms := platformsdb.New(s.hub.db)
	kept, err := platforms.Access(t.Context(), s.tenant.ID, oddName)
	require.NoError(t, err)
	require.Equal(t, relay.Access{Settings: []byte(`{"nutrition":"required"}`),
		BaseURLs: map[string]string{"partner_api": address}, Secrets: map[string]string{"api_key": "s3cret-one"},
		Accept: relay.AcceptHub, Currency: "USD"}, kept)
	require.Equal(t, http.StatusConflict, s.save(t, oddName, url.Values{"version": {empty}}).status,
		"somebody was quicker: shown, not lost")
	s.clock.Advance(60e9)
	require.Equal(t, http.StatusSeeOther,
		s.save(t, oddName, url.Values{"settings": {`{"nutrition":"required"}`}, "endpoint-partner_api": {address},
			"secret-api_key": {"s3cret-two"}}).status)
	s.clock.Advance(60e9)
	page := s.kim.get(t, s.page(oddName)).text
	require.Contains(t, page, "1 min ago", "when it was set")
	require.NotContains(t, page, "s3cret")
	require.Equal(t, http.StatusSeeOther,
		s.save(t, oddName, url.Values{"endpoint-partner_api": {""}, "drop-api_key": {"1"}, "accept": {"pos"}}).status)
	require.Contains(t, s.kim.get(t, s.page(oddName)).text, `<option value="pos" selected>`)
	kept, err = platforms.Access(t.Context(), s.tenant.ID, oddName)
	require.NoError(t, err)
	require.Empty(t, kept.Secrets)
	require.Empty(t, kept.BaseURLs)
	require.Empty(t, kept.Settings)
	require.Equal(t, relay.AcceptPOS, kept.Accept)

	entries, err := consolelists.New(s.hub.db).Audit(t.Context(), s.tenant.ID,
		console.EntryFilter{Object: "platform/" + oddName, Limit: 50})
	require.NoError(t, err)
	require.Len(t, entries, 4)
	for _, e := range entries {
		require.NotContains(t, string(e.Detail), "s3cret")
		require.Contains(t, string(e.Detail), "a good reason")
	}
	require.Contains(t, string(entries[1].Detail), `"api_key": "replaced"`)
}

func TestPlatformPageNamesSettingsItsPluginRejects(t *testing.T) {
	s := newSettingsClient(t)
	set := func(settings string) {
		require.NoError(t, platformsdb.New(s.hub.db).Set(t.Context(), s.tenant.ID,
			core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
				a.Settings = []byte(settings)
				return nil
			}))
	}
	set("")
	require.NotContains(t, s.kim.get(t, s.page("tasty")).text, "rejects the current settings")
	set(`{"brand":7}`)
	require.Contains(t, s.kim.get(t, s.page("tasty")).text,
		"Plugin aggregator-a rejects the current settings: settings.brand ")
}

// hostOf returns a host that the manifest of plugin A allows.
func hostOf(t *testing.T, s settingsClient) string {
	t.Helper()
	list, err := pluginRegistry{s.hub.db, s.hub.config.Host}.ListPlugins(t.Context(), nil)
	require.NoError(t, err)
	return regexp.MustCompile(`^\*`).ReplaceAllString(list[0].About.Endpoints[0].Hosts[0], "x")
}

func TestCallbackKeyIsShownOnceAndRotated(t *testing.T) {
	s := newSettingsClient(t)
	require.Equal(t, http.StatusSeeOther,
		s.kim.post(t, shell.BusinessLink(s.tenant.ID, "settings/platforms/"),
			url.Values{"name": {"tasty"}, "served_by": {"aggregator-a"}, "why": {"a good reason"}}).status)
	link := func(path string) string { return shell.BusinessLink(s.tenant.ID, "settings/callback/"+path) }
	fields := func() url.Values {
		s.clock.Advance(1e9)
		return url.Values{"name": {"tasty"}, "why": {"a good reason"}}
	}
	knows := func(key string) bool {
		hash := sha256.Sum256([]byte(key))
		caller, err := platformsdb.NewCallers(s.hub.db).CallerByHash(t.Context(), hash[:])
		return err == nil && caller.Business == s.tenant.ID && caller.Platform == "tasty"
	}
	make := func() string {
		r := s.kim.post(t, link(""), fields())
		require.Equal(t, http.StatusOK, r.status, r.text)
		key := regexp.MustCompile(`Bearer (svc_[A-Za-z0-9_-]{43})`).FindStringSubmatch(r.text)
		require.NotNil(t, key)
		require.True(t, knows(key[1]))
		return key[1]
	}
	first := make()
	require.Equal(t, http.StatusConflict, s.kim.post(t, link("drop/"), fields()).status, "the newest one stays")
	second := make()
	require.NotContains(t, s.kim.get(t, s.page("tasty")).text, second)
	require.Equal(t, http.StatusSeeOther, s.kim.post(t, link("drop/"), fields()).status)
	require.False(t, knows(first))
	require.True(t, knows(second))
	require.Equal(t, http.StatusNotFound,
		s.kim.post(t, link(""), url.Values{"name": {"none"}, "why": {"a good reason"}}).status)
	viewer := s.user(t, "vera@example.com", access.Viewer, s.tenant.ID)
	require.NotContains(t, viewer.get(t, s.page("tasty")).text, `type="submit" class="button-main"`)
}
