package reference_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web"
)

var href = regexp.MustCompile(`href="([^"]*)"`)

func TestEveryLinkOfTheGuidesLeadsSomewhere(t *testing.T) {
	app, guides := app(t), 0
	files, err := filepath.Glob("guides/*.md")
	require.NoError(t, err)
	pages := map[string]string{}
	page := func(path string) string {
		if pages[path] == "" {
			response, body := get(t, app, path)
			require.Equal(t, http.StatusOK, response.StatusCode, path)
			pages[path] = body
		}
		return pages[path]
	}
	for _, file := range files {
		path := "/docs/" + strings.TrimSuffix(filepath.Base(file), ".md")
		require.Contains(t, page("/docs"), `href="`+path+`"`, "the reference lists the guide")
		for _, match := range href.FindAllStringSubmatch(page(path), -1) {
			target, fragment, _ := strings.Cut(match[1], "#")
			switch {
			case target == "" && fragment != "":
				target = path
			case !strings.HasPrefix(target, "/docs"):
				continue
			}
			require.True(t, fragment == "" ||
				strings.Contains(page(target), `id="`+fragment+`"`), "%s: %s", path, match[1])
		}
		require.NotContains(t, page(path), "hub.example.com", "commands name the hub itself")
		guides++
	}
	require.GreaterOrEqual(t, guides, 10)
}

// sampleOf returns the code sample of a guide in a language.
func sampleOf(t *testing.T, guide, language string) string {
	t.Helper()
	text, err := os.ReadFile("guides/" + guide + ".md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, 1)
	return found[0][1]
}

func TestVerificationSamplesRejectForgedDeliveries(t *testing.T) {
	for language, command := range map[string][]string{
		"go": {"go", "main.go"}, "python": {"python3", "main.py"}, "javascript": {"node", "main.js"},
		"java": {"javac", "Verify.java"}, "bash": {"bash", "main.sh"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("%s is not on this machine", command[0])
			}
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, command[len(command)-1]),
				[]byte(sampleOf(t, "signatures", language)), 0o600))
			compiled := map[string][2][]string{ // compiled once for all runs below
				"go":   {{"go", "build", "-o", "main", "main.go"}, {"./main"}},
				"java": {{"javac", "Verify.java"}, {"java", "Verify"}},
			}
			if compile, is := compiled[language]; is {
				build := exec.CommandContext(t.Context(), compile[0][0], compile[0][1:]...)
				build.Dir = dir
				out, err := build.CombinedOutput()
				require.NoError(t, err, "%s", out)
				command = compile[1]
			}
			verify := func(secret string, id core.ID, at time.Time, signatures, body string) bool {
				run := exec.CommandContext(t.Context(), command[0],
					append(command[1:], secret, id.String(), strconv.FormatInt(at.Unix(), 10), signatures)...)
				run.Dir, run.Stdin = dir, strings.NewReader(body)
				out, err := run.CombinedOutput()
				require.Empty(t, string(out))
				return err == nil
			}
			const body = `{"reference":"ñ\n","stats":{"created":1}}` + "\n"
			secret, id, now := webhook.NewSecret(), core.NewID(time.Now()), time.Now()
			signature, err := webhook.Sign(secret, id, now, []byte(body))
			require.NoError(t, err)
			other, err := webhook.Sign(webhook.NewSecret(), id, now, []byte(body))
			require.NoError(t, err)
			old := now.Add(-10 * time.Minute)
			stale, err := webhook.Sign(secret, id, old, []byte(body))
			require.NoError(t, err)
			require.True(t, verify(secret, id, now, signature, body), "genuine")
			require.True(t, verify(secret, id, now, other+" "+signature, body), "of one of two secrets")
			require.False(t, verify(secret, id, now, other, body), "of another secret")
			require.False(t, verify(secret, id, now, signature, body+" "), "another body")
			require.False(t, verify(secret, core.NewID(now), now, signature, body), "another id")
			require.False(t, verify(secret, id, old, stale, body), "old")
			run := exec.CommandContext(t.Context(), command[0],
				append(command[1:], secret, id.String(), "now[$(touch executed)]", signature)...)
			run.Dir, run.Stdin = dir, strings.NewReader(body)
			require.Error(t, run.Run(), "no number")
			require.NoFileExists(t, filepath.Join(dir, "executed"))
		})
	}
}

func TestPostmanCollectionHasEveryOperation(t *testing.T) {
	response, body := get(t, app(t), "/docs/postman.json")
	require.Equal(t, "application/json", response.Header.Get("Content-Type"))
	var collection struct {
		Item []struct {
			Item []struct {
				Request struct {
					Method string
					URL    struct{ Path []string }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &collection))
	have := map[string]bool{}
	for _, folder := range collection.Item {
		for _, item := range folder.Item {
			have[item.Request.Method+" /"+strings.Join(item.Request.URL.Path, "/")] = true
		}
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(web.OpenAPI(), &document))
	for path, operations := range document.Paths {
		for method := range operations {
			if method != "parameters" {
				request := strings.ToUpper(method) + " " + regexp.MustCompile(`\{(\w+)\}`).ReplaceAllString(path, ":$1")
				require.True(t, have[request], request)
			}
		}
	}
}
