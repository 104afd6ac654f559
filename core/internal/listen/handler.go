package listen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/servery-hub/servery/core/webhook"
)

// Limits of bodies and of stored webhook-ids.
const (
	maxBody       = 64 << 20
	smallBody     = 1 << 20 // larger ones are read a few at a time
	bodyTime      = time.Minute
	maxRemembered = 10_000 // webhook-ids
)

// handler reads deliveries, shows them and responds as configured. It is safe for concurrent use.
type handler struct {
	config       Config
	printer      *printer
	forwarder    *forwarder // nil: nothing is forwarded
	maxBody      int64
	small, large chan struct{} // bound the bodies in memory

	mu       sync.Mutex
	attempts *attemptCounts
	tally    tally
}

// tally holds the counts for the summary.
type tally struct{ deliveries, verified, unverified int }

// delivery is one received attempt.
type delivery struct {
	at        time.Time
	header    http.Header
	event     string
	id        string
	attempt   int // of this webhook-id, counting from 1; 0 without one
	body      []byte
	size      int
	signature signatureCheck
}

// signatureCheck is the result of checking a signature.
type signatureCheck struct {
	checked bool
	secret  int   // the index of the matching one
	err     error // why it is not verified
}

func newHandler(config Config, screen *printer) *handler {
	h := &handler{
		config: config, printer: screen, maxBody: maxBody, attempts: newAttemptCounts(maxRemembered),
		small: make(chan struct{}, 64), large: make(chan struct{}, 4),
	}
	if config.Forward != "" {
		h.forwarder = newForwarder(config.Forward, config.ForwardTimeout)
	}
	return h
}

// ServeHTTP responds to one attempt.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		h.printer.note("%s %s returned 405: deliveries are posted", r.Method, shorten(r.URL.Path))
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "servery listen takes deliveries, which are posted", http.StatusMethodNotAllowed)
		return
	}
	if response, ok := h.receive(w, r); ok {
		response.send(w, r, h.config.Delay)
	}
}

// receive reads an attempt, shows it and selects its response. It releases the body when it returns.
func (h *handler) receive(w http.ResponseWriter, r *http.Request) (resp response, ok bool) {
	d := delivery{
		at: time.Now(), header: r.Header, event: r.Header.Get(webhook.HeaderEventType),
		id: r.Header.Get(webhook.HeaderID),
	}
	body, release, err := h.read(w, r)
	defer release()
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		h.printer.note("a delivery broke off after %d bytes", len(body))
		return resp, false
	}
	d.body, d.size = body, len(body)
	if tooLarge != nil {
		d.size, d.body = max(d.size, int(r.ContentLength)), nil
		d.signature.err = errors.New("the body is larger than 64 MiB")
	} else if d.signature.checked = len(h.config.Secret) > 0; d.signature.checked {
		d.signature.secret, d.signature.err = webhook.Verify(h.config.Secret, webhook.SignatureOf(r.Header), body,
			d.at)
	}
	h.count(&d)
	resp = h.respond(r, d, tooLarge != nil)
	h.printer.show(d, resp, h.config.Delay)
	return resp, true
}

// read reads the body. Up to 64 small ones are read concurrently, and the rest of large ones 4 at a time. The caller
// must call release when it no longer needs the body.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	h.small <- struct{}{}
	release = func() { <-h.small }
	// The deadline frees the capacity if a client stops in the middle of its body. It is lifted afterwards, so that
	// --hang waits only for the client.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	source := http.MaxBytesReader(w, r.Body, h.maxBody)
	var buffer bytes.Buffer
	n, err := io.CopyN(&buffer, source, smallBody)
	if err == nil && n == smallBody {
		h.large <- struct{}{}
		release = func() { <-h.large; <-h.small }
		_, err = buffer.ReadFrom(source)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	return buffer.Bytes(), release, err
}

// count records the webhook-id and updates the summary.
func (h *handler) count(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tally.deliveries++
	switch {
	case d.signature.err != nil:
		h.tally.unverified++
	case d.signature.checked:
		h.tally.verified++
	}
	if d.id != "" {
		d.attempt = h.attempts.attempt(d.id)
	}
}

// summarize prints the summary. Nothing is printed after it.
func (h *handler) summarize() error {
	h.mu.Lock()
	ids := pluralize(h.attempts.distinct, "distinct webhook-id")
	if h.attempts.evicted {
		ids += fmt.Sprintf(" (a repeat after %d others counts as new)", h.attempts.limit)
	}
	summary := fmt.Sprintf("%s, %s, %d verified, %d not verified", pluralize(h.tally.deliveries, "delivery"), ids,
		h.tally.verified, h.tally.unverified)
	h.mu.Unlock()
	return h.printer.end(summary)
}

// close closes the connections of --forward.
func (h *handler) close() {
	if h.forwarder != nil {
		h.forwarder.client.CloseIdleConnections()
	}
}
