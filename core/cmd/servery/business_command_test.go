package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestBusinessSetChangesMonitoringRules(t *testing.T) {
	env := environment{"SERVERY_DATABASE_URL": hubtest.DatabaseURL(t), "SERVERY_SECRET_KEY": hubtest.SecretKey}
	created := servery(t, env, "business", "create", "--name", "Tasty", "--country", "US", "--timezone",
		"America/Chicago",
		"--currency", "USD", "--json")
	require.Equal(t, 0, created.status, created.stderr)
	set := func(flags ...string) commandResult {
		return servery(t, env, append([]string{"business", "set", "--business", "1"}, flags...)...)
	}
	settings := func(flags ...string) string {
		r := set(append(flags, "--json")...)
		require.Equal(t, 0, r.status, r.stderr)
		return r.stdout
	}
	require.JSONEq(t, `{"acknowledge-within":"hub","pos-silent-after":"hub","close-silent-stores":false,
		"list-stores":"none","keep-personal-data":"off"}`, settings())
	require.JSONEq(t, `{"acknowledge-within":"5m","pos-silent-after":"15m","close-silent-stores":true,
		"list-stores":"none","keep-personal-data":"off"}`,
		settings("--acknowledge-within", "5m", "--pos-silent-after", "15m", "--close-silent-stores"))
	require.JSONEq(t, `{"acknowledge-within":"5m","pos-silent-after":"hub","close-silent-stores":true,
		"list-stores":"all","keep-personal-data":"off"}`,
		settings("--list-stores", "all", "--pos-silent-after", "hub"), "what is not given stays")
	require.JSONEq(t, `{"acknowledge-within":"5m","pos-silent-after":"hub","close-silent-stores":false,
		"list-stores":"all","keep-personal-data":"off"}`,
		settings("--no-close-silent-stores"))
	require.Contains(t, settings("--keep-personal-data", "90"), `"keep-personal-data":"90"`)
	require.Contains(t, settings("--keep-personal-data", "off"), `"keep-personal-data":"off"`)
	require.Equal(t,
		"business 1: orders are escalated after 5m, a POS is silent after hub, stores are closed while it is: false, "+
			"new stores without platform lists are listed on: all, days until personal data is erased: off\n",
		set().stdout)
	wrong := set("--acknowledge-within", "soon")
	require.Equal(t, 1, wrong.status)
	require.Contains(t, wrong.stderr, "--acknowledge-within: must be")
	wrong = set("--keep-personal-data", "soon")
	require.Equal(t, 1, wrong.status)
	require.Contains(t, wrong.stderr, "keep-personal-data must be off")
	wrong = set("--list-stores", "some")
	require.Equal(t, 1, wrong.status)
	require.Contains(t, wrong.stderr, `list-stores must be all or none, not "some"`)
	for _, flags := range [][]string{nil, {"--close-silent-stores"}, {"--list-stores", "all"},
		{"--keep-personal-data", "5"}} {
		r := servery(t, env, append([]string{"business", "set", "--business", "9"}, flags...)...)
		require.Equal(t, 1, r.status)
		require.Contains(t, r.stderr, "no business")
	}
}

func TestBusinessCallbackSecretIsReplacedAndShownOnce(t *testing.T) {
	env := environment{"SERVERY_DATABASE_URL": hubtest.DatabaseURL(t), "SERVERY_SECRET_KEY": hubtest.SecretKey}
	created := servery(t, env, "business", "create", "--name", "Tasty", "--country", "US", "--timezone",
		"America/Chicago",
		"--currency", "USD", "--json")
	require.Equal(t, 0, created.status, created.stderr)
	replace := func(flags ...string) commandResult {
		return servery(t, env, append([]string{"business", "callback-secret"}, flags...)...)
	}
	plain := replace("--business", "1")
	require.Regexp(t,
		`(?s)^callback secret of business 1 .* shown once.*: whsec_[A-Za-z0-9+/]{43}=\nthe earlier one signs too `+
			`until 20.*Z\n$`, plain.stdout, plain.stderr)
	require.Regexp(t, `^{"callback_secret":"whsec_[A-Za-z0-9+/]{43}=","old_secret_until":[0-9]{13}}\n$`,
		replace("--business", "1", "--json").stdout)
	for wrong, flags := range map[string][]string{"no business 9": {"--business", "9"},
		"from 0 to 720h": {"--business", "1", "--secret-overlap", "1000h"}} {
		r := replace(flags...)
		require.Equal(t, 1, r.status)
		require.Contains(t, r.stderr, wrong)
		require.Empty(t, r.stdout)
	}
}

func TestInvalidBusinessCreatesNoHub(t *testing.T) {
	env := environment{"SERVERY_DATA_DIR": filepath.Join(t.TempDir(), "data")}
	created := servery(t, env, "business", "create", "--name", "Tasty", "--country", "ZZ", "--timezone",
		"America/Chicago", "--currency", "USD")
	require.Equal(t, 1, created.status)
	require.Contains(t, created.stderr, "country must be a two-letter ISO 3166 code")
	require.NoDirExists(t, env["SERVERY_DATA_DIR"])
}

func TestChannelKeyRequiresAnExistingPlatform(t *testing.T) {
	env := environment{"SERVERY_DATABASE_URL": hubtest.DatabaseURL(t), "SERVERY_SECRET_KEY": hubtest.SecretKey}
	created := servery(t, env, "business", "create", "--name", "Tasty", "--country", "US", "--timezone",
		"America/Chicago",
		"--currency", "USD", "--json")
	require.Equal(t, 0, created.status, created.stderr)
	create := func(business, scope, platform string) commandResult {
		return servery(t, env, "key", "create", "--business", business, "--username", "shop", "--scope", scope,
			"--platform", platform)
	}
	require.Equal(t, 0, create("1", "channel", "web").status)
	for problem, rejected := range map[string]commandResult{
		`there is no platform "nope"`:                   create("1", "channel", "nope"),
		"there is no business 9":                        create("9", "channel", "web"),
		"platform is only for a key with scope channel": create("1", "pos", "web"),
		"there is no business 8":                        servery(t, env, "key", "list", "--business=8"),
		"there is no business 7":                        servery(t, env, "platform", "list", "--business=7"),
		"there is no business 6":                        servery(t, env, "platform", "alias", "list", "--business=6"),
	} {
		require.Equal(t, 1, rejected.status)
		require.Contains(t, rejected.stderr, problem)
		require.Empty(t, rejected.stdout)
	}
}
