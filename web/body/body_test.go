package body_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web/body"
)

func gzipped(text string) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return packed.String()
}

func deflated(text string) string {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return packed.String()
}

// testServer records the requests to a server that streams bodies.
type testServer struct {
	listener *fasthttputil.InmemoryListener
	requests []string // method, path and the body that the handler read
}

// serve starts a server that reads the bodies of paths below /read/.
func serve(t *testing.T, maxBytes body.Limit, memory *limit.Memory) *testServer {
	t.Helper()
	s := &testServer{listener: fasthttputil.NewInmemoryListener()}
	server := &fasthttp.Server{
		StreamRequestBody: true, MaxRequestBodySize: math.MaxInt, DisablePreParseMultipartForm: true,
		Handler: func(c *fasthttp.RequestCtx) {
			line := string(c.Method()) + " " + string(c.Path())
			if strings.HasPrefix(string(c.Path()), "/read/") {
				share := memory.NewReservation(maxBytes.Class)
				defer share.Release()
				text, err := body.Read(c, c, maxBytes, &share)
				if err != nil {
					c.SetStatusCode(map[core.Code]int{core.TooLarge: 413, core.UnsupportedMedia: 415, core.Invalid: 400,
						core.Unavailable: 503}[core.CodeOf(err)])
					c.SetBodyString(err.Error())
				}
				line += fmt.Sprintf(" %d", len(text))
			}
			s.requests = append(s.requests, line)
			body.DrainRest(c, 64<<10)
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Shutdown())
		require.NoError(t, <-ended)
	})
	return s
}

// send sends bytes on one connection. It returns the statuses of the responses: as many as wanted, or all until the
// server closes the connection.
func (s *testServer) send(t *testing.T, raw string, want int) (statuses []int, closed bool) {
	t.Helper()
	conn, err := s.listener.Dial()
	require.NoError(t, err)
	defer conn.Close()
	go func(conn net.Conn) { _, _ = io.WriteString(conn, raw) }(conn)
	reader := bufio.NewReader(conn)
	for len(statuses) < want {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return statuses, true
		}
		_, _ = io.Copy(io.Discard, response.Body)
		statuses = append(statuses, response.StatusCode)
		closed = response.Close
	}
	return statuses, closed
}

func request(path, headers, content string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s", path, headers, len(content),
		content)
}

func chunked(path, headers, content string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", path,
		headers, len(content), content)
}

const nextRequest = "GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

func TestCompressedAndPlainBodiesShareTheLimit(t *testing.T) {
	const most = 100 << 10
	s := serve(t, body.Limit{Bytes: most}, nil)
	packed := "Content-Encoding: gzip\r\n"
	fits, over := strings.Repeat("x", most), strings.Repeat("x", most+1)
	noise := strings.Repeat("\x00", 3<<20)
	for name, c := range map[string]struct {
		raw    string
		status int
		read   int
	}{
		"plain":              {request("/read/", "", fits), 200, most},
		"plain, longer":      {request("/read/", "", over), 413, 0},
		"chunked":            {chunked("/read/", "", fits), 200, most},
		"chunked, longer":    {chunked("/read/", "", over), 413, 0},
		"packed":             {request("/read/", packed, gzipped(fits)), 200, most},
		"packed and chunked": {chunked("/read/", packed, gzipped(fits)), 200, most},
		"packed, longer":     {request("/read/", packed, gzipped(over)), 413, 0},
		"bomb":               {chunked("/read/", packed, gzipped(noise)), 413, 0},
		"packed twice":       {request("/read/", "Content-Encoding: gzip, gzip\r\n", gzipped(gzipped(fits))), 415, 0},
		"deflate":            {request("/read/", "Content-Encoding: deflate\r\n", deflated(fits)), 415, 0},
		"br":                 {request("/read/", "Content-Encoding: br\r\n", fits[:100]), 415, 0},
		"no gzip":            {request("/read/", packed, "nothing"), 400, 0},
		"gzip cut short":     {request("/read/", packed, gzipped(fits)[:60]), 400, 0},
		"gzip and more":      {request("/read/", packed, gzipped(fits)+"more"), 400, 0},
		"empty":              {request("/read/", "", ""), 200, 0},
		"stored, not smaller": {request("/read/", packed,
			"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"+strings.Repeat("\x00\x00\x00\xff\xff", most/4)), 413, 0},
	} {
		s.requests = nil
		statuses, _ := s.send(t, c.raw, 1)
		require.Equal(t, []int{c.status}, statuses, name)
		require.Equal(t, []string{fmt.Sprintf("POST /read/ %d", c.read)}, s.requests, name)
	}
}

