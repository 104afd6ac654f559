package main

import (
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// readmeSample is a command of the README with the output that it shows, if any.
type readmeSample struct{ command, output string }

func readmeSamples(t *testing.T) []readmeSample {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:```json\n(.*?)^```)?")
	var samples []readmeSample
	for _, match := range blocks.FindAllStringSubmatch(string(text), -1) {
		samples = append(samples, readmeSample{match[1], strings.TrimSpace(match[2])})
	}
	require.Greater(t, len(samples), 5)
	return samples
}

// matches reports whether the output is as shown, where … matches anything.
func (s readmeSample) matches(output string) bool {
	if s.output == "" {
		return strings.Contains(output, `"status":"success"`) && !strings.Contains(output, `"status":"error"`)
	}
	shown := strings.ReplaceAll(regexp.QuoteMeta(s.output), "…", ".*")
	return regexp.MustCompile("^" + shown + "$").MatchString(strings.TrimSpace(output))
}

// The clock of throttles and of pauses between commands is five times as fast.
func TestREADMESamplesRunAsShown(t *testing.T) {
	needsPrograms(t, "curl", "awk")
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", openDir(t), "SERVERY_LIMIT_MENU", "1/1s")
	hub := startHub(t, env)
	pos := newAPIClient(t, env)
	shop := newKey(t, env, pos.business, "channel")
	const fasterSleep = `set -eu; sleep() { command sleep "$(echo "$1" | awk '{print $1 / 5}')"; }` + "\n"
	for _, sample := range readmeSamples(t) {
		run := func() string {
			command := exec.CommandContext(t.Context(), "sh")
			command.Stdin = strings.NewReader(fasterSleep + sample.command)
			command.Env = append(os.Environ(), "BASE="+hub.URL,
				"AUTH=Authorization: "+pos.authorization, "SHOP=Authorization: "+shop.authorization)
			out, err := command.CombinedOutput()
			require.NoError(t, err, "%s\n%s", sample.command, out)
			return string(out)
		}
		output := run()
		if strings.Contains(sample.command, "-d") {
			require.True(t, sample.matches(output), "%s\n%s", sample.command, output)
			continue
		}
		// A reader looks at the result a moment after the request.
		require.Eventually(t, func() bool { return sample.matches(run()) }, waitTimeout, 50*time.Millisecond,
			sample.command)
	}
}

func TestREADMELinksLeadToFiles(t *testing.T) {
	link := regexp.MustCompile(`(?:\]\(|srcset="|src=")([^)"#]+)`)
	pages := append([]string{"README.md", "deploy/README.md", ".github/SECURITY.md"}, developerPages...)
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(match[1], "https://") {
				_, err := os.Stat(filepath.Join(root, filepath.Dir(page), match[1]))
				require.NoError(t, err, page)
			}
		}
	}
}

// developerPages are the pages for developers.
var developerPages = []string{"core/README.md", ".github/CONTRIBUTING.md"}

func TestDeveloperREADMEsStayShort(t *testing.T) {
	words := 0
	for _, page := range developerPages {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		words += len(strings.Fields(regexp.MustCompile(`[|]|-{3,}`).ReplaceAllString(string(text), " ")))
	}
	require.LessOrEqual(t, words, 3000)
}

func TestDeveloperREADMENamesEveryPackageOfTheCore(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "core/README.md"))
	require.NoError(t, err)
	sources(t, func(pkg, _ string, _ *ast.File, _ *token.FileSet) {
		if pkg != "core" && !strings.HasPrefix(pkg, "core/") || pkg == "core/cmd/gotest" {
			return
		}
		name := strings.TrimPrefix(pkg, "core/internal/postgres/") // a separate table lists these
		require.Regexp(t, "`("+pkg+"|"+name+")`", string(text))
	})
}

func TestDeveloperREADMEsNameExistingFilesAndCode(t *testing.T) {
	files := regexp.MustCompile("`((?:core|web|adminui|plugins|migrations|deploy)/[^` *]+|\\.ci/run)\\*?`")
	code := regexp.MustCompile("`(?:[A-Za-z]+\\.)*([A-Za-z]+)`") // such as Store.Claim and claimAhead
	mixed := regexp.MustCompile(`[a-z][A-Z]|[A-Za-z]\.[A-Za-z]`)
	file := regexp.MustCompile(`\.(?:md|mod|sum|go|sql|yaml)$`)
	known := map[string]bool{}
	sources(t, func(_, _ string, parsed *ast.File, _ *token.FileSet) {
		ast.Inspect(parsed, func(node ast.Node) bool {
			if name, ok := node.(*ast.Ident); ok {
				known[name.Name] = true
			}
			return true
		})
	})
	for _, page := range developerPages {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		named := files.FindAllStringSubmatch(string(text), -1)
		require.Greater(t, len(named), 20, page)
		for _, match := range named {
			if !strings.Contains(match[1], "NAME") {
				_, err := os.Stat(filepath.Join(root, match[1]))
				require.NoError(t, err, page)
			}
		}
		for _, match := range code.FindAllStringSubmatch(string(text), -1) {
			if name := strings.Trim(match[0], "`"); mixed.MatchString(name) && !file.MatchString(name) {
				require.True(t, known[match[1]], "%s: there is no %s", page, name)
			}
		}
	}
}
