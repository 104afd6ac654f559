package hub

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// fileText reads a file of the repository.
func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", name))
	require.NoError(t, err)
	return string(text)
}

// metricLabels returns the names of all metrics with their labels.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	db := hubtest.Database(t, nil)
	m, plugins := newMetrics(db, "test", hubtest.Logger()), newPluginMetrics()
	newMonitor(Config{}, db, m.registry, hubtest.Logger())
	m.registry.MustRegister(plugins.calls, plugins.states, pluginCollector{}, replicaCollector{}, connectionCollector{},
		memoryCollector{})
	descriptions, found := make(chan *prometheus.Desc), map[string][]string{}
	go func() {
		m.registry.Describe(descriptions)
		close(descriptions)
	}()
	form := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for d := range descriptions {
		match := form.FindStringSubmatch(d.String())
		require.NotNil(t, match, d.String())
		labels := strings.Split(match[2], ",")
		found[match[1]] = labels
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			found[match[1]+suffix] = append(slices.Clone(labels), "le")
		}
	}
	return found
}

var (
	figureName    = regexp.MustCompile(`\b(?:servery|process|go)_[a-z0-9_]+`)
	figureMatched = regexp.MustCompile(`\b((?:servery|process)_[a-z0-9_]+)\{([^}]*)\}`)
	matchedLabel  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
)

func TestAlertsAndDashboardUseExistingMetrics(t *testing.T) {
	known := metricLabels(t)
	require.Contains(t, known, "servery_queue_depth")
	var expressions []string
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(fileText(t, "deploy/prometheus/servery.rules.yaml")),
		&rules))
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			require.NotEmpty(t, rule.Annotations["do"], "%s says what to do", rule.Alert)
			require.Contains(t, fileText(t, "deploy/prometheus/servery.rules.test.yaml"),
				`alertname="`+rule.Alert+`"`)
			expressions = append(expressions, rule.Expr)
		}
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(fileText(t, "deploy/grafana/servery.json")),
		&dashboard))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	scaled := figureName.FindAllString(fileText(t, "deploy/kubernetes/scaling.yaml"), -1)
	adapted := fileText(t, "deploy/prometheus/adapter.yaml")
	require.NotEmpty(t, scaled)
	for _, name := range scaled {
		require.Contains(t, adapted, "seriesQuery: "+name+"{", "hubs are scaled by it")
	}
	expressions = append(expressions, scaled...)
	require.Greater(t, len(expressions), 20)
	for _, expression := range expressions {
		for _, name := range figureName.FindAllString(expression, -1) {
			require.Contains(t, slices.Sorted(maps.Keys(known)), name, expression)
		}
		for _, match := range figureMatched.FindAllStringSubmatch(expression, -1) {
			for _, label := range matchedLabel.FindAllStringSubmatch(match[2], -1) {
				if label[1] != "instance" { // metrics of Prometheus itself
					require.Contains(t, known[match[1]], label[1], expression)
				}
			}
		}
	}
}

func TestMetricsGuideListsEachMetricWithItsLabels(t *testing.T) {
	listed := map[string][]string{}
	table := regexp.MustCompile("(?m)^\\| `(servery_[a-z_]+)` \\|([^|]*)\\|")
	for _, row := range table.FindAllStringSubmatch(fileText(t, "adminui/reference/guides/metrics.md"), -1) {
		require.NotContains(t, listed, row[1], "a metric has one row")
		labels := []string{}
		for _, label := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[2], -1) {
			labels = append(labels, label[1])
		}
		listed[row[1]] = labels
	}
	served := metricLabels(t)
	for name, labels := range served {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if _, whole := served[base]; !strings.HasPrefix(name, "servery_") || base != name && whole {
			continue
		}
		labels = slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return label == "" })
		require.Contains(t, listed, name)
		require.ElementsMatch(t, labels, listed[name], "labels of %s", name)
		delete(listed, name)
	}
	require.Empty(t, listed, "no hub serves these")
}
