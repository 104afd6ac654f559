package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/plugins/sdk"
)

// operator runs commands against a database and a directory of plugins.
type operator struct{ t *testing.T }

func newOperator(t *testing.T) operator {
	t.Helper()
	hubtest.Serial(t)
	t.Setenv("SERVERY_DATABASE_URL", hubtest.DatabaseURL(t))
	t.Setenv("SERVERY_SECRET_KEY", "0000000000000000000000000000000000000000000000000000000000000000")
	t.Setenv("SERVERY_PLUGIN_DIR", t.TempDir())
	return operator{t}
}

func (o operator) run(args ...string) (said, complaints string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	if status := run(o.t.Context(), args, output{&out, &errs}); status == 0 {
		require.Empty(o.t, errs.String())
	} else {
		require.NotEmpty(o.t, errs.String())
	}
	return out.String(), errs.String()
}

func TestPlatformAndPluginCommands(t *testing.T) {
	o := newOperator(t)
	source := filepath.Join(t.TempDir(), "built")
	installtest.Plugin(t, source, "aggregator-b", "../../../plugins/aggregatorb")
	said, complaints := o.run("plugin", "install", filepath.Join(source, "aggregator-b"))
	require.Equal(t, "plugin aggregator-b 1.0.0 is installed\n", said, complaints)
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "not run yet")

	said, _ = o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago",
		"--currency", "USD", "--json")
	var made struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(said), &made))
	business := "--business=" + strconv.Itoa(made.ID)
	said, _ = o.run("platform", "list", business)
	require.Contains(t, said, "aggregator-b         served by aggregator-b\n",
		"a new business has a platform for each plugin")

	for complaint, args := range map[string][]string{
		`endpoint "moon": plugin aggregator-b has no endpoint of that name`: {"--endpoint=moon=https://api.aggregator-b.example"},
		"host evil.example is not allowed":                                  {"--endpoint=delivery_api=https://evil.example"},
		`secret "x": plugin aggregator-b has no secret of that name`:        {"--secret=x=1"},
		"settings: must be a JSON object":                                   {"--settings={"},
		"settings":                                                          {"--settings=[]"},
		`there is no plugin "nosuch", only: aggregator-b`:                   {"--plugin=nosuch"},
	} {
		_, complaints := o.run(append([]string{"platform", "set", business, "aggregator-b"}, args...)...)
		require.Contains(t, complaints, complaint)
	}
	_, complaints = o.run("platform", "set", "--business=999999", "aggregator-b", "--settings={}")
	require.Contains(t, complaints, "there is no business 999999")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	said, complaints = o.run("platform", "set", business, "tasty", "--plugin=aggregator-b",
		"--endpoint=delivery_api=https://api.aggregator-b.example/v1/", "--secret=access_token=@"+secret,
		"--settings={}")
	require.Equal(t, "platform tasty of business "+strconv.Itoa(made.ID)+
		" is served by aggregator-b\nstill missing: endpoint catalogue_api, secret callback_token\n", said, complaints)
	said, complaints = o.run("platform", "set", business, "tasty",
		"--endpoint=catalogue_api=https://api.aggregator-b.example", "--secret=callback_token=x",
		"--secret=access_token=")
	require.Contains(t, said, "\nstill missing: secret access_token\n", complaints)
	said, complaints = o.run("platform", "set", business, "tasty", "--secret=access_token=@"+secret)
	require.NotContains(t, said, "missing", complaints)
	said, _ = o.run("platform", "list", business, "--json")
	require.Contains(t, said,
		`{"accept":"hub","endpoints":{"catalogue_api":"https://api.aggregator-b.example",`+
			`"delivery_api":"https://api.aggregator-b.example/v1"},"name":"tasty","secrets":["access_token",`+
			`"callback_token"],"served_by":"aggregator-b","settings":{}}`)
	require.NotContains(t, said, "s3cret")

	_, complaints = o.run("platform", "set", business, "web", "--accept=pos")
	require.Contains(t, complaints, "platform web has the plugin own, which sends no acceptance of orders")
	_, complaints = o.run("platform", "set", business, "tasty", "--accept=nobody")
	require.Contains(t, complaints, "--accept")
	said, complaints = o.run("platform", "set", business, "tasty", "--accept=pos")
	require.Contains(t, said, "is served by aggregator-b", complaints)
	said, _ = o.run("platform", "list", business)
	require.Contains(t, said,
		"tasty                served by aggregator-b\n                     orders accepted by pos\n")
	said, complaints = o.run("platform", "set", business, "tasty", "--plugin=own")
	require.Contains(t, said,
		"is served by own\nits settings, endpoints and secrets of aggregator-b are removed\n", complaints)
	said, _ = o.run("platform", "set", business, "tasty", "--plugin=aggregator-b")
	require.Contains(t, said,
		"is served by aggregator-b\nstill missing: endpoint catalogue_api, endpoint delivery_api, secret "+
			"access_token, secret callback_token\n")

	_, complaints = o.run("platform", "set", business, "tasty-two", "--plugin=aggregator-b", "--store=S-1=R-7")
	require.Contains(t, complaints, `has no store "S-1"`)
	said, _ = o.run("platform", "list", business)
	require.NotContains(t, said, "tasty-two", "all of it or nothing")

	said, _ = o.run("plugin", "disable", "aggregator-b")
	require.Equal(t, "plugin aggregator-b is disabled\n", said)
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "disabled")
	_, complaints = o.run("plugin", "enable", "nosuch")
	require.Contains(t, complaints, "only: aggregator-b")
	said, complaints = o.run("plugin", "upgrade", filepath.Join(source, "aggregator-b"))
	require.Contains(t, said, "running hubs switch to it, but it stays disabled", complaints)
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "disabled")
	for act, says := range map[string]string{
		"upgrade": `{"enabled":false,"id":"aggregator-b","installed":"1.0.0"}`,
		"install": `{"enabled":true,"id":"aggregator-b","installed":"1.0.0"}`,
	} {
		said, complaints = o.run("plugin", act, filepath.Join(source, "aggregator-b"), "--json")
		require.JSONEq(t, says, said, complaints)
		_, _ = o.run("plugin", "disable", "aggregator-b")
	}
	said, complaints = o.run("plugin", "logs", "aggregator-b", "--json")
	require.JSONEq(t, `{"faults":[],"log":[]}`, said, complaints)

	_, complaints = o.run("plugin", "remove", "aggregator-b")
	require.Contains(t, complaints,
		fmt.Sprintf(`plugin aggregator-b serves the platforms "aggregator-b" of business %[1]d,`+
			` "tasty" of business %[1]d: set another plugin`, made.ID))
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "aggregator-b", "nothing was done")
	for _, name := range []string{"aggregator-b", "tasty"} {
		_, complaints = o.run("platform", "set", business, name, "--plugin=own")
		require.Empty(t, complaints)
	}
	files := filepath.Join(os.Getenv("SERVERY_PLUGIN_DIR"), "aggregator-b")
	said, complaints = o.run("plugin", "remove", "aggregator-b")
	require.Equal(t, "plugin aggregator-b is removed, and "+files+" deleted\n", said, complaints)
	require.NoDirExists(t, files)
	said, _ = o.run("plugin", "list")
	require.Empty(t, said)
	_, complaints = o.run("plugin", "remove", "aggregator-b")
	require.Contains(t, complaints, `there is no plugin "aggregator-b"`)
	said, complaints = o.run("plugin", "install", filepath.Join(source, "aggregator-b"))
	require.Contains(t, said, "is installed", complaints)
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "not run yet")
}

