package hub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/web"
)

func TestWebPagesOfAllowedOriginsMayCall(t *testing.T) {
	const page = "https://pos.example.com"
	a := newAPI(t, func(c *Config) { unlimited(c); c.CORSOrigins = []string{page} })
	tenant := hubtest.Business(t, a.hub.db)
	preflight := func(path, origin string) apiResponse {
		return a.do(t, request{method: "OPTIONS", path: path, headers: map[string]string{"Origin": origin,
			"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}})
	}
	allowed := preflight(storesRoute, page)
	require.Equal(t, 204, allowed.status)
	require.Equal(t, page, allowed.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, allowed.header.Get("Access-Control-Allow-Headers"), "Authorization")
	require.Contains(t, allowed.header.Get("Access-Control-Allow-Methods"), "POST")
	require.Contains(t, allowed.header.Values("Vary"), "Origin")
	for _, path := range []string{"/console/", "/healthz"} {
		require.Empty(t, preflight(path, page).header.Get("Access-Control-Allow-Origin"), path)
	}
	other := preflight(storesRoute, "https://other.example.com")
	require.Equal(t, 405, other.status)
	require.Empty(t, other.header.Get("Access-Control-Allow-Origin"))

	sent := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization, body: oneStore,
		headers: map[string]string{"Origin": page, "Content-Type": "text/plain;charset=UTF-8"}})
	require.Equal(t, 200, sent.status, sent.text)
	require.Equal(t, page, sent.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, sent.header.Get("Access-Control-Expose-Headers"), "X-Request-Id")
	refused := a.do(t, request{method: "GET", path: storesRoute, headers: map[string]string{"Origin": page}})
	require.Equal(t, 401, refused.status)
	require.Equal(t, page, refused.header.Get("Access-Control-Allow-Origin"), "a page reads why")
}

func TestCORSIsOffByDefault(t *testing.T) {
	a := newAPI(t, unlimited)
	r := a.do(t, request{method: "OPTIONS", path: storesRoute,
		headers: map[string]string{"Origin": "https://a.example"}})
	require.Equal(t, 405, r.status)
	require.Empty(t, r.header.Get("Access-Control-Allow-Origin"))
}

func TestJSONUnderSimpleMediaTypesIsRead(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	for media, row := range map[string]struct {
		body   string
		status int
	}{
		"text/plain":                        {" \n" + oneStore, 200},
		"application/x-www-form-urlencoded": {oneStore, 200},
		"TEXT/PLAIN; charset=utf-8":         {oneStore, 200},
		"text/plain;charset=utf-8":          {"\xef\xbb\xbf" + oneStore, 200},
		"text/html":                         {oneStore, 415},
		"text/plain; charset=latin1":        {oneStore, 415},
		"text/plain; a=b":                   {"stores", 415},
	} {
		r := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization, body: row.body,
			headers: map[string]string{"Content-Type": media}})
		require.Equal(t, row.status, r.status, media+" "+r.text)
	}
	r := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization, body: oneStore,
		headers: map[string]string{"Content-Type": "text/plain", "Content-Encoding": "gzip"}})
	requireEnvelope(t, r, 400, "the body is not valid gzip")
	require.Equal(t, []any{map[string]any{"path": "", "code": "syntax", "message": "the body is not valid gzip"}},
		r.body["errors"])
}

func TestOriginsAreChecked(t *testing.T) {
	require.NoError(t, web.CheckOrigins([]string{"*", "https://pos.example.com", "http://127.0.0.1:5173"}))
	for _, origin := range []string{"pos.example.com", "https://pos.example.com/", "ftp://a.example", "https://", ""} {
		require.Error(t, web.CheckOrigins([]string{origin}), origin)
	}
}
