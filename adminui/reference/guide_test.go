package reference_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	return sampleIn(t, string(text), language)
}

func sampleIn(t *testing.T, text, language string) string {
	t.Helper()
	found := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1)
	require.Len(t, found, 1)
	return found[0][1]
}

// verifier is a verification sample that is ready to run.
type verifier struct {
	dir     string
	command []string
}

// Python programs that call samples which are only functions.
const (
	callAPISample = `import sys; from api import verify
headers = dict(zip(("webhook-id", "webhook-timestamp", "webhook-signature"), sys.argv[2:]))
sys.exit(0 if verify(sys.argv[1], headers, sys.stdin.buffer.read()) else 1)`
	callPOS = `import sys; from pos import genuine
sys.exit(0 if genuine(*sys.argv[1:5], sys.stdin.buffer.read()) else 1)`
)

// verificationSamples are the samples by name: their languages in the guide, or where else they are.
var verificationSamples = map[string]struct {
	file         string
	compile, run []string
}{
	"go":         {"main.go", []string{"go", "build", "-o", "main", "main.go"}, []string{"./main"}},
	"python":     {"main.py", nil, []string{"python3", "main.py"}},
	"javascript": {"main.js", nil, []string{"node", "main.js"}},
	"java":       {"Verify.java", []string{"javac", "Verify.java"}, []string{"java", "Verify"}},
	"bash":       {"main.sh", nil, []string{"bash", "main.sh"}},
	"api":        {"api.py", nil, []string{"python3", "-c", callAPISample}},
	"pos":        {"pos.py", nil, []string{"python3", "-c", callPOS}},
}

// textOf returns the text of a verification sample.
func textOf(t *testing.T, name string) string {
	t.Helper()
	switch name {
	case "api":
		var document struct {
			Tags []struct{ Name, Description string }
		}
		require.NoError(t, json.Unmarshal(web.OpenAPI(), &document))
		for _, tag := range document.Tags {
			if tag.Name == "Signatures" {
				return sampleIn(t, tag.Description, "python")
			}
		}
		require.Fail(t, "the document has no such tag")
	case "pos":
		text, err := os.ReadFile("../../deploy/examples/pos.py")
		require.NoError(t, err)
		return string(text)
	}
	return sampleOf(t, "signatures", name)
}

// newVerifier stores and compiles a sample once, for all its runs.
func newVerifier(t *testing.T, name string) verifier {
	t.Helper()
	sample := verificationSamples[name]
	if program := slices.Concat(sample.compile, sample.run)[0]; !installed(program) {
		t.Skipf("%s is not on this machine", program)
	}
	v := verifier{t.TempDir(), sample.run}
	require.NoError(t, os.WriteFile(filepath.Join(v.dir, sample.file), []byte(textOf(t, name)), 0o600))
	if sample.compile != nil {
		build := exec.CommandContext(t.Context(), sample.compile[0], sample.compile[1:]...)
		build.Dir = v.dir
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return v
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// run returns what the sample prints about a delivery, and whether it accepts it.
func (v verifier) run(t *testing.T, secret string, s webhook.Signature, body string) (printed string, genuine bool) {
	t.Helper()
	run := exec.CommandContext(t.Context(), v.command[0],
		slices.Concat(v.command[1:], []string{secret, s.ID, s.Timestamp, s.Signatures})...)
	run.Dir, run.Stdin = v.dir, strings.NewReader(body)
	out, err := run.CombinedOutput()
	if err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError), "it ran")
	}
	return string(out), err == nil
}

func TestVerificationSamplesRejectForgedDeliveries(t *testing.T) {
	for name := range verificationSamples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerifier(t, name)
			verify := func(secret string, id core.ID, at time.Time, signatures, body string) bool {
				printed, genuine := v.run(t, secret, webhook.Signature{ID: id.String(),
					Timestamp: strconv.FormatInt(at.Unix(), 10), Signatures: signatures}, body)
				require.Empty(t, printed)
				return genuine
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
			_, genuine := v.run(t, secret, webhook.Signature{ID: id.String(), Timestamp: "now[$(touch executed)]",
				Signatures: signature}, body)
			require.False(t, genuine, "no number")
			require.NoFileExists(t, filepath.Join(v.dir, "executed"))
			requireRejectsEmptyKey(t, v)
		})
	}
}

// requireRejectsEmptyKey checks that a receiver without a secret accepts no signature.
func requireRejectsEmptyKey(t *testing.T, v verifier) {
	t.Helper()
	sent := webhook.Signature{ID: "a", Timestamp: strconv.FormatInt(time.Now().Unix(), 10)}
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte(sent.ID + "." + sent.Timestamp + ".{}"))
	sent.Signatures = "v1, v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, secret := range []string{"", "whsec_", "whsec_!"} { // lenient decoders drop the last character
		_, genuine := v.run(t, secret, sent, "{}")
		require.False(t, genuine, "%q", secret)
	}
}

func TestShellSampleRejectsAllWithoutOpenSSL(t *testing.T) {
	v := newVerifier(t, "bash")
	t.Setenv("PATH", v.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	sent := webhook.Signature{ID: "a", Timestamp: strconv.FormatInt(time.Now().Unix(), 10), Signatures: "v1,"}
	for _, status := range []string{"1", "0"} {
		require.NoError(t, os.WriteFile(filepath.Join(v.dir, "openssl"),
			[]byte("#!/bin/sh\ncat >/dev/null\nexit "+status+"\n"), 0o700))
		printed, genuine := v.run(t, webhook.NewSecret(), sent, "{}")
		require.Empty(t, printed)
		require.False(t, genuine, "openssl prints nothing, with status %s", status)
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
