package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// The endpoint crashes on one request, or has closed its idle connections. There are 16 connections to it.
func TestAttemptRetriesOnceOnAStaleConnection(t *testing.T) {
	const warm = 16
	type connection struct{}
	post := func(s *Sender, url string) Attempt { return s.Post(context.Background(), testDelivery(url)) }
	exchange := func(method string, body []byte) func(*Sender, string) Attempt {
		return func(s *Sender, url string) Attempt {
			return s.Exchange(context.Background(), Request{Method: method, URL: url, Body: body,
				Headers: map[string]string{"Idempotency-Key": "1"}})
		}
	}
	for name, row := range map[string]struct {
		make     func(*Sender, string) Attempt
		dies     func(requests int64) bool // by the number of requests on the connection
		requests int64
		class    ErrorClass
	}{
		"a delivery that crashes every worker": {post, func(int64) bool { return true }, 2, ConnectionBroken},
		"a call that crashes every worker": {exchange("PUT", []byte(`{}`)),
			func(int64) bool { return true }, 2, ConnectionBroken},
		"a GET that crashes every worker": {exchange("GET", nil), func(int64) bool { return true }, 1,
			ConnectionBroken},
		"a call without a body that crashes every worker": {exchange("POST", nil), func(int64) bool { return true },
			1, ConnectionBroken},
		"a delivery after every idle connection was closed": {post, func(requests int64) bool { return requests > 1 },
			2, ""},
		"a call after every idle connection was closed": {exchange("POST", []byte(`{}`)),
			func(requests int64) bool { return requests > 1 }, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var warmed atomic.Bool
			var requests atomic.Int64
			var together, all sync.WaitGroup
			together.Add(warm)
			url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				nth := r.Context().Value(connection{}).(*atomic.Int64).Add(1)
				if warmed.Load() {
					if requests.Add(1); row.dies(nth) {
						panic(http.ErrAbortHandler)
					}
					return
				}
				together.Done()
				together.Wait()
			}, func(s *httptest.Server) {
				s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
					return context.WithValue(ctx, connection{}, new(atomic.Int64))
				}
				s.Start()
			})
			sender := testSender(t, SenderConfig{}, "127.0.0.0/8")
			var failed atomic.Int64
			for range warm {
				all.Go(func() {
					if !post(sender, url).OK() {
						failed.Add(1)
					}
				})
			}
			all.Wait()
			require.Zero(t, failed.Load())
			warmed.Store(true)
			attempt := row.make(sender, url)
			require.Equal(t, row.class, attempt.ErrorClass, attempt.Error)
			require.Equal(t, row.requests, requests.Load())
			require.Equal(t, row.requests == 2, attempt.SentTwice)
		})
	}
}

// The endpoint acts as the row says on the second request, and responds to the others.
func TestHTTP2RequestRetriesOnlyAfterConnectionClose(t *testing.T) {
	for name, row := range map[string]struct {
		does     func(f *http2.Framer, stream uint32) error
		requests int64
		words    string
	}{
		"shuts the connection down": {func(f *http2.Framer,
			_ uint32) error {
			return f.WriteGoAway(1, http2.ErrCodeNo, nil)
		}, 3, ""},
		"refuses the request": {func(f *http2.Framer, stream uint32) error {
			return f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		}, 2,
			"the server reset the HTTP/2 stream before the response was complete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			certified := httptest.NewTLSServer(nil)
			certified.Close()
			config := &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}}
			address := accept(t, func(plain net.Conn) {
				near := tls.Server(plain, config)
				if _, err := near.Read(make([]byte, len(http2.ClientPreface))); err != nil {
					return
				}
				f := http2.NewFramer(near, near)
				for err := f.WriteSettings(); err == nil; {
					var frame http2.Frame
					if frame, err = f.ReadFrame(); err == nil && frame.Header().Type == http2.FrameHeaders {
						if stream := frame.Header().StreamID; requests.Add(1) != 2 {
							// :status: 200
							err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88},
								EndStream: true, EndHeaders: true})
						} else {
							err = row.does(f, stream)
						}
					}
				}
			})
			sender := testSender(t, SenderConfig{TLS: trustingTLS().Clone()}, "127.0.0.0/8")
			require.Empty(t, sender.Post(context.Background(), testDelivery("https://"+address)).Error)
			attempt := sender.Post(context.Background(), testDelivery("https://"+address))
			require.Equal(t, row.words, attempt.Error)
			require.Equal(t, row.requests, requests.Load())
		})
	}
}
