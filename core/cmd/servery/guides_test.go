package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func guideText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "adminui/reference/guides", name+".md"))
	require.NoError(t, err)
	return string(text)
}

// variablesOf returns the flags of a command by environment variable.
func variablesOf(t *testing.T, command string) map[string]*kong.Flag {
	t.Helper()
	parser, err := newParser(&cli{})
	require.NoError(t, err)
	variables := map[string]*kong.Flag{}
	for _, node := range parser.Model.Children {
		for _, flag := range node.Flags {
			for _, name := range flag.Envs {
				if node.Name == command {
					variables[name] = flag
				}
			}
		}
	}
	return variables
}

func TestConfigurationGuideListsEachVariableWithItsDefault(t *testing.T) {
	rows := map[string]string{}
	table := regexp.MustCompile("(?m)^\\| `(SERVERY_[A-Z_]+)` \\| ([^|]*) \\| [^|]+ \\|$")
	for _, row := range table.FindAllStringSubmatch(guideText(t, "configuration"), -1) {
		require.NotContains(t, rows, row[1], "a variable has one row")
		rows[row[1]] = row[2]
	}
	for name, variable := range variablesOf(t, "serve") {
		require.Contains(t, rows, name)
		if variable.Default != "" {
			require.Equal(t, "`"+variable.Default+"`", rows[name], name)
		}
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "SERVERY_")), "_", "-")
		require.Equal(t, flag, variable.Name, "the guide says that flags are named as their variables")
		delete(rows, name)
	}
	for name := range variablesOf(t, "simulator") {
		delete(rows, name)
	}
	require.Empty(t, rows, "no command reads these")
}

func TestSandboxGuideListsEachFlagOfListen(t *testing.T) {
	text := guideText(t, "sandbox")
	for name := range variablesOf(t, "listen") {
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "SERVERY_LISTEN_")), "_", "-")
		if flag == "address" {
			flag = "listen"
		}
		require.Contains(t, text, "| `--"+flag+"` |")
	}
}

func TestMetricsGuideListsEachAlertWithItsSeverity(t *testing.T) {
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(Servery[A-Za-z]+)` \\| (page|ticket) \\|").
		FindAllStringSubmatch(guideText(t, "metrics"), -1) {
		listed[row[1]] = row[2]
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy/prometheus/servery.rules.yaml"))
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert  string
				Labels map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	alerts := map[string]string{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				alerts[rule.Alert] = rule.Labels["severity"]
			}
		}
	}
	require.Equal(t, alerts, listed)
}