// TestLargeBodyIsReadBesideAGzipBomb reads bodies that a buffer has to grow for several times, and copies in parts.
func TestLargeBodyIsReadBesideAGzipBomb(t *testing.T) {
	const most = 6 << 20
	random := make([]byte, most/2)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random) // never fails
	large := hex.EncodeToString(random)
	bomb, memory := gzipped(strings.Repeat("\x00", 64<<20)), limit.NewMemory(256<<20)
	maxBytes := body.Limit{Bytes: most, Class: limit.Large, Cost: body.Cost{Byte: 1}}
	read := func(sent string) ([]byte, error) {
		var c fasthttp.RequestCtx
		c.Request.Header.SetMethod("POST")
		c.Request.Header.Set("Content-Encoding", "gzip")
		c.Request.SetBodyStream(strings.NewReader(sent), -1)
		share := memory.NewReservation(maxBytes.Class)
		defer share.Release()
		return body.Read(t.Context(), &c, maxBytes, &share)
	}
	var running errgroup.Group
	for _, size := range []int{most, most - 1, 5<<20 + 12345, 128<<10 + 1} {
		running.Go(func() error {
			got, err := read(gzipped(large[:size]))
			if err == nil && string(got) != large[:size] {
				err = fmt.Errorf("a body of %d bytes was read as another of %d", size, len(got))
			}
			return err
		})
		running.Go(func() error {
			if _, err := read(bomb); core.CodeOf(err) != core.TooLarge {
				return fmt.Errorf("the bomb: %w", err)
			}
			return nil
		})
	}
	require.NoError(t, running.Wait())
	share := memory.NewReservation(maxBytes.Class)
	require.NoError(t, share.GrowBytes(t.Context(), share.ClampBytes(1<<40)), "nothing is held any more")
}

func TestUnreadBodyIsNotParsedAsARequest(t *testing.T) {
	s := serve(t, body.Limit{Bytes: 100 << 10}, nil)
	smuggled := func(n int) string {
		const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
		return strings.Repeat(hidden, n/len(hidden)+1)[:n]
	}
	for name, c := range map[string]struct {
		raw string
		end bool // of the connection
	}{
		"small, not read":          {request("/left", "", smuggled(500)), false},
		"prefetched, not read":     {request("/left", "", smuggled(body.Prefetched)), false},
		"a bit more, not read":     {request("/left", "", smuggled(body.Prefetched+1)), false},
		"middling, not read":       {request("/left", "", smuggled(60<<10)), false},
		"large, not read":          {request("/left", "", smuggled(70<<10)), true},
		"chunked, not read":        {chunked("/left", "", smuggled(60<<10)), false},
		"large and chunked":        {chunked("/left", "", smuggled(70<<10)), true},
		"read":                     {request("/read/", "", smuggled(90<<10)), false},
		"read, chunked":            {chunked("/read/", "", smuggled(90<<10)), false},
		"read, packed":             {request("/read/", "Content-Encoding: gzip\r\n", gzipped(smuggled(90<<10))), false},
		"read, packed and chunked": {chunked("/read/", "Content-Encoding: gzip\r\n", gzipped(smuggled(90<<10))), false},
		"too large":                {request("/read/", "", smuggled(200<<10)), true},
		"too large, chunked":       {chunked("/read/", "", smuggled(200<<10)), true},
		"no gzip":                  {request("/read/", "Content-Encoding: gzip\r\n", smuggled(30<<10)), false},
		"other coding":             {request("/read/", "Content-Encoding: br\r\n", smuggled(30<<10)), false},
		"broken chunk": {"POST /read/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n5\r\nabcdeXX" + smuggled(500), true},
		"GET with a body": {strings.Replace(request("/left", "", smuggled(20<<10)), "POST", "GET", 1), false},
		"GET with chunks": {strings.Replace(chunked("/left", "", smuggled(20<<10)), "POST", "GET", 1), false},
		"expected":        {request("/left", "Expect: 100-continue\r\n", smuggled(20<<10)), false},
		"multipart": {request("/left", "Content-Type: multipart/form-data; boundary=x\r\n",
			smuggled(20<<10)), false},
		"chunked with a trailer": {strings.Replace(chunked("/read/", "Trailer: X-A\r\n", smuggled(100)),
			"\r\n0\r\n\r\n", "\r\n0\r\nX-A: b\r\n\r\n", 1), false},
		"chunks with an extension": {strings.Replace(chunked("/read/", "", smuggled(16)), "10\r\n", "10;a=b\r\n", 1),
			false},
		"nothing, and no type":      {request("/left", "", ""), false},
		"length of the next inside": {request("/left", "", strings.ReplaceAll(nextRequest, "after", "hidden")), false},
	} {
		s.requests = nil
		s.send(t, c.raw+nextRequest, 3)
		require.NotContains(t, strings.Join(s.requests, "\n"), "/hidden", name)
		if c.end {
			require.Len(t, s.requests, 1, name)
			continue
		}
		require.Len(t, s.requests, 2, name)
		require.Equal(t, "GET /after", s.requests[1], name)
	}
}

