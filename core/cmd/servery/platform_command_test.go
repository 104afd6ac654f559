package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// operator runs commands against a database and a directory of plugins.
type operator struct{ t *testing.T }

func newOperator(t *testing.T) operator {
	t.Helper()
	hubtest.Alone(t)
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

func TestPlatformsAndPluginsOnTheCommandLine(t *testing.T) {
	o := newOperator(t)
	source := filepath.Join(t.TempDir(), "built")
	installPlugin(t, source, "aggregator-b", "../../../plugins/aggregatorb")
	said, complaints := o.run("plugin", "install", filepath.Join(source, "aggregator-b"))
	require.Equal(t, "plugin aggregator-b 1.0.0 is installed\n", said, complaints)
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "not run yet")

	said, _ = o.run("business", "create", "--name", "X", "--country", "US", "--timezone", "America/Chicago", "--currency", "USD", "--json")
	var made struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(said), &made))
	business := "--business=" + strconv.Itoa(made.ID)
	said, _ = o.run("platform", "list", business)
	require.Contains(t, said, "aggregator-b         served by aggregator-b\n", "a new business has a platform for each plugin")

	for complaint, args := range map[string][]string{
		`endpoint "moon": plugin aggregator-b has none of that name`: {"--endpoint=moon=https://api.aggregator-b.example"},
		"host evil.example is not allowed":                           {"--endpoint=delivery_api=https://evil.example"},
		`secret "x": plugin aggregator-b has none of that name`:      {"--secret=x=1"},
		"settings: must be a JSON object":                            {"--settings={"},
		"settings":                                                   {"--settings=[]"},
		`there is no plugin "nosuch"; there are: aggregator-b`:       {"--plugin=nosuch"},
	} {
		_, complaints := o.run(append([]string{"platform", "set", business, "aggregator-b"}, args...)...)
		require.Contains(t, complaints, complaint)
	}
	_, complaints = o.run("platform", "set", "--business=999999", "aggregator-b", "--settings={}")
	require.Contains(t, complaints, "there is no business 999999")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	said, complaints = o.run("platform", "set", business, "tasty", "--plugin=aggregator-b",
		"--endpoint=delivery_api=https://api.aggregator-b.example/v1/", "--secret=access_token=@"+secret, "--settings={}")
	require.Equal(t, "platform tasty of business "+strconv.Itoa(made.ID)+" is served by aggregator-b\nstill missing: endpoint catalogue_api, secret callback_token\n", said, complaints)
	said, complaints = o.run("platform", "set", business, "tasty", "--endpoint=catalogue_api=https://api.aggregator-b.example", "--secret=callback_token=x", "--secret=access_token=")
	require.Contains(t, said, "\nstill missing: secret access_token\n", complaints)
	said, complaints = o.run("platform", "set", business, "tasty", "--secret=access_token=@"+secret)
	require.NotContains(t, said, "missing", complaints)
	said, _ = o.run("platform", "list", business, "--json")
	require.Contains(t, said, `{"accept":"hub","endpoints":{"catalogue_api":"https://api.aggregator-b.example","delivery_api":"https://api.aggregator-b.example/v1"},"name":"tasty","secrets":["access_token","callback_token"],"served_by":"aggregator-b","settings":{}}`)
	require.NotContains(t, said, "s3cret")

	_, complaints = o.run("platform", "set", business, "web", "--accept=pos")
	require.Contains(t, complaints, "platform web is served by own, which tells nobody that an order is accepted")
	_, complaints = o.run("platform", "set", business, "tasty", "--accept=nobody")
	require.Contains(t, complaints, "--accept")
	said, complaints = o.run("platform", "set", business, "tasty", "--accept=pos")
	require.Contains(t, said, "is served by aggregator-b", complaints)
	said, _ = o.run("platform", "list", business)
	require.Contains(t, said, "tasty                served by aggregator-b\n                     orders accepted by pos\n")
	said, complaints = o.run("platform", "set", business, "tasty", "--plugin=own")
	require.Contains(t, said, "is served by own\nthe settings, endpoints and secrets it had with aggregator-b are taken away\n", complaints)
	said, _ = o.run("platform", "set", business, "tasty", "--plugin=aggregator-b")
	require.Contains(t, said, "is served by aggregator-b\nstill missing: endpoint catalogue_api, endpoint delivery_api, secret access_token, secret callback_token\n")

	for complaint, store := range map[string]string{`has no store "S-1"`: "S-1=R-7"} {
		_, complaints := o.run("platform", "set", business, "tasty", "--store="+store)
		require.Contains(t, complaints, complaint)
	}

	said, _ = o.run("plugin", "disable", "aggregator-b")
	require.Equal(t, "plugin aggregator-b is disabled\n", said)
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "disabled")
	_, complaints = o.run("plugin", "enable", "nosuch")
	require.Contains(t, complaints, "there are: aggregator-b")
	said, complaints = o.run("plugin", "upgrade", filepath.Join(source, "aggregator-b"))
	require.Contains(t, said, "running hubs change over; it stays disabled", complaints)
	said, _ = o.run("plugin", "list")
	require.Contains(t, said, "disabled")
	for act, says := range map[string]string{
		"upgrade": `{"enabled":false,"id":"aggregator-b","installed":"1.0.0"}`, "install": `{"enabled":true,"id":"aggregator-b","installed":"1.0.0"}`,
	} {
		said, complaints = o.run("plugin", act, filepath.Join(source, "aggregator-b"), "--json")
		require.JSONEq(t, says, said, complaints)
		_, _ = o.run("plugin", "disable", "aggregator-b")
	}
	said, complaints = o.run("plugin", "logs", "aggregator-b", "--json")
	require.JSONEq(t, `{"faults":[],"log":[]}`, said, complaints)
}

func TestAPluginOfAnotherDigestIsNotInstalled(t *testing.T) {
	o := newOperator(t)
	source := t.TempDir()
	installPlugin(t, source, "aggregator-b", "../../../plugins/aggregatorb")
	spoil(t, filepath.Join(source, "aggregator-b", "aggregator-b"))
	_, complaints := o.run("plugin", "install", filepath.Join(source, "aggregator-b"))
	require.Contains(t, complaints, "SHA-256")
	said, _ := o.run("plugin", "list", "--json")
	require.Equal(t, "[]\n", said)
}
