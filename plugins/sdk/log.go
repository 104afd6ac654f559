package sdk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// maxLogLine bounds a line of the log: the host reads lines of up to 64 KiB.
const maxLogLine = 60 << 10

// NewLogHandler writes the lines that go-plugin's host reads from a plugin's
// stderr: JSON with @level, @message and @timestamp, which are always strings.
func NewLogHandler(w io.Writer, level slog.Leveler) slog.Handler {
	return hostHandler{slog.NewJSONHandler(lineWriter{w}, &slog.HandlerOptions{Level: level, ReplaceAttr: renameAttrs}),
		false}
}

// renameAttrs gives slog's own attributes the names that the host looks for.
// hostHandler has seen to it that nothing else has their names.
func renameAttrs(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.String("@timestamp", a.Value.Time().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
	case slog.LevelKey:
		return slog.String("@level", levelName(a.Value.Any().(slog.Level)))
	case slog.MessageKey:
		return slog.String("@message", a.Value.String())
	}
	return a
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warn"
	default:
		return "error"
	}
}

// hostHandler keeps the reserved names free: an attribute of a caller that has
// one is written with an underscore behind it.
type hostHandler struct {
	slog.Handler
	grouped bool // attributes stand within a group: no name is reserved there
}

// Handle writes one line.
func (h hostHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.grouped {
		return h.Handler.Handle(ctx, r)
	}
	cleaned := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		cleaned.AddAttrs(escapeReserved(a))
		return true
	})
	return h.Handler.Handle(ctx, cleaned)
}

// WithAttrs is the handler with attributes.
func (h hostHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if !h.grouped {
		attrs = slices.Clone(attrs)
		for i, a := range attrs {
			attrs[i] = escapeReserved(a)
		}
	}
	return hostHandler{h.Handler.WithAttrs(attrs), h.grouped}
}

// WithGroup is the handler with a group.
func (h hostHandler) WithGroup(name string) slog.Handler {
	return hostHandler{h.Handler.WithGroup(name), h.grouped || name != ""}
}

func escapeReserved(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch {
	case a.Key == "" && a.Value.Kind() == slog.KindGroup: // its attributes are written in its place
		attrs := slices.Clone(a.Value.Group())
		for i := range attrs {
			attrs[i] = escapeReserved(attrs[i])
		}
		a.Value = slog.GroupValue(attrs...)
	case a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey || strings.HasPrefix(a.Key, "@"):
		a.Key += "_"
	}
	return a
}

// lineWriter replaces a line that is too long by one that says so.
type lineWriter struct{ w io.Writer }

// Write writes one line.
func (l lineWriter) Write(line []byte) (int, error) {
	if len(line) <= maxLogLine {
		return l.w.Write(line)
	}
	level := "info"
	for _, name := range []string{"debug", "warn", "error"} {
		if bytes.Contains(line[:200], []byte(`"@level":"`+name+`"`)) {
			level = name
		}
	}
	_, err := fmt.Fprintf(l.w, `{"@level":%q,"@message":"a log line of %d bytes was left out; %d are the limit"}`+"\n",
		level, len(line), maxLogLine)
	return len(line), err
}
