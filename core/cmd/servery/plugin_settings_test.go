package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// settingsUpgrade is an operator who upgrades to a version with required settings.
type settingsUpgrade struct {
	operator
	db     *postgres.DB
	source string
}

func newSettingsUpgrade(t *testing.T) settingsUpgrade {
	t.Helper()
	u := settingsUpgrade{operator: newOperator(t), source: filepath.Join(t.TempDir(), "regional")}
	installtest.Plugin(t, filepath.Dir(u.source), "regional", "../../internal/installtest/testdata/regional")
	t.Setenv("SERVERY_SECRET_KEY", hubtest.SecretKey)
	u.db = hubtest.Open(t, os.Getenv("SERVERY_DATABASE_URL"), nil)
	_, stderr := u.run("plugin", "install", u.source)
	require.Empty(t, stderr)
	return u
}

func (u settingsUpgrade) set(business core.BusinessID, platform, settings string) {
	u.t.Helper()
	u.setAccess(business, platform, func(a *relay.Access) { a.Settings = []byte(settings) })
}

func (u settingsUpgrade) setAccess(business core.BusinessID, platform string, change func(*relay.Access)) {
	u.t.Helper()
	require.NoError(u.t, platforms.New(u.db).Set(u.t.Context(), business,
		core.Platform{Name: platform, ServedBy: "regional"}, func(a *relay.Access) error {
			change(a)
			return nil
		}))
}

func (u settingsUpgrade) settings(business core.BusinessID, platform string) string {
	u.t.Helper()
	access, err := platforms.New(u.db).Access(u.t.Context(), business, platform)
	require.NoError(u.t, err)
	return string(access.Settings)
}

func TestPluginUpgradeAddsDefaultsToStoredSettings(t *testing.T) {
	u := newSettingsUpgrade(t)
	one, other := hubtest.Business(t, u.db).ID, hubtest.Business(t, u.db).ID
	u.set(one, "tasty", `{"region":"us"}`)
	u.set(other, "tasty", `{}`)
	stdout, stderr := u.run("plugin", "upgrade", u.source, "--dry-run")
	require.Empty(t, stdout)
	require.Contains(t, stderr, "is not installed: it rejects settings of 2 platforms:\n"+
		fmt.Sprintf("  platform \"tasty\" of business %d: settings.depth is required\n", one)+
		fmt.Sprintf("  platform \"tasty\" of business %d: settings.region is required\n", other)+
		fmt.Sprintf("  platform \"tasty\" of business %d: settings.depth is required\n", other))

	for problem, value := range map[string]string{
		"the default of depth must be at most 3, not 4": "depth=4",
		`the default of region must be one of: "eu"`:    "region=mars",
		"api_key is a secret":                           "api_key=k",
		"token is a secret":                             "token=k",
		"color is no setting of plugin regional, only":  "color=red",
		`the default "region" must have the form`:       "region",
	} {
		_, stderr = u.run("plugin", "upgrade", u.source, "--set-default", value)
		require.Contains(t, stderr, problem)
	}
	_, stderr = u.run("plugin", "upgrade", u.source, "--unchecked", "--set-default=depth=2")
	require.Contains(t, stderr, "not possible with --unchecked")

	defaults := []string{"plugin", "upgrade", u.source, "--set-default=depth=2", "--set-default", "region=7"}
	stdout, stderr = u.run(append(defaults, "--dry-run")...)
	require.Contains(t, stdout, "because of --dry-run\n", stderr)
	require.Contains(t, stdout, fmt.Sprintf("business %d has new settings: depth, region\n", other))
	require.Contains(t, stdout, fmt.Sprintf("platform \"tasty\" of business %d lacks secret api_key: "+
		"set them with servery platform set\n", other))
	require.JSONEq(t, `{}`, u.settings(other, "tasty"))
	_, stderr = u.run(defaults...)
	require.Empty(t, stderr)
	require.JSONEq(t, `{"depth":2,"region":"us"}`, u.settings(one, "tasty"))
	require.JSONEq(t, `{"depth":2,"region":"7"}`, u.settings(other, "tasty"), "a number that is text by the schema")
	require.Equal(t, 2, openTestDatabase(t, os.Getenv("SERVERY_DATABASE_URL")).number(t,
		`SELECT count(*) FROM audit WHERE action = 'platform.change' AND detail::text LIKE '%depth%'`))
	u.setAccess(one, "tasty", func(a *relay.Access) { a.Secrets["api_key"] = "0123456789" })
	stdout, stderr = u.run(defaults...)
	require.NotContains(t, stdout, "new settings", stderr)
	require.NotContains(t, stdout, fmt.Sprintf("business %d lacks", one))
	require.Contains(t, stdout, fmt.Sprintf("business %d lacks secret api_key", other))
}

func TestPluginUpgradeChecksEqualSettingsPerPlatform(t *testing.T) {
	u := newSettingsUpgrade(t)
	business := hubtest.Business(t, u.db).ID
	const settings = `{"depth":1,"region":"eu"}`
	for _, platform := range []string{"aborts", "brisk", "broken", "closed", "tasty"} {
		u.set(business, platform, settings)
	}
	stdout, stderr := u.run("plugin", "upgrade", u.source)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "it rejects settings of 3 platforms:\n  platform \"aborts\"")
	require.Contains(t, stderr, "\n  platform \"broken\"", "after that at which it ended")
	require.Contains(t, stderr, "\n  platform \"closed\"", "after that at which it failed")
	stdout, stderr = u.run("plugin", "upgrade", u.source, "--force", "--json")
	require.Empty(t, stderr)
	require.JSONEq(t, fmt.Sprintf(`[{"business":%[1]d,"platform":"aborts","field":"","message":
		"could not be checked: plugin regional crashed on this request, which is set aside (request_set_aside)"},
		{"business":%[1]d,"platform":"broken","field":"",
		"message":"could not be checked: plugin regional failed at this request (plugin_failed)"},
		{"business":%[1]d,"platform":"closed","field":"region","message":"is closed for this platform"}]`, business),
		field(t, stdout, "unfit"))
}
