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

// maxLogLine is the maximum length of a log line, in bytes. The host reads lines of up to 64 KiB.
const maxLogLine = 60 << 10

// NewLogHandler returns a handler that writes log lines for go-plugin's host. They are JSON with @level, @message and
// @timestamp, which are always strings.
func NewLogHandler(w io.Writer, level slog.Leveler) slog.Handler {
	return hostHandler{slog.NewJSONHandler(lineWriter{w}, &slog.HandlerOptions{Level: level, ReplaceAttr: renameAttrs}),
		false}
}

// renameAttrs renames slog's attributes to the names that the host expects. hostHandler ensures that no other
// attribute has these names.
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

// hostHandler reserves the host's attribute names. It appends an underscore to any other attribute of that name.
type hostHandler struct {
	slog.Handler
	grouped bool // attributes are inside a group, where no name is reserved
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

// WithAttrs returns a handler with the attributes added.
func (h hostHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if !h.grouped {
		attrs = slices.Clone(attrs)
		for i, a := range attrs {
			attrs[i] = escapeReserved(a)
		}
	}
	return hostHandler{h.Handler.WithAttrs(attrs), h.grouped}
}

// WithGroup returns a handler that puts further attributes into a group.
func (h hostHandler) WithGroup(name string) slog.Handler {
	return hostHandler{h.Handler.WithGroup(name), h.grouped || name != ""}
}

func escapeReserved(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch {
	case a.Key == "" && a.Value.Kind() == slog.KindGroup: // slog inlines its attributes
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

// lineWriter replaces a line that is too long with a short one that says so.
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
