package main

import (
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

func TestServeOnATakenPortStartsNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	address := listener.Addr().String()
	for _, flags := range [][]string{{"serve"}, {"serve", "--demo"}} {
		dir := openDir(t)
		e := servery(t, environment{"SERVERY_DATA_DIR": dir, "SERVERY_LISTEN": address}, flags...)
		require.Equal(t, 1, e.status)
		require.Contains(t, e.stderr, address+" is in use")
		require.Contains(t, e.stderr, "SERVERY_LISTEN")
		require.Empty(t, e.stdout)
		started, err := filepath.Glob(filepath.Join(dir, "postgres*"))
		require.NoError(t, err)
		require.Empty(t, started)
		hubtest.RequireNoProcess(t, dir)
	}
}

// A command in another directory than the hub's must not create files there: they would look like another hub.
func TestOnlyServerCommandsCreateAPrivateDatabase(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	data := filepath.Join(dir, "hub")
	env := environment{"SERVERY_DATA_DIR": data, "SERVERY_PLUGIN_DIR": dir}
	for _, args := range [][]string{
		{"plugin", "list"}, {"platform", "list", "--business", "1"},
		{"key", "create", "--business", "1", "--username", "till"},
		{"migrate", "status"}, {"simulate", "faults", "--business", "1"}, {"doctor"},
	} {
		e := servery(t, env, args...)
		require.Equal(t, 1, e.status, args)
		require.Contains(t, e.stdout+e.stderr,
			"there is no hub in "+data+": set SERVERY_DATA_DIR or SERVERY_DATABASE_URL", args)
		require.NoDirExists(t, data, args)
	}
	for _, args := range [][]string{{"migrate", "up"}, {"plugin", "list"}} { // the hub has created it
		e := servery(t, env, args...)
		require.Zero(t, e.status, e.stderr)
	}
}

func TestServeReportsEveryConfigurationErrorAtOnce(t *testing.T) {
	dir := openDir(t)
	e := servery(t, environment{
		"SERVERY_DATA_DIR": dir, "SERVERY_LISTEN": "127.0.0.1:0", "SERVERY_WEBHOOK_ALLOW": "10.0.0.0/8,somewhere",
		"SERVERY_LIMIT_STORES": "many", "SERVERY_LIMIT_WEBHOOKS": "5", "SERVERY_LIMIT_READ": "0/1m",
		"SERVERY_MAX_BODY": "12", "SERVERY_RETENTION": "1h", "SERVERY_DELIVERY_LEASE": "1s", "SERVERY_JOB_LEASE": "1ms",
	}, "serve")
	require.Equal(t, 1, e.status)
	for _, variable := range []string{
		"SERVERY_WEBHOOK_ALLOW", "SERVERY_LIMIT_STORES", "SERVERY_LIMIT_WEBHOOKS", "SERVERY_LIMIT_READ",
		"SERVERY_MAX_BODY", "SERVERY_RETENTION", "SERVERY_DELIVERY_LEASE", "SERVERY_JOB_LEASE",
	} {
		require.Equal(t, 1, strings.Count(e.stderr, variable+":"), "%s in %s", variable, e.stderr)
	}
	require.Regexp(t, `(?s)LIMIT_READ:.*LIMIT_STORES:.*LIMIT_WEBHOOKS:`, e.stderr, "in the same order each time")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestServeRejectsUnreadableValues(t *testing.T) {
	for variable, value := range map[string]string{
		"SERVERY_JOB_LEASE": "1h", "SERVERY_DELIVERY_LEASE": "9999h", "SERVERY_MAX_BODY": "big",
		"SERVERY_ROLES": "api,cook", "SERVERY_SECRET_KEY": "short",
		"SERVERY_DATABASE_URL": "mysql://there",
	} {
		env := environment{"SERVERY_DATA_DIR": openDir(t), "SERVERY_LISTEN": "127.0.0.1:0",
			"SERVERY_SECRET_KEY": hubtest.SecretKey}
		e := servery(t, env.With(variable, value), "serve")
		require.Equal(t, 1, e.status, variable)
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "SERVERY_"), "_", "-"))
		require.True(t, strings.Contains(e.stderr, variable) ||
			strings.Contains(e.stderr, flag), "%s in %s", variable, e.stderr)
	}
}

// Both mistakes would otherwise start silently: a hub without its data, or one that does nothing.
func TestServeRejectsEmptyDatabaseURLAndRoles(t *testing.T) {
	for _, variable := range []string{"SERVERY_DATABASE_URL", "SERVERY_ROLES"} {
		dir := filepath.Join(openDir(t), "hub")
		e := servery(t, environment{"SERVERY_DATA_DIR": dir, "SERVERY_LISTEN": "127.0.0.1:0"}.With(variable, ""),
			"serve")
		require.Equal(t, 1, e.status, variable)
		require.Contains(t, e.stderr, variable+": must")
		require.NoDirExists(t, dir)
	}
}

