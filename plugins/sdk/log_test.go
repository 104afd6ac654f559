package sdk

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// groupValue is a log value that resolves to an attribute group.
type groupValue struct{}

// LogValue returns a group with reserved names.
func (groupValue) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("msg", 5), slog.Any("@message", []int{1}))
}

func TestReservedLogFieldsAreAlwaysStrings(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(NewLogHandler(&out, slog.LevelDebug))
	for name, say := range map[string]func(){
		"attributes": func() {
			log.Info("said", "msg", 5, "level", true, "time", nil, "@message", 1, "@level", 2, "@timestamp", 3)
		},
		"with attributes":   func() { log.With("@message", 1, "msg", 2).Warn("said") },
		"an inline group":   func() { log.Info("said", slog.Group("", "@message", 7, slog.Group("", "level", 1))) },
		"an inline value":   func() { log.Error("said", slog.Any("", groupValue{})) },
		"a named group":     func() { log.WithGroup("g").Info("said", "@message", 1, "msg", 2) },
		"nothing but words": func() { log.Debug("said") },
	} {
		t.Run(name, func(t *testing.T) {
			out.Reset()
			say()
			var line map[string]any
			decoder := json.NewDecoder(&out)
			require.NoError(t, decoder.Decode(&line))
			require.Equal(t, "said", line["@message"])
			require.Contains(t, []any{"debug", "info", "warn", "error"}, line["@level"])
			require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`, line["@timestamp"])
			require.False(t, decoder.More())
		})
	}
}

func TestOverlongLogLineIsReplaced(t *testing.T) {
	var out bytes.Buffer
	slog.New(NewLogHandler(&out, slog.LevelInfo)).Error("all of it", "text", strings.Repeat("x", 70<<10))
	require.Less(t, out.Len(), 200)
	require.Contains(t, out.String(), `"@level":"error","@message":"a log line of 7`)
}
