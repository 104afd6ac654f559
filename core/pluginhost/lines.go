package pluginhost

import (
	"bytes"
	"fmt"
	"io"
)

// lineWriter splits its input into lines and passes each on without its line break. It truncates a long line. It
// never fails, because a plugin must not be stopped by its log.
type lineWriter struct {
	out     io.Writer
	partial []byte
	dropped int // bytes of the current line that were dropped
}

// Write splits text.
func (l *lineWriter) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		size := min(len(line), maxOutputLine-len(l.partial))
		l.partial, l.dropped, rest = append(l.partial, line[:size]...), l.dropped+len(line)-size, after
		if whole {
			l.flush()
		}
	}
	return len(text), nil
}

func (l *lineWriter) flush() {
	if l.dropped > 0 {
		l.partial = fmt.Appendf(l.partial, "… (%d more bytes)", l.dropped)
	}
	if len(bytes.TrimSpace(l.partial)) > 0 {
		_, _ = l.out.Write(l.partial)
	}
	l.partial, l.dropped = l.partial[:0], 0
}

// handshakeWriter passes the first line of a plugin's output to go-plugin, and the rest to the log. It rejects a first
// line that is too long.
type handshakeWriter struct {
	handshake *io.PipeWriter
	rest      io.Writer
	read      int
	done      bool
}

// Write passes output on.
func (g *handshakeWriter) Write(text []byte) (int, error) {
	if g.done {
		_, err := g.rest.Write(text)
		return len(text), err
	}
	end := bytes.IndexByte(text, '\n')
	first := text[:end+1]
	if end < 0 {
		first = text
	}
	if g.read += len(first); g.read > maxOutputLine/2 {
		g.done = true
		_ = g.handshake.CloseWithError(
			fmt.Errorf("the first line of its output has more than %d bytes", maxOutputLine/2))
		return len(text), nil
	}
	_, _ = g.handshake.Write(first)
	if end >= 0 {
		g.done = true
		_ = g.handshake.Close()
		_, _ = g.rest.Write(text[end+1:])
	}
	return len(text), nil
}
