package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Starting responds while a hub is starting: 503 to all requests except /healthz, in an error envelope. A request that
// waited for the hub could run after its client has timed out.
func Starting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("X-Request-Id", core.NewID(time.Now()).String())
		w.Header().Set("Connection", "close") // the next request must reach the hub itself
		status, body := http.StatusOK, any(healthBody{"ok"})
		if strings.TrimSuffix(r.URL.Path, "/") != healthPath {
			w.Header().Set("Retry-After", "1")
			status, body = http.StatusServiceUnavailable,
				envelope{Status: "error", Message: "this server is starting: resend the request"}
		}
		w.WriteHeader(status)
		_ = json.MarshalWrite(w, body)
	})
}