func TestCommandsRejectASecretKeyUnknownToHubs(t *testing.T) {
	env, dir := onDatabase(hubtest.HubDatabaseURL(t)), openDir(t)
	delete(env, "SERVERY_SECRET_KEY")
	hubEnv, otherEnv := env.With("SERVERY_DATA_DIR", filepath.Join(dir, "there")),
		env.With("SERVERY_DATA_DIR", filepath.Join(dir, "elsewhere"))
	first := servery(t, hubEnv, "business", "create", "--name", "B", "--country", "US", "--timezone", "UTC",
		"--currency", "USD")
	require.Zero(t, first.status, first.stderr)
	require.Contains(t, first.stderr, "secret key created")
	key := []string{"key", "create", "--business", "1", "--username", "till"}
	second := servery(t, hubEnv, key...)
	require.Zero(t, second.status, second.stderr)
	for _, args := range [][]string{key, {"secrets", "rotate"}, {"key", "list", "--business", "1"}, {"doctor"}} {
		e := servery(t, otherEnv, args...)
		require.Equal(t, 1, e.status, args)
		require.Contains(t, e.stdout+e.stderr, "SERVERY_SECRET_KEY", args)
		require.NoDirExists(t, otherEnv["SERVERY_DATA_DIR"], args)
	}
	for _, args := range [][]string{{"migrate", "status"}, {"migrate", "up"}} {
		e := servery(t, otherEnv, args...)
		require.Zero(t, e.status, e.stderr)
		require.NoDirExists(t, otherEnv["SERVERY_DATA_DIR"], "no key is created: %v", args)
	}
	created, err := os.ReadFile(filepath.Join(hubEnv["SERVERY_DATA_DIR"], "secret.key"))
	require.NoError(t, err)
	rotate := hubEnv.With("SERVERY_SECRET_KEY_PREVIOUS", strings.TrimSpace(string(created)))
	require.Contains(t, servery(t, rotate, "secrets", "rotate").stderr, "SERVERY_SECRET_KEY: is required",
		"nor with one that lies there")
	require.Zero(t, servery(t, rotate.With("SERVERY_SECRET_KEY", hubtest.SecretKey), "secrets", "rotate").status)
}

func TestServeRejectsAWrongSecretKey(t *testing.T) {
	_, env := useSharedHub(t)
	for _, args := range [][]string{{"serve"}, {"key", "create", "--business", "1", "--username", "till"}} {
		e := servery(t, env.With("SERVERY_SECRET_KEY", strings.Repeat("ab", 32)), args...)
		require.Equal(t, 1, e.status)
		require.Contains(t, e.stderr, "has the key of this database")
	}
}

func TestServeReportsAMissingDatabase(t *testing.T) {
	database, err := url.Parse(hubtest.HubDatabaseURL(t))
	require.NoError(t, err)
	database.Host = "nowhere"
	e := servery(t, onDatabase(database.String()), "serve")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.stderr, `database "nowhere" does not exist`)
}

func TestCommandsRejectADatabaseOfAnEarlierBuild(t *testing.T) {
	address := hubtest.HubDatabaseURL(t)
	admin := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(hubtest.AdminURL(t, address))))
	defer admin.Close()
	_, err := admin.ExecContext(t.Context(), `UPDATE bun_migrations SET name = '20261121' || lpad(name, 6, '0')`)
	require.NoError(t, err)
	for _, args := range [][]string{{"serve"}, {"migrate", "up"},
		{"key", "create", "--business", "1", "--username", "till"}} {
		e := servery(t, onDatabase(address), args...)
		require.Equal(t, 1, e.status, args)
		require.Contains(t, e.stderr, "the database was created by an earlier build", args)
		require.Contains(t, e.stderr, "create an empty database", args)
	}
	e := servery(t, onDatabase(address), "doctor")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.stdout, "the database was created by an earlier build")
}

func TestMigrateCommandAppliesAndReverts(t *testing.T) {
	env := onDatabase(hubtest.HubDatabaseURL(t))
	require.NotEmpty(t, migrations(t, env, true))

	down := servery(t, env, "migrate", "down")
	require.Zero(t, down.status, down.stderr)
	names := migrations(t, env, false)
	for _, name := range names {
		require.Contains(t, down.stdout, "rolled back "+name)
	}
	text := servery(t, env, "migrate", "status")
	require.Zero(t, text.status, text.stderr)
	require.Equal(t, len(names), strings.Count(text.stdout, "missing "))

	for _, args := range [][]string{{"key", "list", "--business", "1"}, {"business", "list"}, {"plugin", "list"},
		{"key", "create", "--business", "1", "--username", "till"}} {
		e := servery(t, env, args...)
		require.Equal(t, 1, e.status, args)
		require.Equal(t, fmt.Sprintf("servery: the database lacks %d migrations, the first is %s: "+
			"run `servery migrate up`, or start a hub\n", len(names), names[0]), e.stderr, args)
	}
	require.Equal(t, names, migrations(t, env, false), "the commands changed nothing")

	up := servery(t, env, "migrate", "up")
	require.Zero(t, up.status, up.stderr)
	require.Equal(t, names, migrations(t, env, true))
	for _, name := range names {
		require.Contains(t, up.stdout, "applied "+name)
	}
	second := servery(t, env, "migrate", "up")
	require.Zero(t, second.status, second.stderr)
	require.Equal(t, "nothing to do\n", second.stdout)

	created := servery(t, env, "business", "create", "--name", "B", "--country", "US", "--timezone", "UTC",
		"--currency",
		"USD")
	require.Zero(t, created.status, created.stderr)
	rejected := servery(t, env, "migrate", "down")
	require.Equal(t, 1, rejected.status)
	require.Contains(t, rejected.stderr, "add --yes")
	migrations(t, env, true)
	down = servery(t, env, "migrate", "down", "--yes")
	require.Zero(t, down.status, down.stderr)
	startHub(t, env)
}

// migrations lists the migrations. Either all or none must be applied.
func migrations(t *testing.T, env environment, applied bool) []string {
	t.Helper()
	var list []schema.Migration
	serveryJSON(t, env, &list, "migrate", "status")
	var names []string
	for _, m := range list {
		require.Equal(t, applied, m.Applied, m.Name)
		names = append(names, m.Name)
	}
	return names
}