func TestPluginWithWrongDigestIsNotInstalled(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installtest.Plugin(t, source, "aggregator-b", "../../../plugins/aggregatorb")
	installtest.Corrupt(t, filepath.Join(source, "aggregator-b", "aggregator-b"))
	_, complaints := o.run("plugin", "install", filepath.Join(source, "aggregator-b"))
	require.Contains(t, complaints, "SHA-256")
	said, _ := o.run("plugin", "list", "--json")
	require.Equal(t, "[]\n", said)
}

func TestFailedPluginUpgradeKeepsTheInstalledVersion(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installtest.Plugin(t, source, "aggregator-b", "../../../plugins/aggregatorb")
	built, into := filepath.Join(source, "aggregator-b"),
		filepath.Join(os.Getenv("SERVERY_PLUGIN_DIR"), "aggregator-b", sdk.ManifestName)
	_, complaints := o.run("plugin", "install", built)
	require.Empty(t, complaints)
	good, err := os.ReadFile(into)
	require.NoError(t, err)
	other := bytes.Replace(good, []byte("version: 1.0.0"), []byte("version: 3.0.0"), 1)
	require.NoError(t, os.WriteFile(filepath.Join(built, sdk.ManifestName), other, 0o600))
	for _, act := range []string{"check", "upgrade", "install"} {
		_, complaints = o.run("plugin", act, built)
		require.Contains(t, complaints, `version: the manifest says "3.0.0", the plugin "1.0.0"`, act)
	}
	there, err := os.ReadFile(into)
	require.NoError(t, err)
	require.Equal(t, string(good), string(there))

	t.Setenv("SERVERY_DATABASE_URL", "postgres://servery@127.0.0.1:1/servery?sslmode=perhaps")
	_, complaints = o.run("plugin", "upgrade", "--unchecked", built)
	require.Contains(t, complaints, "sslmode of SERVERY_DATABASE_URL must be")
	there, err = os.ReadFile(into)
	require.NoError(t, err)
	require.Equal(t, string(good), string(there), "what no hub is told of is not put there")
}

