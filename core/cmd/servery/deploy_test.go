package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"
	"go.yaml.in/yaml/v3"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/web"
)

// readDeployFile returns the files of deploy/ with one of the extensions, by path.
func readDeployFile(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "deploy"),
		func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || len(endings) > 0 && !slices.Contains(endings, filepath.Ext(path)) {
				return err
			}
			content, err := os.ReadFile(path)
			files[path] = string(content)
			return err
		}))
	require.NotEmpty(t, files)
	return files
}

func TestEveryDeployYAMLFileParses(t *testing.T) {
	for path, text := range readDeployFile(t, ".yaml", ".yml") {
		decoder := yaml.NewDecoder(strings.NewReader(text))
		decoder.KnownFields(true)
		for n := 0; ; n++ {
			var document map[string]any
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) {
				require.Positive(t, n, path)
				break
			}
			require.NoError(t, err, path)
			require.NotEmpty(t, document, path)
		}
	}
}

func TestDeployFilesNameOnlyKnownVariables(t *testing.T) {
	parser, err := newParser(&cli{})
	require.NoError(t, err)
	known := map[string]bool{}
	require.NoError(t, kong.Visit(parser.Model.Node, func(node kong.Visitable, next kong.Next) error {
		if value, ok := node.(*kong.Value); ok {
			for _, name := range value.Tag.Envs {
				known[name] = true
			}
		}
		return next(nil)
	}))
	require.True(t, known["SERVERY_DATABASE_URL"])
	known["SERVERY_HOST"] = true // variables of Caddy itself
	files := readDeployFile(t)
	guides, err := filepath.Glob(filepath.Join(root, "adminui/reference/guides/*.md"))
	require.NoError(t, err)
	for _, path := range append(guides, filepath.Join(root, "README.md"), filepath.Join(root, ".github/SECURITY.md")) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		files[path] = string(text)
	}
	for path, text := range files {
		for _, name := range regexp.MustCompile(`\bSERVERY_[A-Z_]*[A-Z]\b`).FindAllString(text, -1) {
			require.True(t, known[name], "%s: no flag reads %s", path, name)
		}
	}
}

func TestDeployFilesUseTheSamePort(t *testing.T) {
	const port = "8080"
	for file, patterns := range map[string][]string{
		"Dockerfile":                    {`SERVERY_LISTEN=0\.0\.0\.0:(\d+)`, `EXPOSE (\d+)`},
		"compose.yaml":                  {`SERVERY_LISTEN: 0\.0\.0\.0:(\d+)`, `127\.0\.0\.1:\d+:(\d+)`},
		"Caddyfile":                     {`reverse_proxy @\w+ 127\.0\.0\.1:(\d+)`},
		"systemd/servery.env":           {`SERVERY_LISTEN=127\.0\.0\.1:(\d+)`},
		"kubernetes/configuration.yaml": {`SERVERY_LISTEN: 0\.0\.0\.0:(\d+)`},
		"kubernetes/api.yaml":           {`containerPort: (\d+)`, `prometheus.io/port: "(\d+)"`},
		"kubernetes/worker.yaml":        {`containerPort: (\d+)`, `prometheus.io/port: "(\d+)"`},
		"kubernetes/console.yaml":       {`containerPort: (\d+)`, `prometheus.io/port: "(\d+)"`},
		"kubernetes/network.yaml":       {`ports: \[\{port: (8\d+)\}\]`},
	} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", file))
		require.NoError(t, err)
		for _, pattern := range patterns {
			found := regexp.MustCompile(pattern).FindAllSubmatch(text, -1)
			require.NotEmpty(t, found, "%s: %s", file, pattern)
			for _, match := range found {
				require.Equal(t, port, string(match[1]), "%s: %s", file, pattern)
			}
		}
	}
}

func TestComposeHubMayReachTheSimulator(t *testing.T) {
	var compose struct {
		Services map[string]struct{ Environment map[string]string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(readDeployFile(t)[filepath.Join(root, "deploy/compose.try.yaml")]),
		&compose))
	simulator, err := url.Parse(compose.Services["simulator"].Environment["SERVERY_SIMULATOR"])
	require.NoError(t, err)
	allowed, err := netip.ParsePrefix(compose.Services["hub"].Environment["SERVERY_WEBHOOK_ALLOW"])
	require.NoError(t, err)
	require.True(t, allowed.Contains(netip.MustParseAddr(simulator.Hostname())))
}

