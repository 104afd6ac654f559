package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/doctor"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

// runDoctor runs the doctor and returns its results by check.
func runDoctor(t *testing.T, env environment) (int, map[string][]doctor.Result) {
	t.Helper()
	e := servery(t, env, "doctor", "--json")
	var list []doctor.Result
	require.NoError(t, json.Unmarshal([]byte(e.stdout), &list), e.stdout+e.stderr)
	require.Contains(t, e.stdout, `"outcome":`, "scripts read it")
	found := map[string][]doctor.Result{}
	for _, one := range list {
		require.True(t, one.Outcome == doctor.OK || one.Remedy != "", "%v says what to do", one)
		found[one.Check] = append(found[one.Check], one)
	}
	return e.status, found
}

// requireResult checks the result of a check and its texts.
func requireResult(found map[string][]doctor.Result, check string, v doctor.Outcome, words string) bool {
	for _, one := range found[check] {
		if one.Outcome == v && strings.Contains(one.Found, words) {
			return true
		}
	}
	return false
}

func TestDoctorReportsEachProblem(t *testing.T) {
	url := hubtest.HubDatabaseURL(t)
	env := onDatabase(url).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", openDir(t))
	db := hubtest.Open(t, url, nil)
	require.NoError(t, db.CheckSeal(t.Context()))
	tenant, sink := hubtest.Business(t, db), hubtest.NewSink(t, nil)
	hubtest.Subscribe(t, db, tenant.ID, "store_creation", sink.URL)
	hubtest.Subscribe(t, db, tenant.ID, "inventory_update", "http://127.0.0.1:1/hook")

	status, found := runDoctor(t, env)
	for check, words := range map[string]string{
		"configuration": "every variable is valid", "clock": "from the clock of the database",
		"migrations": "all are applied",
		"partitions": "6 days ahead", "row-level security": "sees only its rows",
		"secret key": "decrypts all 6 secrets",
		"plugins":    "none are installed", "webhooks": "1 of 2 servers",
	} {
		require.True(t, requireResult(found, check, doctor.OK, words), "%s: %v", check, found[check])
	}
	require.True(t, requireResult(found, "webhooks", doctor.Warn, "http://127.0.0.1:1: connection refused"),
		found["webhooks"])
	require.True(t, requireResult(found, "database", doctor.Fail, "fsync is off"), "tests do without it")
	require.Equal(t, 1, status)

	_, found = runDoctor(t, env.With("SERVERY_WEBHOOK_ALLOW", ""))
	require.True(t, requireResult(found, "webhooks", doctor.Warn, "is not on the public internet"), found["webhooks"])

	_, found = runDoctor(t, env.With("SERVERY_SECRET_KEY", strings.Repeat("ab", 32)))
	require.True(t, requireResult(found, "secret key", doctor.Fail, "has the key of this database"),
		found["secret key"])

	_, found = runDoctor(t, env.With("SERVERY_SECRET_KEY", strings.Repeat("ab", 32), "SERVERY_SECRET_KEY_PREVIOUS",
		hubtest.SecretKey))
	require.True(t, requireResult(found, "secret key", doctor.Warn, "6 of 6 secrets"), found["secret key"])

	require.Len(t, found["plugin isolation"], 1)

	_, err := schema.MigrateDown(t.Context(), db)
	require.NoError(t, err)
	_, found = runDoctor(t, env)
	require.True(t, requireResult(found, "migrations", doctor.Fail, "are missing"), found["migrations"])
	require.True(t, requireResult(found, "row-level security, secret key, plugins, webhooks", doctor.Warn,
		"not checked"), found)
}

