package main

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

// Bounds of what is taken in and remembered.
const (
	listenMaxBody    = 64 << 20
	listenSmallBody  = 1 << 20 // larger ones are read few at a time
	listenBodyTime   = time.Minute
	listenRemembered = 10_000 // webhook-ids
)

// listenHandler takes deliveries in, shows them and answers as told. It may be
// used by many goroutines.
type listenHandler struct {
	flags        listenCommand
	screen       *listenScreen
	forwarder    *listenForwarder // nil: nothing is forwarded
	maxBody      int64
	small, large chan struct{} // bodies held at a time: the bound of memory

	mu    sync.Mutex
	known *listenMemory
	tally listenTally
}

// listenTally counts for the summary.
type listenTally struct{ deliveries, verified, unverified int }

// listenDelivery is one attempt that arrived.
type listenDelivery struct {
	at      time.Time
	header  http.Header
	event   string
	id      string
	attempt int // of this webhook-id, counting from 1; 0 without one
	body    []byte
	size    int
	verdict listenVerdict
}

// listenVerdict is what came of checking the signature.
type listenVerdict struct {
	checked bool
	secret  int   // the index of the one that made it
	err     error // why it is not verified
}

func newListenHandler(flags listenCommand, screen *listenScreen) *listenHandler {
	h := &listenHandler{
		flags: flags, screen: screen, maxBody: listenMaxBody, known: newListenMemory(listenRemembered),
		small: make(chan struct{}, 64), large: make(chan struct{}, 4),
	}
	if flags.Forward != "" {
		h.forwarder = newListenForwarder(flags.Forward, flags.ForwardTimeout)
	}
	return h
}

// ServeHTTP answers one attempt.
func (h *listenHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		h.screen.note("%s %s answered 405: deliveries are posted", r.Method, shortly(r.URL.Path))
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "servery listen takes deliveries, which are posted", http.StatusMethodNotAllowed)
		return
	}
	if answer, ok := h.take(w, r); ok {
		answer.give(w, r, h.flags.Delay)
	}
}

// take reads an attempt, shows it and decides its answer; the body is held no
// longer than that.
func (h *listenHandler) take(w http.ResponseWriter, r *http.Request) (answer listenAnswer, ok bool) {
	d := listenDelivery{
		at: time.Now(), header: r.Header, event: r.Header.Get(webhook.HeaderEventType), id: r.Header.Get(webhook.HeaderID),
	}
	body, release, err := h.read(w, r)
	defer release()
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		h.screen.note("a delivery broke off after %d bytes", len(body))
		return answer, false
	}
	d.body, d.size = body, len(body)
	if tooLarge != nil {
		d.size, d.body = max(d.size, int(r.ContentLength)), nil
		d.verdict.err = errors.New("the body is larger than 64 MiB")
	} else if d.verdict.checked = len(h.flags.Secret) > 0; d.verdict.checked {
		d.verdict.secret, d.verdict.err = webhook.Verify(h.flags.Secret, webhook.SignatureOf(r.Header), body, d.at)
	}
	h.count(&d)
	answer = h.answer(r, d, tooLarge != nil)
	h.screen.show(d, answer, h.flags.Delay)
	return answer, true
}

// read reads the body. Small ones are read 64 at a time, the rest of large ones
// 4 at a time; release gives the place back, and with it the body.
func (h *listenHandler) read(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	h.small <- struct{}{}
	release = func() { <-h.small }
	// A client that stops in the middle of its body does not keep the place. The
	// deadline is lifted again, so that --hang waits for the client alone.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(listenBodyTime))
	source := http.MaxBytesReader(w, r.Body, h.maxBody)
	var buffer bytes.Buffer
	n, err := io.CopyN(&buffer, source, listenSmallBody)
	if err == nil && n == listenSmallBody {
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

// count remembers the webhook-id and adds to the summary.
func (h *listenHandler) count(d *listenDelivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tally.deliveries++
	switch {
	case d.verdict.err != nil:
		h.tally.unverified++
	case d.verdict.checked:
		h.tally.verified++
	}
	if d.id != "" {
		d.attempt = h.known.attempt(d.id)
	}
}

// summarize prints what came; nothing is printed after it.
func (h *listenHandler) summarize() error {
	h.mu.Lock()
	ids := counted(h.known.distinct, "distinct webhook-id")
	if h.known.forgot {
		ids += fmt.Sprintf(" (one that came again after %d others counts anew)", h.known.limit)
	}
	summary := fmt.Sprintf("%s, %s, %d verified, %d not verified", counted(h.tally.deliveries, "delivery"), ids, h.tally.verified, h.tally.unverified)
	h.mu.Unlock()
	return h.screen.end(summary)
}

// close drops the connections of --forward.
func (h *listenHandler) close() {
	if h.forwarder != nil {
		h.forwarder.client.CloseIdleConnections()
	}
}
