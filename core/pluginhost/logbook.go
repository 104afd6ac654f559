package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

const (
	keptLines     = 200 // of a plugin's log, for people
	keptBytes     = 64 << 10
	linesASecond  = 100 // further lines are dropped and counted
	shownOfALine  = 4 << 10
	messageMember = "@message"
)

// logbook writes the lines of a plugin's log to the hub's log, and keeps the last ones. A plugin that logs endlessly
// takes a bounded share of the log.
type logbook struct {
	log   *slog.Logger // names the plugin
	clock core.Clock

	mu     sync.Mutex
	last   []string
	size   int // bytes of last
	total  int // lines, including those dropped
	second time.Time
	count  int
}

// Write takes one line.
func (b *logbook) Write(line []byte) (int, error) {
	text := strings.ToValidUTF8(string(line[:min(len(line), shownOfALine)]), "�")
	if len(line) > shownOfALine {
		text += fmt.Sprintf("… (%d bytes)", len(line))
	}
	write, dropped := b.keep(text)
	if dropped > 0 {
		b.log.Warn("plugin log lines dropped", "lines", dropped)
	}
	if write {
		level, message, attrs := readLine(text, line)
		b.log.LogAttrs(context.Background(), level, message, attrs...)
	}
	return len(line), nil
}

// keep stores a line. It reports whether the line may be written, and how many were dropped in the second before.
func (b *logbook) keep(text string) (write bool, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.size, b.total = append(b.last, text), b.size+len(text), b.total+1
	gone := 0
	for ; len(b.last)-gone > keptLines || b.size > keptBytes; gone++ {
		b.size -= len(b.last[gone])
	}
	b.last = slices.Delete(b.last, 0, gone)
	if now := b.clock.Now().Truncate(time.Second); !now.Equal(b.second) {
		dropped = max(0, b.count-linesASecond)
		b.second, b.count = now, 0
	}
	b.count++
	return b.count <= linesASecond, dropped
}

// lines returns the last lines, oldest first.
func (b *logbook) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.last)
}

// written returns the number of lines so far.
func (b *logbook) written() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// after returns the kept lines that follow the first written lines.
func (b *logbook) after(written int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.last[max(0, len(b.last)-(b.total-written)):])
}

// readLine parses the log format of the SDK: JSON with @level and @message. Any other line, such as one whose message
// is not a string, is a message as it is.
func readLine(text string, line []byte) (level slog.Level, message string, attrs []slog.Attr) {
	var members map[string]any
	if len(line) > shownOfALine || json.Unmarshal(line, &members) != nil {
		return slog.LevelInfo, text, nil
	}
	message, ok := members[messageMember].(string)
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
