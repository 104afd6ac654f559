package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/pluginhost"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginKit runs `servery plugin …` and returns its output and status.
func pluginKit(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errors bytes.Buffer
	status = run(t.Context(), append([]string{"plugin"}, args...), output{&out, &errors})
	return out.String(), errors.String(), status
}

func TestPluginListShowsWhyAPluginIsDegraded(t *testing.T) {
	var out bytes.Buffer
	printPlugin(&out, plugindir.Listed{Enabled: true, Status: pluginhost.Status{
		ID: "tasty", Version: "1.0.0", State: pluginhost.Degraded}, Hubs: []plugindir.Hub{{Version: "1.0.0",
		State: string(pluginhost.Degraded), Reason: "it reports that it is degraded: the cache is cold"}}})
	require.Contains(t, out.String(), "degraded")
	require.Contains(t, out.String(), "the cache is cold")
}

func TestPluginListShowsDifferencesBetweenHubs(t *testing.T) {
	in := func(version string, state pluginhost.State) plugindir.Hub {
		return plugindir.Hub{Version: version, State: string(state)}
	}
	last := pluginhost.Status{ID: "tasty", Version: "2.1.0", State: pluginhost.Ready}
	for stdout, hubs := range map[string][]plugindir.Hub{
		"tasty                2.1.0      ready\n": {in("2.1.0", pluginhost.Ready), in("2.1.0", pluginhost.Ready)},
		"tasty                -          differs between hubs\n" +
			"                     2.0.0      quarantined in 1 of 3 hubs\n" +
			"                     2.1.0      ready in 2 of 3 hubs\n" +
			"                     " + pluginhost.QuarantineRule + "\n": {in("2.1.0", pluginhost.Ready),
			in("2.0.0", pluginhost.Quarantined), in("2.1.0", pluginhost.Ready)},
		"tasty                2.1.0      in no running hub\n": nil,
	} {
		var out bytes.Buffer
		printPlugin(&out, plugindir.Listed{Enabled: true, Installed: "2.1.0", Status: last, Hubs: hubs})
		require.Equal(t, stdout, out.String())
	}
}

func TestPluginListShowsEachReason(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	in := func(reason string, minutes time.Duration) plugindir.Hub {
		return plugindir.Hub{Version: "1.0.0", State: string(pluginhost.Backoff), Reason: reason,
			Since: at.Add(minutes * time.Minute)}
	}
	var out bytes.Buffer
	printPlugin(&out, plugindir.Listed{Enabled: true, Status: pluginhost.Status{ID: "tasty", Version: "1.0.0",
		State: pluginhost.Backoff}, Hubs: []plugindir.Hub{in("no table", 2), in("no disk", 1), in("no table", 0)}})
	require.Equal(t, "tasty                1.0.0      backoff\n"+
		"                     1.0.0      backoff in 1 of 3 hubs\n"+
		"                     since 2026-11-21T09:31:00Z: no disk\n"+
		"                     1.0.0      backoff in 2 of 3 hubs\n"+
		"                     since 2026-11-21T09:30:00Z: no table\n", out.String())
}

func TestPluginFaultsAndSetAsideRequestsArePrinted(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	text := aggregator.FaultsText("tasty", console.PluginFaults{
		Causes: []console.PluginCause{{Kind: "panic", Call: "Orders.PlanAcknowledge", Text: "it panicked",
			Stack: "main.plan\n  main.go:7", Count: 12, First: at.Add(-time.Hour), Last: at, Version: "1.0.0",
			Business: 7, Platform: "b", About: "order 12"}},
		SetAside: []console.SetAside{{ID: 31, Call: "Menu.Render", Business: 7, Platform: "b",
			About: "the menu of store s1", Version: "1.0.0", Fault: "exit status 3", At: at}}}, true)
	require.Equal(t, `2026-11-21T09:30:00Z  panic     12 times since 2026-11-21T08:30:00Z, version 1.0.0
    it panicked
    at Orders.PlanAcknowledge order 12 of business 7 on b
      main.plan
        main.go:7

requests set aside, which servery plugin retry tasty [ID…] tries again:
    31  2026-11-21T09:30:00Z  Menu.Render the menu of store s1 of business 7 on b, version 1.0.0
        exit status 3

`+pluginhost.QuarantineRule+"\n", text)
}

