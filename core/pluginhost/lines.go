package pluginhost

import (
	"bytes"
	"fmt"
	"io"
)

// lines splits what is written into lines and passes each on without its line break. It truncates a long line. It
// never fails, because a plugin must not be stopped by its log.
type lines struct {
	to   io.Writer
	part []byte
	over int // bytes of the current line that were dropped
}

// Write splits text.
func (l *lines) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		kept := min(len(line), longestLine-len(l.part))
		l.part, l.over, rest = append(l.part, line[:kept]...), l.over+len(line)-kept, after
		if whole {
			l.flush()
		}
	}
	return len(text), nil
}

func (l *lines) flush() {
	if l.over > 0 {
		l.part = fmt.Appendf(l.part, "… (%d more bytes)", l.over)
	}
	if len(bytes.TrimSpace(l.part)) > 0 {
		_, _ = l.to.Write(l.part)
	}
	l.part, l.over = l.part[:0], 0
}

// greeting passes the first line of a plugin's output to go-plugin, and the rest to the log. It rejects a first line
// that is too long.
type greeting struct {
	hello *io.PipeWriter
	rest  io.Writer
	read  int
	over  bool
}

// Write passes output on.
func (g *greeting) Write(text []byte) (int, error) {
	if g.over {
		_, err := g.rest.Write(text)
		return len(text), err
	}
	end := bytes.IndexByte(text, '\n')
	first := text[:end+1]
	if end < 0 {
		first = text
	}
	if g.read += len(first); g.read > longestLine/2 {
		g.over = true
		_ = g.hello.CloseWithError(fmt.Errorf("the first line of its output has more than %d bytes", longestLine/2))
		return len(text), nil
	}
	_, _ = g.hello.Write(first)
	if end >= 0 {
		g.over = true
		_ = g.hello.Close()
		_, _ = g.rest.Write(text[end+1:])
	}
	return len(text), nil
}
