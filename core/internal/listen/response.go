package listen

import (
	"fmt"
	"net/http"
	"time"
)

// silence is the kind of missing response.
type silence string

const (
	hanging  silence = "hang"
	dropping silence = "drop"
)

// response is the response to a delivery.
type response struct {
	status  int
	silence silence // instead of a status
	header  http.Header
	body    []byte
	remark  string // for the terminal
}

// respond selects the response by the configuration. The first attempts of a webhook-id fail if requested, before
// anything is forwarded.
func (h *handler) respond(r *http.Request, d delivery, tooLarge bool) response {
	switch f := h.config; {
	case tooLarge:
		return ownResponse(http.StatusRequestEntityTooLarge)
	case d.attempt > 0 && d.attempt <= f.FailFirst:
		resp := ownResponse(valueOr(f.FailStatus, http.StatusInternalServerError))
		resp.remark = fmt.Sprintf("failure %d of %d", d.attempt, f.FailFirst)
		return resp
	case f.Hang:
		return response{silence: hanging}
	case f.Drop:
		return response{silence: dropping}
	case f.Redirect != "":
		resp := ownResponse(http.StatusFound)
		resp.header.Set("Location", f.Redirect)
		return resp
	case h.forwarder != nil:
		return h.forwarder.post(r.Context(), d)
	default:
		return ownResponse(valueOr(f.Status, http.StatusOK))
	}
}

// ownResponse returns a response of this command.
func ownResponse(status int) response {
	body := `{"status":"error","message":"servery listen sends the configured response"}`
	switch {
	case status < 300:
		body = `{"status":"received"}`
	case status == http.StatusRequestEntityTooLarge:
		body = `{"status":"error","message":"servery listen takes bodies up to 64 MiB"}`
	}
	return response{status: status, header: http.Header{"Content-Type": {"application/json"}},
		body: []byte(body + "\n")}
}

// send sends the response after the delay. If the client disconnects or the command stops before that, it closes the
// connection.
func (a response) send(w http.ResponseWriter, r *http.Request, delay time.Duration) {
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
	_, _ = w.Write(a.body) // ignores a disconnected client; 204 and 304 have no body
}

// String describes the response for people.
func (a response) String() string {
	text := fmt.Sprintf("returned %d", a.status)
	switch a.silence {
	case hanging:
		text = "no response until the client disconnects"
	case dropping:
		text = "connection closed without a response"
	}
	if a.remark != "" {
		text += " (" + a.remark + ")"
	}
	return text
}

// valueOr returns the flag's value, or otherwise if it is not set.
func valueOr(value *int, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return *value
}
