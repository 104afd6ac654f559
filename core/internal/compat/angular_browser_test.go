package compat

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hub"
)

// An Angular application runs in a browser, which implements the CORS protocol. It sends a preflight request before one
// with a key, and hides responses from other origins.
var angularPage = map[string]string{"Accept": "application/json, text/plain, */*"}

// browser is a page of an origin.
type browser struct {
	*client
	origin string
}

// fetch sends a request as a page does. It returns false where the browser would block the page.
func (b browser) fetch(method, path, media, body string) (r reply, allowed bool) {
	b.t.Helper()
	headers := map[string]string{"Authorization": b.pos, "Origin": b.origin}
	requested := []string{"authorization"}
	if body != "" {
		headers["Content-Type"] = media
		if !strings.HasPrefix(media, "text/plain") && media != "application/x-www-form-urlencoded" {
			requested = append(requested, "content-type")
		}
	}
	preflight := b.exchange(http.MethodOptions, path, "", map[string]string{"Origin": b.origin,
		"Access-Control-Request-Method": method, "Access-Control-Request-Headers": strings.Join(requested, ",")})
	if !b.mayRead(preflight) || preflight.status > 299 || !lists(preflight, "Access-Control-Allow-Methods", method) {
		return preflight, false
	}
	for _, name := range requested {
		if !lists(preflight, "Access-Control-Allow-Headers", name) {
			return preflight, false
		}
	}
	r = b.exchange(method, path, body, headers)
	return r, b.mayRead(r)
}

func (b browser) mayRead(r reply) bool {
	origin := r.header.Get("Access-Control-Allow-Origin")
	return origin == "*" || origin == b.origin
}

// lists reports whether a header contains a name, ignoring case.
func lists(r reply, header, name string) bool {
	return slices.ContainsFunc(strings.Split(r.header.Get(header), ","),
		func(one string) bool { return strings.EqualFold(strings.TrimSpace(one), name) })
}

// moving.md, What clients send: web pages whose origin the operator allows.
func TestAngularPageCallsTheHub(t *testing.T) {
	c := newBistro(t, angularPage)
	page := browser{c, portal}
	id := c.place(`{"platform":"web","platform_order_id":"W-1","store_ref_id":"s1","delivery_type":"self",` +
		`"items":[{"ref_id":"dal","quantity":1}]}`)
	for _, call := range []struct{ method, path, body string }{
		{"GET", storesPath, ""},
		{"POST", storesPath, `{"stores":[{"ref_id":"s1","name":"New"}]}`},
		{"POST", menuPath + "s1/", `{"items":[{"ref_id":"dal","price":9.75}]}`},
		{"POST", webhooksPath, `{"event_type":"store_action","url":"` + c.receiver.url + `"}`},
		{"GET", webhooksPath, ""},
		{"PUT", order(id, "status/"), `{"new_status":"Acknowledged"}`},
		{"POST", riderStatusPath, encode(t, map[string]any{"order_id": id, "status": "ASSIGNED"})},
		{"GET", order(id, ""), ""},
		{"GET", "/channel/api/v1/stores/s1/menu/?platform=web", ""},
	} {
		for _, media := range []string{"application/json", "text/plain;charset=UTF-8", "text/plain"} {
			r, allowed := page.fetch(call.method, call.path, media, call.body)
			require.True(t, allowed, "%s %s", call.method, call.path)
			require.Equal(t, http.StatusOK, r.status, r.text)
		}
	}
	r, allowed := page.fetch("GET", order(999999999, ""), "", "")
	require.True(t, allowed, "the page reads why a call failed")
	require.Equal(t, http.StatusNotFound, r.status)
	require.True(t, lists(r, "Access-Control-Expose-Headers", "Retry-After"))
}

// moving.md, What clients send: other origins are blocked, and by default all.
func TestAngularPageOfAnotherOriginIsBlocked(t *testing.T) {
	require.Empty(t, hub.Defaults().CORSOrigins)
	c := newClient(t, angularPage)
	for _, origin := range []string{"https://evil.example.com", "http://portal.example.com", portal + ".evil.example",
		"null"} {
		_, allowed := browser{c, origin}.fetch("POST", storesPath, "text/plain", `{"stores":[{"ref_id":"s1"}]}`)
		require.False(t, allowed, origin)
	}
	require.Empty(t, c.ok("GET", storesPath, "").get("stores").list())
}
