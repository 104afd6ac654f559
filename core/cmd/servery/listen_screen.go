package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/adminui/ui"
)

// listenScreen prints what arrives, each delivery in one piece. In the JSON form
// standard output holds lines of JSON alone, and the rest goes to standard error.
type listenScreen struct {
	out        output
	json, body bool
	broken     chan error // told once, when printing has become impossible

	mu    sync.Mutex
	ended bool
}

// greet says where deliveries may go.
func (s *listenScreen) greet(address string, secrets int) {
	signatures := "Signatures are not checked: --secret whsec_… does."
	if secrets > 0 {
		signatures = "Signatures are checked with " + counted(secrets, "secret") + "."
	}
	fmt.Fprintf(s.talk(), "Listening on http://%s (any path). %s Ctrl-C ends with a summary.\n", address, signatures)
}

// talk is where everything goes that is no delivery.
func (s *listenScreen) talk() io.Writer {
	if s.json {
		return s.out.stderr
	}
	return s.out.stdout
}

// note prints what happened beside the deliveries.
func (s *listenScreen) note(format string, values ...any) {
	s.print(s.out.stderr, fmt.Appendf(nil, time.Now().Format(clockTime)+"  "+format+"\n", values...))
}

// end prints the summary. Nothing is printed after it.
func (s *listenScreen) end(summary string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_, err := fmt.Fprintln(s.talk(), summary)
	return err
}

func (s *listenScreen) print(w io.Writer, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if _, err := w.Write(text); err != nil {
		select {
		case s.broken <- fmt.Errorf("printing: %w", err):
		default: // known already
		}
	}
}

const clockTime = "15:04:05.000"

// show prints a delivery and what it is answered with.
func (s *listenScreen) show(d listenDelivery, answer listenAnswer, delay time.Duration) {
	if s.json {
		s.print(s.out.stdout, jsonLine(d, answer, s.body))
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
		attempt = shortly(d.id) + "  attempt 1"
	default:
		attempt = fmt.Sprintf("%s  attempt %d, repeated", shortly(d.id), d.attempt)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s  %-20s  %s  %s  %s  %s", d.at.Local().Format(clockTime), shortly(event), attempt, ui.Size(d.size), d.verdict, answer)
	if delay > 0 {
		fmt.Fprintf(&text, " after %s", delay)
	}
	text.WriteByte('\n')
	if s.body {
		text.WriteString(indented(d.body))
	}
	s.print(s.out.stdout, text.Bytes())
}

// String says the verdict for people.
func (v listenVerdict) String() string {
	switch {
	case v.err != nil:
		return "NOT VERIFIED: " + v.err.Error()
	case v.checked:
		return fmt.Sprintf("verified by secret %d", v.secret+1)
	default:
		return "signature not checked"
	}
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}
