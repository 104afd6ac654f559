package devpg

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"
)

// plainConfig is fastConfig without the options for tests.
func plainConfig(dir string) Config {
	cfg := fastConfig(dir)
	cfg.Testing = false
	return cfg
}

func tryAs(t *testing.T, dsn, statement string) error {
	t.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()
	_, err := db.ExecContext(t.Context(), statement)
	return err
}

func TestEveryRoleIsAskedForAPassword(t *testing.T) {
	t.Parallel()
	s := start(t, plainConfig(dataDir(t)))
	address, err := url.Parse(s.DSN())
	require.NoError(t, err)
	for _, user := range []*url.Userinfo{
		url.User(roleName), url.UserPassword(roleName, "wrong"), url.User(superuser),
		url.UserPassword(superuser, s.password), url.UserPassword(tenantRole, s.password),
		url.UserPassword(testRole, s.password),
	} {
		address.User = user
		require.ErrorContains(t, tryAs(t, address.String(), "SELECT 1"), "28P01", user.Username())
	}
	require.NoError(t, tryAs(t, s.DSN(), "SELECT 1"))
}

func TestHubRoleOwnsItsDatabaseAndNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t, plainConfig(dataDir(t)))
	assert.Equal(t, "servery",
		query(t, s, "SELECT datdba::regrole::text FROM pg_database WHERE datname = current_database()"))
	assert.Equal(t, "ffff", query(t, s,
		"SELECT concat(left(rolsuper::text, 1), left(rolcreaterole::text, 1), left(rolcreatedb::text, 1), "+
			"left(rolreplication::text, 1)) FROM pg_roles WHERE rolname = current_user"))
	assert.Equal(t, "postgres", query(t, s, "SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolsuper"))
	require.NoError(t, tryAs(t, s.DSN(), "SET ROLE servery_tenant"))
	require.NoError(t, tryAs(t, s.DSN(), "CREATE TABLE owned ()"))
	for _, statement := range []string{
		"COPY (SELECT 1) TO PROGRAM 'true'", "SELECT pg_read_file('PG_VERSION')", "SET ROLE postgres",
		"CREATE ROLE another", "ALTER SYSTEM SET log_statement = 'all'",
	} {
		require.ErrorContains(t, tryAs(t, s.DSN(), statement), "42501", statement)
	}
}

func TestOnlyTheOwnerMayReadThePassword(t *testing.T) {
	t.Parallel()
	s := start(t, plainConfig(dataDir(t)))
	info, err := os.Stat(filepath.Join(s.layout.cluster(), passwordFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	uid, _ := ownerOf(info)
	assert.Equal(t, s.layout.owner.uid, uid)
	log, err := os.ReadFile(s.layout.logPath())
	require.NoError(t, err)
	assert.NotContains(t, string(log), s.password)
}

func TestClusterWithoutPasswordIsRejected(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, plainConfig(dir))
	require.NoError(t, os.Remove(filepath.Join(s.layout.cluster(), passwordFile)))
	_, err := Start(t.Context(), plainConfig(dir))
	require.ErrorContains(t, err, "move the directory away")
	require.NotContains(t, err.Error(), "\n")
	assert.Equal(t, "1", query(t, s, "SELECT 1::text"), "those who use it go on")

	require.NoError(t, s.Close(t.Context()))
	_, err = Start(t.Context(), plainConfig(dir))
	require.ErrorContains(t, err, "move the directory away")
	assert.Empty(t, serversBelow(dir))
}

func TestChildProcessesInheritNoEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"SERVERY_SECRET_KEY": "secret", "PGPASSWORD": "secret", "AWS_SECRET_ACCESS_KEY": "secret",
		"HTTPS_PROXY": "http://user:secret@proxy",
		"TZ":          "Asia/Dubai", "HOME": "/root", "https_proxy": "http://proxy",
	} {
		t.Setenv(name, value)
	}
	s := start(t, plainConfig(dataDir(t)))
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pidOf(s)) + "/environ")
	if os.IsNotExist(err) {
		t.Skip("this system has no /proc")
	}
	require.NoError(t, err)
	var names []string
	for variable := range strings.SplitSeq(strings.TrimRight(string(environ), "\x00"), "\x00") {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	assert.Subset(t, []string{"PATH", "LC_ALL", "TZ", "TMPDIR", "PG_GRANDPARENT_PID"}, names)
	assert.Contains(t, names, "PATH")
	assert.Contains(t, environment(aptNeeds...), "https_proxy=http://proxy")
	assert.NotContains(t, environment(), "https_proxy=http://proxy")
}

// Root runs the server as an ordinary user, which then starts its own.
func TestOrdinaryUserStartsTwice(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the other tests of this package run as an ordinary user already")
	}
	nobody, err := serviceAccount()
	require.NoError(t, err)
	dir := dataDir(t)
	require.NoError(t, nobody.chown(dir))
	program := filepath.Join(dir, "test")
	require.NoError(t, os.Link(os.Args[0], program))
	require.NoError(t, os.Chmod(program, 0o755))
	for range 2 {
		run := exec.CommandContext(t.Context(), program)
		run.Env = []string{childEnv + "=" + filepath.Join(dir, "data"), "PATH=" + os.Getenv("PATH"),
			childQuery + "=SELECT current_user"}
		run.SysProcAttr, run.Dir = &syscall.SysProcAttr{Credential: nobody.attributes().Credential}, "/"
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "servery\n", string(out))
	}
}

// answerOnce is the second process of TestOrdinaryUserStartsTwice.
func answerOnce(dir, text string) error {
	s, err := Start(context.Background(), plainConfig(dir))
	if err != nil {
		return err
	}
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(s.DSN())))
	defer db.Close()
	var out string
	if err := db.QueryRowContext(context.Background(), text).Scan(&out); err != nil {
		return err
	}
	_, _ = os.Stdout.WriteString(out + "\n")
	return s.Close(context.Background())
}
