package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

func (o operator) run(args ...string) (stdout, stderr string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	if status := run(o.t.Context(), args, output{&out, &errs}); status == 0 {
		require.Empty(o.t, errs.String())
	} else {
		require.NotEmpty(o.t, errs.String())
	}
	return out.String(), errs.String()
}

// createBusiness creates a business and returns its id.
func (o operator) createBusiness() int {
	o.t.Helper()
	stdout, stderr := o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago",
		"--currency", "USD", "--json")
	var created struct{ ID int }
	require.NoError(o.t, json.Unmarshal([]byte(stdout), &created), stderr)
	return created.ID
}

// pluginOperator is an operator with the plugin aggregator-b and a business.
type pluginOperator struct {
	operator
	source     string // directory of the plugin
	businessID int
	business   string // the flag
}

func newPluginOperator(t *testing.T) pluginOperator {
	t.Helper()
	o := pluginOperator{operator: newOperator(t), source: filepath.Join(t.TempDir(), "built", "aggregator-b")}
	installtest.Plugin(t, filepath.Dir(o.source), "aggregator-b", "../../../plugins/aggregatorb")
	stdout, stderr := o.run("plugin", "install", o.source)
	require.Equal(t, "plugin aggregator-b 1.0.0 is installed\n", stdout, stderr)
	stdout, _ = o.run("plugin", "list")
	require.Contains(t, stdout, "in no running hub")
	o.businessID = o.createBusiness()
	o.business = "--business=" + strconv.Itoa(o.businessID)
	stdout, _ = o.run("platform", "list", o.business)
	require.Contains(t, stdout, "aggregator-b         served by aggregator-b\n",
		"a new business has a platform for each plugin")
	return o
}

func TestPlatformCommands(t *testing.T) {
	o := newPluginOperator(t)
	business := o.business
	for complaint, args := range map[string][]string{
		`endpoint "moon": plugin aggregator-b has no endpoint of that name`: {
			"--endpoint=moon=https://api.aggregator-b.example"},
		"host evil.example is not allowed":                           {"--endpoint=delivery_api=https://evil.example"},
		`secret "x": plugin aggregator-b has no secret of that name`: {"--secret=x=1"},
		"settings: must be a JSON object":                            {"--settings={"},
		"settings":                                                   {"--settings=[]"},
		`there is no plugin "nosuch", only: aggregator-b`:            {"--plugin=nosuch"},
	} {
		_, stderr := o.run(append([]string{"platform", "set", business, "aggregator-b"}, args...)...)
		require.Contains(t, stderr, complaint)
	}
	_, stderr := o.run("platform", "set", "--business=999999", "aggregator-b", "--settings={}")
	require.Contains(t, stderr, "there is no business 999999")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	stdout, stderr := o.run("platform", "set", business, "tasty", "--plugin=aggregator-b",
		"--endpoint=delivery_api=https://api.aggregator-b.example/v1/", "--secret=access_token=@"+secret,
		"--settings={}")
	require.Equal(t, "platform tasty of business "+strconv.Itoa(o.businessID)+
		" is served by aggregator-b\nstill missing: endpoint catalogue_api, secret callback_token\n", stdout, stderr)
	stdout, stderr = o.run("platform", "set", business, "tasty",
		"--endpoint=catalogue_api=https://api.aggregator-b.example", "--secret=callback_token=x",
		"--secret=access_token=")
	require.Contains(t, stdout, "\nstill missing: secret access_token\n", stderr)
	stdout, stderr = o.run("platform", "set", business, "tasty", "--secret=access_token=@"+secret)
	require.NotContains(t, stdout, "missing", stderr)
	require.NoError(t, os.WriteFile(secret, []byte("\n"), 0o600))
	_, stderr = o.run("platform", "set", business, "tasty", "--secret=access_token=@"+secret)
	require.Contains(t, stderr, secret+" is empty")
	stdout, _ = o.run("platform", "list", business, "--json")
	require.Contains(t, stdout,
		`{"accept":"hub","endpoints":{"catalogue_api":"https://api.aggregator-b.example",`+
			`"delivery_api":"https://api.aggregator-b.example/v1"},"name":"tasty","secrets":["access_token",`+
			`"callback_token"],"served_by":"aggregator-b","settings":{}}`)
	require.NotContains(t, stdout, "s3cret")

	_, stderr = o.run("platform", "set", business, "web", "--accept=pos")
	require.Contains(t, stderr, "platform web has the plugin own, which sends no acceptance of orders")
	_, stderr = o.run("platform", "set", business, "tasty", "--accept=nobody")
	require.Contains(t, stderr, "--accept")
	stdout, stderr = o.run("platform", "set", business, "tasty", "--accept=pos")
	require.Contains(t, stdout, "is served by aggregator-b", stderr)
	stdout, _ = o.run("platform", "list", business)
	require.Contains(t, stdout,
		"tasty                served by aggregator-b\n                     orders accepted by pos\n")
	stdout, stderr = o.run("platform", "set", business, "tasty", "--plugin=own")
	require.Contains(t, stdout,
		"is served by own\nits settings, endpoints and secrets of aggregator-b are removed\n", stderr)
	stdout, _ = o.run("platform", "set", business, "tasty", "--plugin=aggregator-b")
	require.Contains(t, stdout,
		"is served by aggregator-b\nstill missing: endpoint catalogue_api, endpoint delivery_api, secret "+
			"access_token, secret callback_token\n")

	_, stderr = o.run("platform", "set", business, "tasty-two", "--plugin=aggregator-b", "--store=S-1=R-7")
	require.Contains(t, stderr, `has no store "S-1"`)
	stdout, _ = o.run("platform", "list", business)
	require.NotContains(t, stdout, "tasty-two", "all of it or nothing")
}