// buildPlugin returns a directory with a plugin of this repository and its manifest, for this test alone.
func buildPlugin(t *testing.T, source, id string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	installtest.Plugin(t, dir, id, filepath.Join(root, source))
	return filepath.Join(dir, id)
}

func TestPluginCommandsCheckTestAndDescribe(t *testing.T) {
	t.Parallel()
	dir := buildPlugin(t, "plugins/aggregatorb", "aggregator-b")
	golden := filepath.Join(root, "plugins/aggregatorb/testdata")

	stdout, stderr, status := pluginKit(t, "check", dir)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "aggregator-b 1.0.0: the manifest is complete")
	stdout, _, _ = pluginKit(t, "check", filepath.Join(dir, sdk.ManifestName), "--json")
	require.JSONEq(t, `"aggregator-b"`, field(t, stdout, "id"))

	stdout, stderr, status = pluginKit(t, "test", dir, "--golden", golden)
	require.Zero(t, status, stdout+stderr)
	require.Contains(t, stdout, "ok    golden answers\n")
	require.Contains(t, stdout, "checks passed")
	stdout, stderr, status = pluginKit(t, "test", filepath.Join(dir, "aggregator-b"), "--json")
	require.Zero(t, status, stderr)
	for line := range strings.Lines(stdout) {
		require.NotEmpty(t, field(t, line, "check"))
	}

	stdout, stderr, status = pluginKit(t, "run", dir, filepath.Join(golden, "rider-assigned.input.json"))
	require.Zero(t, status, stderr)
	expected, err := os.ReadFile(filepath.Join(golden, "rider-assigned.golden.json"))
	require.NoError(t, err)
	require.Equal(t, string(expected), stdout)

	stdout, _, _ = pluginKit(t, "describe", dir)
	require.Contains(t, stdout, "menu_render, menu_result, menu_unlist, order_acknowledge")
	require.Contains(t, stdout, "receives      order: Bearer secret in header ")
	stdout, _, _ = pluginKit(t, "describe", dir, "--json")
	about := &sdk.Description{}
	require.NoError(t, sdk.FromJSON([]byte(stdout), about))
	require.Equal(t, "aggregator-b", about.GetId())
}

func field(t *testing.T, text, name string) string {
	t.Helper()
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &object), text)
	return string(object[name])
}

func TestPluginCommandsRejectADigestMismatch(t *testing.T) {
	dir := buildPlugin(t, "plugins/aggregatorc", "aggregator-c")
	installtest.Corrupt(t, filepath.Join(dir, "aggregator-c"))
	for _, command := range []string{"check", "test", "describe"} {
		_, stderr, status := pluginKit(t, command, dir)
		require.NotZero(t, status, command)
		require.Contains(t, stderr, "aggregator-c has the SHA-256 digest", command)
	}
}

func TestPluginTestFailsOnAManifestMismatch(t *testing.T) {
	dir := buildPlugin(t, "plugins/aggregatorc", "aggregator-c")
	file := filepath.Join(dir, sdk.ManifestName)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("app_key"), []byte("other_key"), 1)
	require.NoError(t, os.WriteFile(file, regexp.MustCompile(`memory_mb: \d+`).ReplaceAll(text, []byte("memory_mb: 1")),
		0o600))
	stdout, stderr, status := pluginKit(t, "test", dir)
	require.NotZero(t, status)
	require.Contains(t, stdout,
		"FAIL  the description is complete, constant and equals the manifest\n      secrets: the manifest says "+
			"[other_key shop_token]")
	require.Regexp(t, `FAIL  memory stays within its limit\n      it used \d+ MB of memory, and its manifest allows 1`,
		stdout)
	require.Contains(t, stderr, "2 of 18 checks failed")
}

func TestNewPluginOverwritesNoDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tasty-eats")
	stdout, stderr, status := pluginKit(t, "new", "tasty-eats", "--dir", dir)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "go test ./...")
	_, stderr, status = pluginKit(t, "new", "tasty-eats", "--dir", dir)
	require.NotZero(t, status)
	require.Contains(t, stderr, "already exists and is not empty")
}

func TestNewPluginNameIsValidated(t *testing.T) {
	_, stderr, status := pluginKit(t, "new", "Tasty Eats", "--dir", t.TempDir())
	require.NotZero(t, status)
	require.Contains(t, stderr, `the name "Tasty Eats" must be lower-case letters, digits and hyphens`)
	_, stderr, status = pluginKit(t, "new", "tasty", "--dir", t.TempDir(), "--source", t.TempDir())
	require.NotZero(t, status)
	require.Contains(t, stderr, "go.mod: no such file")
}

func TestNewPluginCanRequireAReleasedHub(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, status := pluginKit(t, "new", "tasty", "--dir", dir, "--hub-version", "v1.2.3", "--module",
		"example.org/p/tasty", "--json")
	require.Zero(t, status, stderr)
	require.Contains(t, field(t, stdout, "files"), "plugin_test.go")
	module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	require.Equal(t, "module example.org/p/tasty\n\ngo 1.26\n\nrequire github.com/servery-hub/servery v1.2.3\n",
		string(module))
}

// The key-value groups of the three plugins must be consistent and complete.
func TestPluginKeyValueGroupsMatchTheSpecification(t *testing.T) {
	rules := map[pb.ValueRule]menu.ValueRule{
		pb.ValueRule_VALUE_RULE_WHOLE_NUMBER: menu.WholeNumber, pb.ValueRule_VALUE_RULE_ONE_OF: menu.OneOf,
		pb.ValueRule_VALUE_RULE_ANY_TEXT: menu.AnyText,
	}
	var declared []menu.Declaration
	for _, id := range []string{"aggregator-a", "aggregator-b", "aggregator-c"} {
		stdout, stderr, status := pluginKit(t, "describe",
			buildPlugin(t, "plugins/"+strings.ReplaceAll(id, "-", ""), id), "--json")
		require.Zero(t, status, stderr)
		about := &sdk.Description{}
		require.NoError(t, sdk.FromJSON([]byte(stdout), about))
		for _, group := range about.GetVocabulary() {
			require.True(t, group.GetOnItem() && !group.GetOnOption(), group.GetGroup())
			d := menu.Declaration{Group: group.GetGroup(), On: menu.OnItem, Platform: id}
			for _, key := range group.GetKeys() {
				d.Keys = append(d.Keys, menu.Key{Name: key.GetName(), Rule: rules[key.GetRule()],
					Allowed: key.GetAllowed()})
			}
			declared = append(declared, d)
		}
	}
	_, err := menu.NewVocabulary(declared...)
	require.NoError(t, err)
	keys, by := map[string][]string{}, map[string][]string{}
	for _, d := range declared {
		by[d.Group] = append(by[d.Group], d.Platform)
		for _, key := range d.Keys {
			keys[d.Group] = append(keys[d.Group], key.Name)
		}
		slices.Sort(keys[d.Group])
		keys[d.Group] = slices.Compact(keys[d.Group])
	}
	require.Equal(t, map[string][]string{"Additional Info": {"aggregator-b"},
		"NutritionalInfo": {"aggregator-a", "aggregator-b", "aggregator-c"}}, by)
	require.Equal(t, map[string][]string{
		"Additional Info": {"accompaniments", "quantity", "quantity_unit"},
		"NutritionalInfo": {"artificialsweetener_mg", "caffeine_mg", "calorie_kcal", "carbohydrate_mg",
			"cholesterol_mg", "fat_mg", "fiber_mg",
			"msg_mg", "polydextrose_mg", "polyols_mg", "protein_mg", "saturatedfat_mg", "sodium_mg", "transfat_mg"},
	}, keys)
}
