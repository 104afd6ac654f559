package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

const (
	maxBufferedLines  = 200 // of a plugin's log, for people
	maxBufferedBytes  = 64 << 10
	maxLinesPerSecond = 100 // further lines are dropped and counted
	maxLoggedLine     = 4 << 10
	cutMargin         = 512 // dropped at the end of a line that is cut, which can be a part of a personal value
	messageKey        = "@message"
)

// logBuffer writes the lines of a plugin's log to the hub's log, and keeps the last ones. A plugin that logs endlessly
// takes a bounded share of the log.
type logBuffer struct {
	log   *slog.Logger // names the plugin
	clock core.Clock

	mu     sync.Mutex
	recent []logLine
	size   int // bytes of recent
	total  int // lines, including those dropped
	second time.Time
	count  int
	watch  Watch // of the last instance that started; nil: none
}

// show passes further lines to a Watch too, if it is not nil.
func (b *logBuffer) show(watch Watch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watch = watch
}

// hide ends what show began, unless a later instance is watched.
func (b *logBuffer) hide(watch Watch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch == watch {
		b.watch = nil
	}
}

// showFault passes a fault to the Watch, if there is one.
func (b *logBuffer) showFault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch != nil {
		b.watch.Faulted(text)
	}
}

// logLine is a line as the plugin wrote it. Personal values are masked when it is read, because a plugin can write far
// more lines than anyone reads.
type logLine struct {
	text   string // its beginning
	length int
}

// masked returns the line for the log and for people.
func (l logLine) masked() string {
	text := maskLine(strings.ToValidUTF8(l.text, "�"))
	if l.length > maxLoggedLine {
		text = strings.ToValidUTF8(text[:max(0, min(maxLoggedLine, len(text)-cutMargin))], "")
		text += fmt.Sprintf("… (%d bytes)", l.length)
	}
	return text
}

func maskedLines(lines []logLine) []string {
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = line.masked()
	}
	return texts
}

// Write takes one line.
func (b *logBuffer) Write(line []byte) (int, error) {
	taken := logLine{string(line[:min(len(line), maxLoggedLine+cutMargin)]), len(line)}
	write, dropped := b.add(taken)
	if dropped > 0 {
		b.log.Warn("plugin log lines dropped", "lines", dropped)
	}
	if write {
		level, message, attrs := parseLogLine(taken.masked())
		b.log.LogAttrs(context.Background(), level, message, attrs...)
	}
	return len(line), nil
}

// add stores a line. It reports whether the line may be written, and how many were dropped in the second before.
func (b *logBuffer) add(line logLine) (write bool, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recent, b.size, b.total = append(b.recent, line), b.size+len(line.text), b.total+1
	gone := 0
	for ; len(b.recent)-gone > maxBufferedLines || b.size > maxBufferedBytes; gone++ {
		b.size -= len(b.recent[gone].text)
	}
	b.recent = slices.Delete(b.recent, 0, gone)
	if now := b.clock.Now().Truncate(time.Second); !now.Equal(b.second) {
		dropped = max(0, b.count-maxLinesPerSecond)
		b.second, b.count = now, 0
	}
	b.count++
	if b.watch != nil {
		b.watch.Logged(line.masked())
	}
	return b.count <= maxLinesPerSecond, dropped
}

// lines returns the last lines, oldest first.
func (b *logBuffer) lines() []string {
	b.mu.Lock()
	recent := slices.Clone(b.recent)
	b.mu.Unlock()
	return maskedLines(recent)
}

// written returns the number of lines so far.
func (b *logBuffer) written() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// after returns the buffered lines that follow the first written lines.
func (b *logBuffer) after(written int) []string {
	b.mu.Lock()
	recent := slices.Clone(b.recent[max(0, len(b.recent)-(b.total-written)):])
	b.mu.Unlock()
	return maskedLines(recent)
}

// jsonValue matches a string or a number in a JSON text.
var jsonValue = regexp.MustCompile(`"[^"\\]*(\\.[^"\\]*)*"|-?\d[\d.eE+-]*`)

// maskLine masks personal values in a log line. A plugin does not choose each text of its log, such as that of a panic.
// A JSON line stays one.
func maskLine(line string) string {
	if strings.HasPrefix(line, "{") && json.Valid([]byte(line)) {
		return jsonValue.ReplaceAllStringFunc(line, maskJSONValue)
	}
	return sdk.MaskPersonal(line)
}

// maskJSONValue masks a JSON string or number. The result is a string if it differs.
func maskJSONValue(value string) string {
	text := value
	_ = json.Unmarshal([]byte(value), &text) // a number stays
	masked := sdk.MaskPersonal(text)
	if masked == text {
		return value
	}
	quoted, _ := json.Marshal(masked) // a string is valid
	return string(quoted)
}

// parseLogLine parses the log format of the SDK: JSON with @level and @message. Any other line, such as one whose
// message is not a string, is a message as it is.
func parseLogLine(text string) (level slog.Level, message string, attrs []slog.Attr) {
	var members map[string]any
	if json.Unmarshal([]byte(text), &members) != nil {
		return slog.LevelInfo, text, nil
	}
	message, ok := members[messageKey].(string)
	if !ok {
		return slog.LevelInfo, text, nil
	}
	named, _ := members["@level"].(string)
	if level.UnmarshalText([]byte(named)) != nil {
		level = slog.LevelInfo
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !strings.HasPrefix(name, "@") {
			attrs = append(attrs, slog.Any(name, members[name]))
		}
	}
	return level, message, []slog.Attr{{Key: "of_plugin", Value: slog.GroupValue(attrs...)}}
}
