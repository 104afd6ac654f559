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
	linesASecond  = 100 // more than that are left out and counted
	shownOfALine  = 4 << 10
	messageMember = "@message"
)

// logbook writes the lines that a plugin logs into the hub's log, and keeps the
// last ones. A plugin that logs without end costs a bounded share of the log.
type logbook struct {
	log   *slog.Logger // names the plugin
	clock core.Clock

	mu     sync.Mutex
	last   []string
	size   int // bytes of last
	total  int // lines, with those that are not kept
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
		b.log.Warn("the plugin logs too much; lines were left out", "lines", dropped)
	}
	if write {
		level, message, attrs := readLine(text, line)
		b.log.LogAttrs(context.Background(), level, message, attrs...)
	}
	return len(line), nil
}

// keep remembers a line, and tells whether it may be written and how many were
// left out in the second before.
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

// lines are the last lines, oldest first.
func (b *logbook) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.last)
}

// written is how many lines there have been.
func (b *logbook) written() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// after are the last of the lines that followed a number of them.
func (b *logbook) after(written int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.last[max(0, len(b.last)-(b.total-written)):])
}

// readLine reads what a plugin of the SDK writes: JSON with @level and @message.
// Anything else, a message that is no string too, is a message as it stands.
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