func TestSecretsOfStoresAndCertificatesAreChecked(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installtest.Plugin(t, source, "credentialed", "../../internal/hub/testdata/credentialed")
	_, stderr := o.run("plugin", "install", filepath.Join(source, "credentialed"))
	require.Empty(t, stderr)
	stdout, _ := o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago",
		"--currency", "USD", "--json")
	var created struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(stdout), &created))
	set := func(args ...string) (string, string) {
		return o.run(append([]string{"platform", "set", "--business=" + strconv.Itoa(created.ID), "tasty",
			"--plugin=credentialed"}, args...)...)
	}
	_, stderr = set("--secret=client_id@s1=x")
	require.Contains(t, stderr, `secret "client_id": plugin credentialed has it only for the whole platform`)
	_, stderr = set("--secret=moon@s1=x")
	require.Contains(t, stderr, `plugin credentialed has no secret of that name`)
	stdout, stderr = set("--secret=client_secret@s1=x", "--secret=client_id=y", "--secret=refresh_token=z",
		"--secret=signing_key=k", "--secret=certificate=chain", "--secret=certificate_key=key",
		"--endpoint=api=https://127.0.0.1", "--endpoint=slow=https://127.0.0.1",
		"--endpoint=certified=https://127.0.0.1", "--endpoint=per_order=https://127.0.0.1", "--secret=login_token=t")
	require.Contains(t, stdout,
		"still missing: a valid pair of the secrets certificate and certificate_key\n", stderr)
	stdout, _ = o.run("platform", "list", "--business="+strconv.Itoa(created.ID))
	require.Contains(t, stdout, "client_secret@s1")
}