func TestMemoryIsReservedBeforeReadingABody(t *testing.T) {
	memory := limit.NewMemory(64 << 20)
	s := serve(t, body.Limit{Bytes: 1 << 30, Class: limit.Large, Cost: body.Cost{Byte: 1, Value: 1000}}, memory)
	statuses, _ := s.send(t, request("/read/", "", strings.Repeat("x", 1<<20)), 1)
	require.Equal(t, []int{200}, statuses)
	statuses, _ = s.send(t, request("/read/", "", strings.Repeat("{},", 100<<10)), 1)
	require.Equal(t, []int{413}, statuses, "what it would be decoded into is more than there is")
	statuses, _ = s.send(t, request("/read/", "Content-Encoding: gzip\r\n", gzipped(strings.Repeat("x", 32<<20))), 1)
	require.Equal(t, []int{413}, statuses)
	share := memory.NewReservation(limit.Large)
	require.NoError(t, share.GrowBytes(t.Context(), share.ClampBytes(1<<30)), "everything was released")
	require.NoError(t, share.GrowDecoded(t.Context(), share.ClampDecoded(1<<30)))
	statuses, _ = s.send(t, request("/read/", "", strings.Repeat("x", 1<<20)), 1)
	require.Equal(t, []int{503}, statuses)
	share.Release()
	statuses, _ = s.send(t, request("/read/", "", strings.Repeat("x", 1<<20)), 1)
	require.Equal(t, []int{200}, statuses)
}

// slowly is a request whose body arrives in parts of 64 KiB, one in each interval.
func slowly(t *testing.T, length int, interval time.Duration, arrived func()) *fasthttp.RequestCtx {
	t.Helper()
	var c fasthttp.RequestCtx
	server, client := net.Pipe()
	var sending sync.WaitGroup
	t.Cleanup(func() {
		_ = server.Close()
		sending.Wait()
	})
	c.Init2(server, nil, true)
	c.Request.Header.SetMethod("POST")
	c.Request.SetBodyStream(server, length)
	sending.Go(func() {
		defer client.Close()
		for sent := 0; sent < length; sent += 64 << 10 {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(interval):
			}
			if _, err := client.Write(make([]byte, min(64<<10, length-sent))); err != nil {
				return
			}
			synctest.Wait()
			arrived()
		}
	})
	return &c
}

func TestUnauthenticatedBodiesReserveWhatArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := limit.NewMemory(64 << 20)
		share := memory.NewReservation(limit.Anonymous)
		var held []int64
		c := slowly(t, 256<<10, time.Second, func() {
			for _, u := range memory.Usages() {
				if u.Class == limit.Anonymous && !u.Decoded {
					held = append(held, u.Used>>10)
				}
			}
		})
		read, err := body.Read(t.Context(), c, body.Limit{Bytes: 1 << 20, Class: limit.Anonymous}, &share)
		require.NoError(t, err)
		require.Len(t, read, 256<<10)
		require.Equal(t, []int64{64, 128, 256, 256}, held)
	})
}

func TestUnauthenticatedBodiesMustArriveSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share := limit.NewMemory(64 << 20).NewReservation(limit.Anonymous)
		began := time.Now()
		_, err := body.Read(t.Context(), slowly(t, 1<<20, time.Second, func() {}),
			body.Limit{Bytes: 1 << 20, Class: limit.Anonymous}, &share)
		require.Equal(t, core.TooSlow, core.CodeOf(err))
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

func TestSlowBodiesYieldWhenMemoryIsShort(t *testing.T) {
	for _, contended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			memory := limit.NewMemory(64 << 20)
			share := memory.NewReservation(limit.Small)
			began := time.Now()
			c := slowly(t, 3<<20, 5*time.Second, func() {
				if contended {
					other := memory.NewReservation(limit.Small)
					require.Error(t, other.GrowBytes(t.Context(), 2<<20))
				}
			})
			read, err := body.Read(t.Context(), c, body.Limit{Bytes: 4 << 20, Class: limit.Small}, &share)
			if contended {
				require.Equal(t, core.TooSlow, core.CodeOf(err))
				require.InDelta(t, 2*time.Minute, time.Since(began), float64(10*time.Second))
			} else {
				require.NoError(t, err)
				require.Len(t, read, 3<<20)
			}
		})
	}
}

func TestBodyTooLongToDecodeIsNotRead(t *testing.T) {
	memory := limit.NewMemory(64 << 20)
	share := memory.NewReservation(limit.Large)
	most := share.ClampDecoded(1<<40) / 6
	for length, code := range map[int64]core.Code{most: "", most + 1: core.TooLarge} {
		var c fasthttp.RequestCtx
		sent := strings.NewReader(strings.Repeat("x", int(length)))
		c.Request.SetBodyStream(sent, int(length))
		_, err := body.Read(t.Context(), &c,
			body.Limit{Bytes: 1 << 30, Class: limit.Large, Cost: body.Cost{Byte: 6}}, &share)
		require.Equal(t, code, core.CodeOf(err))
		require.Equal(t, code != "", sent.Len() == int(length))
		share.Release()
	}
}

func TestFormsMustBeURLEncodedAndUncompressed(t *testing.T) {
	const multipart = "--x\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\na\r\n--x--\r\n"
	for name, c := range map[string]struct {
		media, coding, content string
		code                   core.Code
	}{
		"form":                {"application/x-www-form-urlencoded", "", "email=a", ""},
		"form with a charset": {"application/x-www-form-urlencoded; charset=utf-8", "", "email=a", ""},
		"nothing":             {"", "", "", ""},
		"multipart":           {"multipart/form-data; boundary=x", "", multipart, core.UnsupportedMedia},
		"packed multipart":    {"multipart/form-data; boundary=x", "gzip", gzipped(multipart), core.UnsupportedMedia},
		"packed form":         {"application/x-www-form-urlencoded", "gzip", gzipped("email=a"), core.UnsupportedMedia},
		"identity":            {"application/x-www-form-urlencoded", "identity", "email=a", core.UnsupportedMedia},
		"JSON":                {"application/json", "", `{"email":"a"}`, core.UnsupportedMedia},
		"no type":             {"", "", "email=a", core.UnsupportedMedia},
		"broken":              {"application/x-www-form-urlencoded", "", "email=%zz", core.Invalid},
		"large": {"application/x-www-form-urlencoded", "", "email=" + strings.Repeat("a", 100),
			core.TooLarge},
	} {
		var sent fasthttp.RequestCtx
		sent.Request.Header.SetMethod("POST")
		sent.Request.Header.SetContentType(c.media)
		if c.coding != "" {
			sent.Request.Header.Set("Content-Encoding", c.coding)
		}
		sent.Request.SetBodyStream(strings.NewReader(c.content), len(c.content))
		share := limit.NewMemory(64 << 20).NewReservation(limit.Anonymous)
		maxBytes := body.Limit{Bytes: 64}
		if strings.Contains(c.media, "multipart") {
			maxBytes.Bytes = 1 << 10
		}
		fields, err := body.Form(t.Context(), &sent, maxBytes, &share)
		require.Equal(t, c.code, core.CodeOf(err), name)
		if err == nil && c.content != "" {
			require.Equal(t, "a", fields.Get("email"), name)
		}
	}
}