func TestIngressRoutesEveryAPIPath(t *testing.T) {
	var described struct{ Paths map[string]any }
	require.NoError(t, yaml.Unmarshal(web.OpenAPI(), &described))
	var prefixes []string
	for _, match := range regexp.MustCompile(`\{path: (/[a-z.]*), `).
		FindAllStringSubmatch(readDeployFile(t)[filepath.Join(root, "deploy/kubernetes/network.yaml")], -1) {
		prefixes = append(prefixes, match[1])
	}
	require.Subset(t, prefixes, []string{"/", "/docs", "/console", "/assets"})
	require.NotEmpty(t, described.Paths)
	for path := range described.Paths {
		first, _, _ := strings.Cut(path[1:], "/")
		if !slices.Contains([]string{"healthz", "readyz", "metrics"}, first) { // requested within the container
			require.Contains(t, prefixes, "/"+first, path)
		}
	}
}

func TestDeployScriptsAreValidShell(t *testing.T) {
	for path, text := range readDeployFile(t, ".sh") {
		var stderr bytes.Buffer
		check := exec.CommandContext(t.Context(), "sh", "-n")
		check.Stdin, check.Stderr = strings.NewReader(text), &stderr
		require.NoError(t, check.Run(), "%s: %s", path, &stderr)
	}
}

func TestBackupRestoresAcceptedOrders(t *testing.T) {
	t.Parallel()
	needsPrograms(t, "curl", "openssl")
	binary := builtBinary(t)
	check := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "deploy/check/restore.sh"), binary)
	check.Env = append(os.Environ(), "ORDERS=10", fmt.Sprint("PORT=", hubtest.Port(t)))
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "all 20 accepted orders and their events are back, what was on its way arrives")
}

// The next schema adds a column to every table, and a migration. After a rollback of an upgrade, this program must work
// on it. `make rollback` tests the programs of two commits.
func TestUpgradeCanBeRolledBack(t *testing.T) {
	needsPrograms(t, "curl", "openssl")
	binary, address := builtBinary(t), emptyDatabase(t)
	plugins := t.TempDir()
	installtest.Plugin(t, plugins, "aggregator-b", root+"/plugins/aggregatorb")
	env := onDatabase(address).With("SERVERY_LISTEN", fmt.Sprint("127.0.0.1:", hubtest.Port(t)),
		"SERVERY_LIMIT_MENU", "off", "SERVERY_PLUGIN_DIR", plugins, "SERVERY_DATA_DIR", t.TempDir())
	exercise := func(store string) {
		check := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "deploy/check/exercise.sh"), binary, store)
		check.Env = env.List()
		out, err := check.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	exercise("before")
	admin := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(hubtest.AdminURL(t, address))))
	defer admin.Close()
	_, err := admin.ExecContext(t.Context(), nextSchema)
	require.NoError(t, err)
	exercise("back")
}

const nextSchema = `DO $$ DECLARE this record; BEGIN
	FOR this IN SELECT oid::regclass AS name FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
				AND relname NOT LIKE 'bun_%' LOOP
		EXECUTE format('ALTER TABLE %s ADD COLUMN of_next text DEFAULT ''''', this.name);
	END LOOP;
	INSERT INTO bun_migrations (name, group_id) VALUES ('9999', 2);
END $$`

// emptyDatabase returns the URL of a database without tables.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	url := hubtest.HubDatabaseURL(t)
	admin := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(hubtest.AdminURL(t, url))))
	defer admin.Close()
	_, err := admin.ExecContext(t.Context(), `DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION servery`)
	require.NoError(t, err)
	return url
}

// needsPrograms skips a test if a program is missing, except in CI.
func needsPrograms(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				require.FailNow(t, "the machine lacks a program", program)
			}
			t.Skipf("%s is missing", program)
		}
	}
}
