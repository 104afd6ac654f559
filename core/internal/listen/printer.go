package listen

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/adminui/ui"
)

// printer prints each delivery atomically. In the JSON form, standard output contains only JSON lines, and everything
// else goes to standard error.
type printer struct {
	out, err   io.Writer
	json, body bool
	broken     chan error // receives once, when printing fails

	mu    sync.Mutex
	ended bool
}

// printURL prints the URL for deliveries.
func (s *printer) printURL(address string, secrets int) {
	signatures := "Signatures are not checked: --secret whsec_… does."
	if secrets > 0 {
		signatures = "Signatures are checked with " + pluralize(secrets, "secret") + "."
	}
	fmt.Fprintf(s.messages(), "Listening on http://%s (any path). %s Ctrl-C ends with a summary.\n", address,
		signatures)
}

// messages returns the writer for everything but deliveries.
func (s *printer) messages() io.Writer {
	if s.json {
		return s.err
	}
	return s.out
}

// note prints an event other than a delivery.
func (s *printer) note(format string, values ...any) {
	s.print(s.err, fmt.Appendf(nil, time.Now().Format(clockTime)+"  "+format+"\n", values...))
}

// end prints the summary. Nothing is printed after it.
func (s *printer) end(summary string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_, err := fmt.Fprintln(s.messages(), summary)
	return err
}

func (s *printer) print(w io.Writer, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if _, err := w.Write(text); err != nil {
		select {
		case s.broken <- fmt.Errorf("printing: %w", err):
		default: // already reported
		}
	}
}

const clockTime = "15:04:05.000"

// show prints a delivery and its response.
func (s *printer) show(d delivery, resp response, delay time.Duration) {
	if s.json {
		s.print(s.out, jsonLine(d, resp, s.body))
		return
	}
	event, attempt := d.event, ""
	if event == "" {
		event = "(no event type)"
	}
	switch {
	case d.attempt == 0:
		attempt = "(no webhook-id)"
	case d.attempt == 1:
		attempt = shorten(d.id) + "  attempt 1"
	default:
		attempt = fmt.Sprintf("%s  attempt %d, repeated", shorten(d.id), d.attempt)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s  %-20s  %s  %s  %s  %s", d.at.Local().Format(clockTime), shorten(event), attempt,
		ui.Size(d.size), d.signature, resp)
	if delay > 0 {
		fmt.Fprintf(&text, " after %s", delay)
	}
	text.WriteByte('\n')
	if s.body {
		text.WriteString(indented(d.body))
	}
	s.print(s.out, text.Bytes())
}

// String describes the result for people.
func (v signatureCheck) String() string {
	switch {
	case v.err != nil:
		return "NOT VERIFIED: " + v.err.Error()
	case v.checked:
		return fmt.Sprintf("verified by secret %d", v.secret+1)
	default:
		return "signature not checked"
	}
}

// pluralize formats a number with its noun.
func pluralize(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}
