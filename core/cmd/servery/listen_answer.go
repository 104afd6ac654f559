package main

import (
	"fmt"
	"net/http"
	"time"
)

// listenSilence is how no answer is given.
type listenSilence string

const (
	hanging  listenSilence = "hang"
	dropping listenSilence = "drop"
)

// listenAnswer is what a delivery is answered with.
type listenAnswer struct {
	status  int
	silence listenSilence // instead of a status
	header  http.Header
	body    []byte
	remark  string // for the screen
}

// answer decides by the flags. The first attempts of a webhook-id fail where
// that is asked for, before anything is forwarded.
func (h *listenHandler) answer(r *http.Request, d listenDelivery, tooLarge bool) listenAnswer {
	switch f := h.flags; {
	case tooLarge:
		return toldAnswer(http.StatusRequestEntityTooLarge)
	case d.attempt > 0 && d.attempt <= f.FailFirst:
		answer := toldAnswer(given(f.FailStatus, http.StatusInternalServerError))
		answer.remark = fmt.Sprintf("failure %d of %d", d.attempt, f.FailFirst)
		return answer
	case f.Hang:
		return listenAnswer{silence: hanging}
	case f.Drop:
		return listenAnswer{silence: dropping}
	case f.Redirect != "":
		answer := toldAnswer(http.StatusFound)
		answer.header.Set("Location", f.Redirect)
		return answer
	case h.forwarder != nil:
		return h.forwarder.post(r.Context(), d)
	default:
		return toldAnswer(given(f.Status, http.StatusOK))
	}
}

// toldAnswer is an answer of our own.
func toldAnswer(status int) listenAnswer {
	body := `{"status":"error","message":"servery listen answers as told"}`
	switch {
	case status < 300:
		body = `{"status":"received"}`
	case status == http.StatusRequestEntityTooLarge:
		body = `{"status":"error","message":"servery listen takes bodies up to 64 MiB"}`
	}
	return listenAnswer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(body + "\n")}
}

// give gives the answer after the delay, unless the client has gone by then or
// we are told to stop: then the connection is closed.
func (a listenAnswer) give(w http.ResponseWriter, r *http.Request, delay time.Duration) {
	if a.silence == hanging {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	if a.silence == dropping {
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a client that has gone misses nothing; 204 and 304 have no body
}

// String says the answer for people.
func (a listenAnswer) String() string {
	text := fmt.Sprintf("answered %d", a.status)
	switch a.silence {
	case hanging:
		text = "no answer until the client gives up"
	case dropping:
		text = "connection closed without an answer"
	}
	if a.remark != "" {
		text += " (" + a.remark + ")"
	}
	return text
}

// given is the flag's value, or the default without one.
func given(value *int, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return *value
}