func TestPluginUpgradeNamesPlatformsWithInvalidSettings(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installtest.Plugin(t, source, "aggregator-a", "../../../plugins/aggregatora")
	built := filepath.Join(source, "aggregator-a")
	_, complaints := o.run("plugin", "install", built)
	require.Empty(t, complaints)
	said, _ := o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago",
		"--currency", "USD", "--json")
	var made struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(said), &made))
	business := "--business=" + strconv.Itoa(made.ID)
	_, complaints = o.run("platform", "set", business, "tasty", "--plugin=aggregator-a",
		`--settings={"brand":"harbour"}`)
	require.Empty(t, complaints)
	said, complaints = o.run("plugin", "upgrade", built)
	require.NotContains(t, said, "does not take", complaints)

	openTestDatabase(t, os.Getenv("SERVERY_DATABASE_URL")).exec(t,
		`UPDATE platforms SET settings = '{"brand":7}' WHERE name = 'tasty'`, "")
	said, complaints = o.run("plugin", "upgrade", built)
	require.Contains(t, said,
		fmt.Sprintf(`it rejects the settings of platform "tasty" of business %d: settings.brand `, made.ID),
		complaints)
}

func TestPlatformAliasCommands(t *testing.T) {
	o := newOperator(t)
	said, _ := o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago",
		"--currency", "USD", "--json")
	var made struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(said), &made))
	business := "--business=" + strconv.Itoa(made.ID)
	alias := func(args ...string) (string, string) {
		return o.run(append([]string{"platform", "alias"}, append(args, business)...)...)
	}
	said, complaints := alias("zomato", "web")
	require.Equal(t, fmt.Sprintf("zomato is an alias of the platform web of business %d\n", made.ID), said, complaints)
	_, complaints = alias("add", "shop", "web")
	require.Empty(t, complaints)
	said, _ = alias("list")
	require.Equal(t, "web                  shop\nweb                  zomato (sent)\n", said,
		"the first alias of a platform is sent")
	said, _ = o.run("platform", "list", business)
	require.Contains(t, said, "web                  served by own\n                     aliases shop, zomato (sent)\n")
	said, complaints = alias("set", "shop", "--sent")
	require.Contains(t, said, "the alias shop of business", complaints)
	said, _ = alias("list", "--json")
	require.JSONEq(t, `[{"alias":"shop","platform":"web","sent":true},
		{"alias":"zomato","platform":"web","sent":false}]`, said, "one alias of a platform is sent")
	said, _ = o.run("platform", "list", business, "--json")
	require.Contains(t, said, `"aliases":[{"alias":"shop","platform":"web","sent":true}`)

	for complaint, args := range map[string][]string{
		`"zomato" is an alias of the platform "web" already`: {"zomato", "app"},
		`"app" is the name of a platform of the business`:    {"app", "web"},
		`has no platform "mars"`:                             {"red", "mars"},
		`"zomato" is itself an alias, of the platform "web"`: {"red", "zomato"},
		"the alias must not begin or end with a space":       {" red", "web"},
		`the alias must not be "default"`:                    {"default", "web"},
		`has no alias "red"`:                                 {"remove", "red"},
		"--sent":                                             {"set", "shop"},
		"the alias must have 1 to 255 characters":            {"", "web"},
	} {
		_, complaints := alias(args...)
		require.Contains(t, complaints, complaint)
	}
	_, complaints = o.run("platform", "set", business, "zomato", "--plugin=own")
	require.Contains(t, complaints, `"zomato" is an alias of the platform "web": remove the alias before`)
	_, complaints = alias("remove", "zomato")
	require.Empty(t, complaints)
	said, complaints = o.run("platform", "set", business, "zomato", "--plugin=own")
	require.Contains(t, said, "platform zomato", complaints)
}
