package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

// samplesOf returns the code blocks of a guide in a language.
func samplesOf(t *testing.T, guide, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "adminui/reference/guides", guide+".md"))
	require.NoError(t, err)
	var all strings.Builder
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text),
		-1) {
		all.WriteString(block[1])
	}
	require.NotEmpty(t, all.String(), "%s has samples in %s", guide, language)
	return all.String()
}

// The hub has the default throttles, and the pauses of the commands respect them. Both use a clock that is five times
// as fast.
func TestGuideCommandsWorkWithinTheThrottles(t *testing.T) {
	needsPrograms(t, "curl", "awk")
	plugins := openDir(t)
	installtest.Plugin(t, plugins, "aggregator-a", filepath.Join(root, "plugins/aggregatora"))
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", plugins, "SERVERY_LIMIT_MENU", "1/1s",
		"SERVERY_LIMIT_WEBHOOKS", "5/12s",
		"SERVERY_LIMIT_READ", "60/12s", "SERVERY_LIMIT_OPERATIONS", "60/12s", "SERVERY_LIMIT_STORES", "20/12s")
	hub := startHub(t, env)
	pos := newAPIClient(t, env)
	shop := newKey(t, env, pos.business, "channel")
	for _, guide := range []string{"first-sync", "retries", "menus", "orders", "riders", "actions"} {
		// A rejected request ends the script. The script polls for results.
		script :=
			`set -eu; curl() { command curl --fail-with-body -o "$OUT" "$@" || { cat "$OUT" >&2; return 22; }; cat ` +
				`"$OUT"; }
			sleep() { command sleep "$(echo "$1" | awk '{print $1 / 5}')"; }; sleep 6` + "\n" +
				samplesOf(t, guide, "shell")
		run := exec.CommandContext(t.Context(), "sh")
		run.Stdin = strings.NewReader(script)
		run.Env = append(os.Environ(), "BASE="+hub.URL, "AUTH=Authorization: "+pos.authorization,
			"SHOP=Authorization: "+shop.authorization,
			"OUT="+filepath.Join(t.TempDir(), "answer"))
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s: %s", guide, out)
		require.Regexp(t, `"(status|state)"`, string(out), guide)
	}
}

// A machine with Go and a checkout is sufficient: nothing is downloaded.
func TestPluginAuthorCommandsWorkOutsideACheckout(t *testing.T) {
	binary := builtBinary(t)
	programs := t.TempDir()
	require.NoError(t, os.Symlink(binary, filepath.Join(programs, "servery")))
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", openDir(t))
	newAPIClient(t, env)
	run := exec.CommandContext(t.Context(), "sh")
	run.Stdin, run.Dir = strings.NewReader("set -eu\n"+samplesOf(t, "plugins", "shell")), t.TempDir()
	run.Env = slices.Concat(os.Environ(), env.List(),
		[]string{"PATH=" + programs + ":" + os.Getenv("PATH"), "CHECKOUT=" + checkout, "GOPROXY=off", "GOWORK=off",
			"GOFLAGS=" + os.Getenv("GOFLAGS") + " -vet=off"}) // go vet checks the scaffold in this repository
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "still missing")
	require.Contains(t, string(out), "ok    golden answers\n")

	module := filepath.Join(run.Dir, "my-aggregator")
	require.NoError(t, os.WriteFile(filepath.Join(module, "render.go"), []byte(samplesOf(t, "plugins", "go")), 0o600))
	suite := exec.CommandContext(t.Context(), "go", "test", "./...")
	suite.Dir, suite.Env = module, run.Env
	out, err = suite.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestGuideProgramsWork(t *testing.T) {
	hub, env := useSharedHub(t)
	pos := newAPIClient(t, env)
	for language, command := range map[string][]string{"go": {"go", "run", "main.go"}, "python": {"python3", "main.py"},
		"javascript": {"node", "main.js"},
		"typescript": {"node", "--experimental-strip-types", "main.ts"}} {
		t.Run(language, func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("%s is not on this machine", command[0])
			}
			if language == "typescript" &&
				exec.CommandContext(t.Context(), command[0], command[1], "--eval", "0").Run() != nil {
				t.Skip("this machine's node does not read TypeScript")
			}
			run, dir := exec.CommandContext(t.Context(), command[0], command[1:]...), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, command[len(command)-1]),
				[]byte(samplesOf(t, "clients", language)), 0o600))
			run.Dir, run.Env = dir, append(os.Environ(), "BASE="+hub.URL,
				"KEY="+strings.TrimPrefix(pos.authorization, "apikey "))
			out, err := run.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "Street")
		})
	}
}
