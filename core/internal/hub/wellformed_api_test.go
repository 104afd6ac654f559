package hub

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestInvalidUTF8PathIsRejected(t *testing.T) {
	d := newMenuClient(t, unlimited)
	shop := hubtest.ChannelKey(t, d.hub.db, d.tenant.ID, "web")
	for path, who := range map[string]string{
		storesRoute + "s%001/":        d.tenant.Authorization,
		storesRoute + "?after=%00":    d.tenant.Authorization,
		storesRoute + "?after=%zz%00": d.tenant.Authorization,
		menuRoute + "s1/items/dal%ff/at/?platform=web&at=2026-11-21T00:00:00Z": d.tenant.Authorization,
		channelStoresRoute + "s1/menu/?platform=we%00b":                        shop,
		channelStoresRoute + "s1/deliverable/?zip_code=%ff":                    shop,
	} {
		r := d.do(t, request{method: "GET", path: path, authorization: who})
		requireEnvelope(t, r, map[bool]int{true: 400, false: 404}[strings.Contains(path, "?") &&
			!strings.Contains(path, "dal")], "UTF-8")
	}
	require.Equal(t, 200, d.ok("GET", storesRoute+"?after=%20%C3%A9%zz", "").status, "a percent may stand for itself")
	callback := "/channel/api/v1/aggregator-%00b/callback/order/?business=1"
	requireEnvelope(t, d.do(t, request{method: "POST", path: callback, body: "{}"}), 404, "UTF-8")
}

func TestAmbiguousRequestFramingIsRejectedAndClosed(t *testing.T) {
	a := newAPI(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = a.hub.server.App.Listener(listener) }()
	t.Cleanup(func() { require.NoError(t, a.hub.server.App.Shutdown()) })
	for headers, want := range map[string]int{
		"Host: a\r\nContent-Length: 0":                                         http.StatusNotFound,
		"Host: a\r\nContent-Length: 34\r\nContent-Length: 0":                   http.StatusBadRequest,
		"Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked":           http.StatusBadRequest,
		"Host: a\r\nTransfer-Encoding: identity\r\ntransfer-encoding: chunked": http.StatusBadRequest,
		"Host: a\r\nHost: b\r\nContent-Length: 0":                              http.StatusBadRequest,
	} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /nowhere HTTP/1.1\r\n%s\r\n\r\n%s", headers, strings.Repeat("0\r\n\r\n", 20))
		require.NoError(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, headers)
		require.Equal(t, want, response.StatusCode, headers)
		require.Equal(t, want == http.StatusBadRequest, response.Close, headers)
	}
}