func TestPluginCommands(t *testing.T) {
	o := newPluginOperator(t)
	_, stderr := o.run("platform", "set", o.business, "tasty", "--plugin=aggregator-b")
	require.Empty(t, stderr)
	stdout, _ := o.run("plugin", "faults", "aggregator-b")
	require.Equal(t, "plugin aggregator-b has no faults\n", stdout)
	stdout, _ = o.run("plugin", "retry", "aggregator-b")
	require.Equal(t, "the hubs retry 0 requests to plugin aggregator-b\n", stdout)
	stdout, _ = o.run("plugin", "disable", "aggregator-b")
	require.Equal(t, "plugin aggregator-b is disabled\n", stdout)
	stdout, _ = o.run("plugin", "list")
	require.Contains(t, stdout, "disabled")
	_, stderr = o.run("plugin", "enable", "nosuch")
	require.Contains(t, stderr, "only: aggregator-b")
	stdout, stderr = o.run("plugin", "upgrade", o.source)
	require.Contains(t, stdout, "running hubs switch to it, but it stays disabled", stderr)
	stdout, _ = o.run("plugin", "list")
	require.Contains(t, stdout, "disabled")
	for act, says := range map[string]string{
		"upgrade": `{"enabled":false,"id":"aggregator-b","installed":"1.0.0"}`,
		"install": `{"enabled":true,"id":"aggregator-b","installed":"1.0.0"}`,
	} {
		stdout, stderr = o.run("plugin", act, o.source, "--json")
		require.JSONEq(t, says, stdout, stderr)
		_, _ = o.run("plugin", "disable", "aggregator-b")
	}
	stdout, stderr = o.run("plugin", "logs", "aggregator-b", "--json")
	require.JSONEq(t, `{"faults":[],"log":[]}`, stdout, stderr)

	_, stderr = o.run("plugin", "remove", "aggregator-b")
	require.Contains(t, stderr,
		fmt.Sprintf(`plugin aggregator-b serves the platforms "aggregator-b" of business %[1]d,`+
			` "tasty" of business %[1]d: set another plugin`, o.businessID))
	stdout, _ = o.run("plugin", "list")
	require.Contains(t, stdout, "aggregator-b", "nothing was done")
	for _, name := range []string{"aggregator-b", "tasty"} {
		_, stderr = o.run("platform", "set", o.business, name, "--plugin=own")
		require.Empty(t, stderr)
	}
	files := filepath.Join(os.Getenv("SERVERY_PLUGIN_DIR"), "aggregator-b")
	stdout, stderr = o.run("plugin", "remove", "aggregator-b")
	require.Equal(t, "plugin aggregator-b is removed, and "+files+" deleted\n", stdout, stderr)
	require.NoDirExists(t, files)
	stdout, _ = o.run("plugin", "list")
	require.Empty(t, stdout)
	_, stderr = o.run("plugin", "remove", "aggregator-b")
	require.Contains(t, stderr, `there is no plugin "aggregator-b"`)
	stdout, stderr = o.run("plugin", "install", o.source)
	require.Contains(t, stdout, "is installed", stderr)
	stdout, _ = o.run("plugin", "list")
	require.Contains(t, stdout, "in no running hub")
}

func TestPluginWithWrongDigestIsNotInstalled(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installtest.Plugin(t, source, "aggregator-b", "../../../plugins/aggregatorb")
	installtest.Corrupt(t, filepath.Join(source, "aggregator-b", "aggregator-b"))
	_, stderr := o.run("plugin", "install", filepath.Join(source, "aggregator-b"))
	require.Contains(t, stderr, "SHA-256")
	stdout, _ := o.run("plugin", "list", "--json")
	require.Equal(t, "[]\n", stdout)
}

func TestFailedPluginUpgradeKeepsTheInstalledVersion(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installtest.Plugin(t, source, "aggregator-b", "../../../plugins/aggregatorb")
	built, into := filepath.Join(source, "aggregator-b"),
		filepath.Join(os.Getenv("SERVERY_PLUGIN_DIR"), "aggregator-b", sdk.ManifestName)
	_, stderr := o.run("plugin", "install", built)
	require.Empty(t, stderr)
	good, err := os.ReadFile(into)
	require.NoError(t, err)
	other := bytes.Replace(good, []byte("version: 1.0.0"), []byte("version: 3.0.0"), 1)
	require.NoError(t, os.WriteFile(filepath.Join(built, sdk.ManifestName), other, 0o600))
	for _, act := range []string{"check", "upgrade", "install"} {
		_, stderr = o.run("plugin", act, built)
		require.Contains(t, stderr, `version: the manifest says "3.0.0", the plugin "1.0.0"`, act)
	}
	logText, err := os.ReadFile(into)
	require.NoError(t, err)
	require.Equal(t, string(good), string(logText))

	t.Setenv("SERVERY_DATABASE_URL", "postgres://servery@127.0.0.1:1/servery?sslmode=perhaps")
	_, stderr = o.run("plugin", "upgrade", "--unchecked", built)
	require.Contains(t, stderr, "sslmode of SERVERY_DATABASE_URL must be")
	logText, err = os.ReadFile(into)
	require.NoError(t, err)
	require.Equal(t, string(good), string(logText), "what no hub has is not put there")
}

