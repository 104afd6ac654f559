package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Starting answers until a hub is ready to: 503 to everything but /healthz, in the
// envelope of every error, so that no request waits for so long that its sender has
// given it up when it is carried out.
func Starting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("X-Request-Id", core.NewID(time.Now()).String())
		w.Header().Set("Connection", "close") // the next request is for the hub itself
		status, body := http.StatusOK, any(healthBody{"ok"})
		if strings.TrimSuffix(r.URL.Path, "/") != "/healthz" {
			w.Header().Set("Retry-After", "1")
			status, body = http.StatusServiceUnavailable,
				envelope{Status: "error", Message: "this server is starting: resend the request"}
		}
		w.WriteHeader(status)
		_ = json.MarshalWrite(w, body)
	})
}