func TestDoctorExplainsAnUnreachableDatabase(t *testing.T) {
	databaseURL, err := url.Parse(hubtest.HubDatabaseURL(t)) // unix://USER@DATABASE/DIRECTORY
	require.NoError(t, err)
	role, database, latin, frozen := *databaseURL, *databaseURL, *databaseURL, *databaseURL
	role.User, database.Host = url.User("nobody"), "nothing"
	latin.Host, frozen.Host = databaseURL.Host+"_latin", databaseURL.Host+"_frozen"
	server := openTestDatabase(t, hubtest.AdminURL(t, databaseURL.String()))
	server.exec(t, `CREATE DATABASE `+latin.Host+` ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
		`DROP DATABASE `+latin.Host)
	server.exec(t, `CREATE DATABASE `+frozen.Host, `DROP DATABASE `+frozen.Host)
	server.exec(t, `ALTER DATABASE `+frozen.Host+` SET default_transaction_read_only = on`, "")
	for name, c := range map[string]struct{ url, found, do string }{
		"nothing listens": {"postgres://servery@127.0.0.1:1/servery", "connection refused", "start PostgreSQL"},
		"no such host":    {"postgres://servery@db..local/servery", "lookup db..local", "correct the host"},
		"no such socket": {"unix://servery@servery" + openDir(t) + "/.s.PGSQL.5432", "no such file",
			"start PostgreSQL"},
		"no such database": {database.String(), "does not exist", "create the database"},
		"no such role":     {role.String(), "nobody", "correct the user"},
		"not in UTF8":      {latin.String(), "must be in UTF8", "ENCODING 'UTF8' TEMPLATE template0"},
		"read-only": {frozen.String(), "default_transaction_read_only is on",
			"default_transaction_read_only = off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, found := runDoctor(t, onDatabase(c.url).With("SERVERY_DATA_DIR", openDir(t)))
			require.Equal(t, 1, status)
			require.True(t, requireResult(found, "database", doctor.Fail, c.found), found["database"])
			require.Contains(t, found["database"][0].Remedy, c.do)
		})
	}
}

func TestDoctorReportsMissingTemporaryTablePrivilege(t *testing.T) {
	database, err := url.Parse(hubtest.HubDatabaseURL(t))
	require.NoError(t, err)
	role := database.Host + "_role"
	server := openTestDatabase(t, hubtest.AdminURL(t, database.String()))
	server.exec(t, `CREATE ROLE `+role+` LOGIN PASSWORD 'own'`, `DROP OWNED BY `+role+`; DROP ROLE `+role)
	server.exec(t, `GRANT ALL ON SCHEMA public TO `+role+`; GRANT ALL ON ALL TABLES IN SCHEMA public TO `+role, "")
	database.User = url.UserPassword(role, "own")
	env := onDatabase(database.String()).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", openDir(t))
	_, found := runDoctor(t, env)
	require.False(t, requireResult(found, "database", doctor.Fail, "may not create temporary tables"),
		"every role may: %v",
		found["database"])

	server.exec(t, `REVOKE TEMPORARY ON DATABASE `+database.Host+` FROM public`, "")
	_, found = runDoctor(t, env)
	require.True(t, requireResult(found, "database", doctor.Fail, "may not create temporary tables"), found["database"])
}

func TestDoctorWarnsOfASuperuserRole(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	for url, warned := range map[string]bool{database: false, hubtest.AdminURL(t, database): true} {
		_, found := runDoctor(t,
			onDatabase(url).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", openDir(t)))
		require.Equal(t, warned, requireResult(found, "database", doctor.Warn, "is a superuser"), found["database"])
	}
}

func TestDoctorReportsAnInvalidDataDirectory(t *testing.T) {
	file := filepath.Join(openDir(t), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, found := runDoctor(t,
		onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_DATA_DIR", file, "SERVERY_PLUGIN_DIR", openDir(t)))
	require.True(t, requireResult(found, "data directory", doctor.Fail, "is not a directory"), found["data directory"])
}

func TestDoctorLeavesNoLogFile(t *testing.T) {
	dir := openDir(t)
	for _, file := range []string{"servery.log", "logs/today/servery.log"} {
		status, found := runDoctor(t, environment{"SERVERY_DATA_DIR": dir,
			"SERVERY_LOG_FILE": filepath.Join(dir, file)})
		require.Equal(t, 1, status, "there is no hub")
		require.True(t, requireResult(found, "configuration", doctor.OK, "valid"), found["configuration"])
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDoctorReportsAPluginDigestMismatch(t *testing.T) {
	dir := openDir(t)
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	program := filepath.Join(dir, "aggregator-a", "aggregator-a")
	require.NoError(t, os.Remove(program)) // other tests start it too
	require.NoError(t, os.WriteFile(program, []byte("another"), 0o700))
	_, found := runDoctor(t,
		onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", dir))
	require.True(t, requireResult(found, "plugin aggregator-a", doctor.Fail, "has the SHA-256 digest"),
		found["plugin aggregator-a"])
}

// TestDoctorExplainsAPluginThatMayNotStart installs a script whose interpreter is not executable.
func TestDoctorExplainsAPluginThatMayNotStart(t *testing.T) {
	dir, script := openDir(t), []byte("#!/etc/passwd\n")
	installed := filepath.Join(dir, "aggregator-a")
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	manifest, err := sdk.ReadManifest(filepath.Join(installed, sdk.ManifestName))
	require.NoError(t, err)
	manifest.Binaries = []sdk.Binary{{OS: sdk.AnySystem, Arch: sdk.AnySystem, Path: "script",
		SHA256: fmt.Sprintf("%x", sha256.Sum256(script))}}
	text, err := json.Marshal(manifest)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(installed, "script"), script, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(installed, sdk.ManifestName), text, 0o600))
	url := hubtest.HubDatabaseURL(t)
	require.NoError(t, calls.NewPlugins(hubtest.Open(t, url, nil)).Add(t.Context(), []string{"aggregator-a"}))
	_, found := runDoctor(t, onDatabase(url).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", dir))
	require.True(t, requireResult(found, "plugin aggregator-a", doctor.Fail, "was not permitted: fork/exec "),
		found["plugin aggregator-a"])
	require.Contains(t, found["plugin aggregator-a"][0].Remedy, "set TMPDIR to a directory that is not mounted")
}

func TestDoctorReportsPluginStatesOfRunningHubs(t *testing.T) {
	dir := openDir(t)
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	url := hubtest.HubDatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	plugins, now := calls.NewPlugins(db), time.Now()
	require.NoError(t, plugins.Add(t.Context(), []string{"aggregator-a"}))
	env := onDatabase(url).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", dir)
	_, found := runDoctor(t, env)
	require.True(t, requireResult(found, "plugin aggregator-a", doctor.OK,
		"no running hub has it; a trial start here of 1.0.0 succeeded"), found["plugin aggregator-a"])

	for _, h := range []console.PluginHub{{Version: "0.9.0", State: "quarantined", Reason: "exit status 7"},
		{Version: "1.0.0", State: "ready"}} {
		h.Plugin, h.Hub, h.Since = "aggregator-a", core.NewID(now), now.Add(-time.Hour)
		require.NoError(t, plugins.ReportCounts(t.Context(), []console.PluginHub{h}))
	}
	_, found = runDoctor(t, env)
	states := found["plugin aggregator-a"]
	require.Len(t, states, 2, "and no trial start: %v", states)
	since := now.Add(-time.Hour).UTC().Format(time.RFC3339)
	require.True(t, requireResult(found, "plugin aggregator-a", doctor.Fail,
		"0.9.0 is quarantined in 1 of 2 running hubs, since "+since+": exit status 7 ("+pluginhost.QuarantineRule),
		states)
	require.True(t, requireResult(found, "plugin aggregator-a", doctor.OK,
		"1.0.0 is ready in 1 of 2 running hubs, since "+since), states)
}

func TestDoctorReportsRejectedAndMissingSettings(t *testing.T) {
	dir := openDir(t)
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	url := hubtest.HubDatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	require.NoError(t, platforms.New(db).Set(t.Context(), hubtest.Business(t, db).ID,
		core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
			a.Settings = []byte(`{"brand":7}`)
			return nil
		}))
	_, found := runDoctor(t, onDatabase(url).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", dir))
	require.True(t, requireResult(found, "plugin aggregator-a", doctor.Fail,
		`it rejects the settings of platform "tasty"`),
		found["plugin aggregator-a"])
	require.True(t, requireResult(found, "plugin aggregator-a", doctor.Warn,
		`platform "tasty" of business 1 lacks endpoint partner_api, secret api_key, secret webhook_secret`),
		found["plugin aggregator-a"])
}

func TestDoctorReportsEveryConfigurationError(t *testing.T) {
	env := environment{
		"SERVERY_DATA_DIR": openDir(t), "SERVERY_SECRET_KEY": "", "SERVERY_ROLES": "cook",
		"SERVERY_RETENTION": "soon", "SERVERY_MAX_BODY": "3", "SERVERY_BODY_MEMORY": "3",
		"SERVERY_DATABASE_URL": "mysql://there", "SERVERY_LISTEN": "nonsense", "SERVERY_SIMULATOR": "xx",
		"SERVERY_RETENTON":   "90h",
		"SERVERY_PLUGIN_DIR": "/nowhere/plugins", "OTEL_EXPORTER_OTLP_ENDPOINT": "garbage",
		"SERVERY_DATABASE_CONNECTIONS": "3",
	}
	status, found := runDoctor(t, env)
	require.Equal(t, 1, status)
	for _, variable := range []string{
		"SERVERY_ROLES:", "SERVERY_RETENTION:", "SERVERY_MAX_BODY:", "SERVERY_BODY_MEMORY:", "SERVERY_DATABASE_URL",
		"SERVERY_LISTEN:", "SERVERY_SIMULATOR:",
		"SERVERY_RETENTON: there is no such variable, did you mean SERVERY_RETENTION?", "SERVERY_PLUGIN_DIR:",
		"OTEL_EXPORTER_OTLP_ENDPOINT:", "SERVERY_DATABASE_CONNECTIONS:", "SERVERY_SECRET_KEY: must not be empty",
	} {
		require.True(t, requireResult(found, "configuration", doctor.Fail, variable), "%s in %v", variable, found)
	}
	require.True(t, requireResult(found, "database", doctor.Fail, "not checked"), found)
}

func TestUnreadableFlagsAreReportedWithAllOtherErrors(t *testing.T) {
	e := servery(t, environment{
		"SERVERY_DATA_DIR": openDir(t), "SERVERY_ROLES": "api,cook", "SERVERY_RETENTION": "soon",
		"SERVERY_DELIVERY_LEASE": "later", "SERVERY_LOG_LEVEL": "loud",
		"SERVERY_FLUSH_GUARD": "half", "SERVERY_LIMIT_STORES": "many", "SERVERY_SECRET_KEY": "short",
		"SERVERY_SECRET_KEY_PREVIOUS": "short", "SERVERY_DATABASE_URL": "mysql://there",
		"SERVERY_LISTEN": "127.0.0.1:99999", "SERVERY_LOG_FILE": "/proc/x/y", "SERVERY_ROLE": "api",
	}, "serve")
	require.Equal(t, 1, e.status)
	for _, variable := range []string{
		"SERVERY_ROLES:", "SERVERY_RETENTION:", "SERVERY_DELIVERY_LEASE:", "SERVERY_LOG_LEVEL:", "SERVERY_FLUSH_GUARD:",
		"SERVERY_LIMIT_STORES:",
		"SERVERY_SECRET_KEY:", "SERVERY_SECRET_KEY_PREVIOUS:", "SERVERY_DATABASE_URL must",
		"SERVERY_LISTEN:", "SERVERY_LOG_FILE:", "SERVERY_ROLE:",
	} {
		require.Equal(t, 1, strings.Count(e.stderr, variable), "%s in %s", variable, e.stderr)
	}
}

func TestSecretsRotateCommandReencryptsSecrets(t *testing.T) {
	url, key := hubtest.HubDatabaseURL(t), strings.Repeat("ef", 32)
	db := hubtest.Open(t, url, nil)
	require.NoError(t, db.CheckSeal(t.Context()))
	hubtest.Business(t, db)
	env := onDatabase(url).With("SERVERY_SECRET_KEY", key, "SERVERY_SECRET_KEY_PREVIOUS", hubtest.SecretKey)
	counted := servery(t, env, "secrets", "rotate", "--dry-run")
	require.Zero(t, counted.status, counted.stderr)
	require.Regexp(t, `businesses.callback_secret +key [0-9a-f]{8} \(to be re-encrypted\): 1\n`, counted.stdout)
	done := servery(t, env, "secrets", "rotate")
	require.Zero(t, done.status, done.stderr)
	require.Regexp(t, `^2 values are now encrypted with key [0-9a-f]{8}\n$`, done.stdout)
	require.Contains(t, servery(t, env, "secrets", "rotate", "--dry-run").stdout, "(SERVERY_SECRET_KEY): 1")
	require.Equal(t, 1, servery(t, onDatabase(url), "secrets", "rotate", "--dry-run").status,
		"the earlier key opens nothing any more")
	require.Zero(t, servery(t, env.With("SERVERY_SECRET_KEY_PREVIOUS", ""), "secrets", "rotate", "--dry-run").status)
}
