package hub

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/assets"
	"github.com/servery-hub/servery/adminui/reference"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/web"
	"github.com/servery-hub/servery/web/body"
)

// maxUnread is the same as in package web.
const maxUnread = 64 << 10

// sendPartial sends the headers of a POST request and a part of its body, and returns the response.
func sendPartial(t *testing.T, address, path, headers, body string) (int, string) {
	t.Helper()
	return sendStart(t, address, "POST "+path, headers, body)
}

// sendStart is sendPartial for any method, which begins the target.
func sendStart(t *testing.T, address, target, headers, body string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%s\r\n\r\n%s", target,
		headers, body)
	require.NoError(t, err)
	method, _, _ := strings.Cut(target, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(t, err)
	require.True(t, response.Close, "nobody reads on")
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func serveOn(t *testing.T, a *api) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = a.hub.server.App.Listener(listener) }()
	t.Cleanup(func() { require.NoError(t, a.hub.server.App.Shutdown()) })
	return listener.Addr().String()
}

func TestLargeBodyIsReadOnlyAfterAuthentication(t *testing.T) {
	d := newMenuClient(t, func(c *Config) { unlimited(c); c.Roles = append(c.Roles, RoleConsole) })
	d.hub.mountPages("http://example.com", 0)
	address := serveOn(t, d.api)
	long := fmt.Sprintf("Content-Length: %d", maxUnread+1)
	start := strings.Repeat(" ", body.Prefetched) // fasthttp reads that much before any handler
	chunk := fmt.Sprintf("%x\r\n%s\r\n", maxUnread+1, strings.Repeat(" ", maxUnread+1))
	for _, c := range []struct {
		path, headers, body string
		status              int
		says                string
	}{
		{storesRoute, long, start, 401, "apikey USERNAME:API_KEY"},
		{storesRoute, long + "\r\nAuthorization: apikey pos:svk_wrong", start, 401, "apikey USERNAME:API_KEY"},
		{storesRoute, "Transfer-Encoding: chunked", chunk, 401, "apikey USERNAME:API_KEY"},
		{storesRoute, fmt.Sprintf("Authorization: %s\r\nContent-Length: %d", d.tenant.Authorization, 64<<20+1), start,
			413, "larger than 67108864 bytes"},
		{storesRoute + "?x=/channel/a/callback/", long, start, 401, "apikey USERNAME:API_KEY"},
		{"/channel/api/v1/a/callback/order/?business=1", fmt.Sprintf("Content-Length: %d", order.MaxBody+1), start, 413,
			"larger than 1048576 bytes"},
		{shell.SignInPath, long, start, 413, "larger than 65536 bytes"},
		{shell.SignInPath, long + "\r\nAuthorization: " + d.tenant.Authorization, start, 413,
			"larger than 65536 bytes"},
		{"/nowhere/", long, start, 404, "unknown path"},
	} {
		status, text := sendPartial(t, address, c.path, c.headers, c.body)
		require.Equal(t, c.status, status, "%s %s: %s", c.path, c.headers, text)
		require.Contains(t, text, c.says)
	}
	large := `{"stores":[{"ref_id":"s1","name":"` + strings.Repeat(" ", maxUnread) + `x"}]}`
	r := d.do(t, request{method: "POST", path: storesRoute, authorization: d.tenant.Authorization, body: large})
	require.NotContains(t, []int{401, 413}, r.status, "read, because its key is good")
}

func TestReplicaWithoutAPIReadsNoLargeBody(t *testing.T) {
	a := newAPI(t, func(c *Config) { c.Roles = []string{RoleWorker} })
	status, text := sendPartial(t, serveOn(t, a), "/healthz", "Content-Length: 65537", strings.Repeat(" ",
		body.Prefetched))
	require.Equal(t, 405, status, text)
}

func TestPagesForEverybodyReadNoBody(t *testing.T) {
	a := newAPI(t, func(c *Config) { c.Roles = append(c.Roles, RoleConsole) })
	a.hub.mountPages("http://example.com", 0)
	address := serveOn(t, a)
	const size = 1 << 20
	long, start := fmt.Sprintf("Content-Length: %d", size), strings.Repeat(" ", body.Prefetched)
	chunk := fmt.Sprintf("%x\r\n%s", size, start)
	for _, path := range []string{"/metrics", "/metrics/", "/healthz", "/readyz", "/openapi.json", reference.Path,
		assets.URL("app.css"), shell.SignInPath} {
		for _, method := range []string{"GET", "HEAD"} {
			status, text := sendStart(t, address, method+" "+path, long, start)
			require.Contains(t, []int{200, 303}, status, "%s %s: %s", method, path, text)
		}
	}
	status, text := sendStart(t, address, "GET /metrics", "Transfer-Encoding: chunked", chunk)
	require.Equal(t, 200, status, text)
}

func TestMetricsKeepTheConnectionOfAScraper(t *testing.T) {
	address := serveOn(t, newAPI(t, nil))
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	reader := bufio.NewReader(conn)
	for _, header := range []string{"", "Content-Length: 0\r\n", ""} {
		_, err = fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: a\r\n%s\r\n", header)
		require.NoError(t, err)
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode)
		require.False(t, response.Close)
	}
}

func TestTooManyEmptyObjectsAreRejected(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 60 MiB")
	}
	d := newMenuClient(t, unlimited)
	objects := func(array string) string {
		return string(hubtest.GzipRepeated(t, `{"`+array+`":[`, "{},", "]}", 30<<20))
	}
	headers := map[string]string{"Content-Encoding": "gzip"}
	send := func(path, body string) apiResponse {
		return d.do(t, request{method: "POST", path: path, authorization: d.tenant.Authorization, body: body,
			headers: headers})
	}
	requireEnvelope(t, send(storesRoute, objects("stores")), 400,
		"stores must have at most 5000 objects, not more than 20000")
	requireEnvelope(t, send("/external/api/v1/inventory/locations/-1/", objects("items")), 400,
		"items must have at most 2000 objects, not more than 8000")
	requireEnvelope(t, send("/external/api/v1/webhooks/", objects("x")), 413, "larger than 524288 bytes")
}

func TestThrottledLargeBodyGets429(t *testing.T) {
	d := newMenuClient(t, func(c *Config) { c.Limits[web.LimitMenu] = limit.Rule{Count: 1, Per: time.Minute} })
	address := serveOn(t, d.api)
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	reader, large := bufio.NewReader(conn), strings.Repeat(" ", 2<<20)
	for _, status := range []int{400, 429, 429} {
		_, err = fmt.Fprintf(conn,
			"POST /external/api/v1/inventory/locations/-1/ HTTP/1.1\r\nHost: a\r\nAuthorization: "+
				"%s\r\nContent-Length: %d\r\n\r\n%s",
			d.tenant.Authorization, len(large), large)
		require.NoError(t, err)
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.Equal(t, status, response.StatusCode)
		require.False(t, response.Close, "the connection serves on")
	}
}