func TestPluginUpgradeNamesPlatformsWithInvalidSettings(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installtest.Plugin(t, source, "aggregator-a", "../../../plugins/aggregatora")
	built := filepath.Join(source, "aggregator-a")
	_, stderr := o.run("plugin", "install", built)
	require.Empty(t, stderr)
	stdout, _ := o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago",
		"--currency", "USD", "--json")
	var created struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(stdout), &created))
	business := "--business=" + strconv.Itoa(created.ID)
	_, stderr = o.run("platform", "set", business, "tasty", "--plugin=aggregator-a",
		`--settings={"brand":"harbour"}`)
	require.Empty(t, stderr)
	stdout, stderr = o.run("plugin", "upgrade", built)
	require.NotContains(t, stdout, "does not take", stderr)

	openTestDatabase(t, os.Getenv("SERVERY_DATABASE_URL")).exec(t,
		`UPDATE platforms SET settings = '{"brand":7}' WHERE name = 'tasty'`, "")
	nextBuild(t, built)
	installed := func() string {
		text, err := os.ReadFile(filepath.Join(os.Getenv("SERVERY_PLUGIN_DIR"), "aggregator-a", sdk.ManifestName))
		require.NoError(t, err)
		return string(text)
	}
	stdout, stderr = o.run("plugin", "upgrade", built)
	require.Empty(t, stdout)
	rejected := fmt.Sprintf(`platform "tasty" of business %d: settings.brand must be of type string, not 7`, created.ID)
	require.Contains(t, stderr, "is not installed: it rejects settings of 1 platforms:\n  "+rejected+"\n")
	require.Contains(t, stderr, "--force")
	require.NotContains(t, installed(), "# next", "the installed build stays")
	stdout, stderr = o.run("plugin", "upgrade", built, "--force")
	require.Contains(t, stdout, "it rejects the settings of "+rejected, stderr)
	require.Contains(t, installed(), "# next")
}

func TestPlatformAliasCommands(t *testing.T) {
	o := newOperator(t)
	stdout, _ := o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago",
		"--currency", "USD", "--json")
	var created struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(stdout), &created))
	business := "--business=" + strconv.Itoa(created.ID)
	alias := func(args ...string) (string, string) {
		return o.run(append([]string{"platform", "alias"}, append(args, business)...)...)
	}
	stdout, stderr := alias("zomato", "web")
	require.Equal(t, fmt.Sprintf("zomato is an alias of the platform web of business %d\n", created.ID), stdout, stderr)
	_, stderr = alias("add", "shop", "web")
	require.Empty(t, stderr)
	stdout, _ = alias("list")
	require.Equal(t, "web                  shop\nweb                  zomato (sent)\n", stdout,
		"the first alias of a platform is sent")
	stdout, _ = o.run("platform", "list", business)
	require.Contains(t, stdout,
		"web                  served by own\n                     aliases shop, zomato (sent)\n")
	stdout, stderr = alias("set", "shop", "--sent")
	require.Contains(t, stdout, "the alias shop of business", stderr)
	stdout, _ = alias("list", "--json")
	require.JSONEq(t, `[{"alias":"shop","platform":"web","sent":true},
		{"alias":"zomato","platform":"web","sent":false}]`, stdout, "one alias of a platform is sent")
	stdout, _ = o.run("platform", "list", business, "--json")
	require.Contains(t, stdout, `"aliases":[{"alias":"shop","platform":"web","sent":true}`)

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
		_, stderr := alias(args...)
		require.Contains(t, stderr, complaint)
	}
	_, stderr = o.run("platform", "set", business, "zomato", "--plugin=own")
	require.Contains(t, stderr, `"zomato" is an alias of the platform "web": remove the alias before`)
	_, stderr = alias("remove", "zomato")
	require.Empty(t, stderr)
	stdout, stderr = o.run("platform", "set", business, "zomato", "--plugin=own")
	require.Contains(t, stdout, "platform zomato", stderr)
}

func TestPlatformNamesAreBoundedInCharacters(t *testing.T) {
	o := newOperator(t)
	business := "--business=" + strconv.Itoa(o.createBusiness())
	_, stderr := o.run("platform", "set", business, strings.Repeat("é", 255), "--plugin=own")
	require.Empty(t, stderr)
	_, stderr = o.run("platform", "set", business, strings.Repeat("é", 256), "--plugin=own")
	require.Contains(t, stderr, "the name of a platform must have 1 to 255 characters")
}
