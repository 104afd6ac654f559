// Package hostile makes hostile requests: bombs, floods of connections, and clients that read or write slowly.
package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// Kind is one kind of hostile request.
type Kind struct {
	Name     string
	manner   manner
	factor   int                                 // multiple of the number of requests of the other kinds; 0 means 1
	Requests func(authorization string) [][]byte // sent in this order, repeatedly
}

// Attack sends so many requests at an even rate over the time, from 16 addresses. It returns the number of each outcome
// when the context ends or all have ended.
func (k Kind) Attack(ctx context.Context, address string, requests [][]byte, count int,
	over time.Duration) map[string]int {
	n := count * max(k.factor, 1)
	var mu sync.Mutex
	var running sync.WaitGroup
	outcomes := map[string]int{}
	began := time.Now()
	for i := range n {
		if !pause(ctx, time.Until(began.Add(over*time.Duration(i)/time.Duration(n)))) {
			break
		}
		running.Go(func() {
			outcome := attackOnce(ctx, address, byte(2+i%16), requests[i%len(requests)], k.manner)
			mu.Lock()
			defer mu.Unlock()
			outcomes[outcome]++
		})
	}
	running.Wait()
	return outcomes
}

// manner is how a hostile client behaves after its request.
type manner int

const (
	awaits manner = iota // reads the response
	holds                // does nothing more: its body lacks a byte, or it sent none
	drips                // sends a byte now and then
	sips                 // reads a byte now and then
)

const (
	bombSize   = 60 << 20 // unpacked
	plainSize  = 1 << 20
	storesPath = "/external/api/v1/stores/"
)

// Kinds are in the order in which they are measured.
func Kinds() []Kind {
	bomb := func(encoding string, pack func(dst, src []byte) []byte) Kind {
		return Kind{Name: "bomb " + encoding, Requests: func(key string) [][]byte {
			form := "--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n" + strings.Repeat("a", bombSize) +
				"\r\n--b--\r\n"
			return [][]byte{
				rawPost("/console/sign-in/", "", "multipart/form-data; boundary=b", encoding, pack(nil, []byte(form))),
				rawPost(storesPath, key, "application/json", encoding, pack(nil, wideJSON(bombSize))),
			}
		}}
	}
	stores := func(key string, body []byte) []byte { return rawPost(storesPath, key, "application/json", "", body) }
	const get = "GET %s HTTP/1.1\r\nHost: hub\r\n%s\r\n"
	return []Kind{
		bomb("gzip", fasthttp.AppendGzipBytes),
		bomb("deflate", fasthttp.AppendDeflateBytes),
		bomb("br", fasthttp.AppendBrotliBytes),
		{Name: "deep JSON", Requests: func(key string) [][]byte { return [][]byte{stores(key, deepJSON(plainSize))} }},
		{Name: "wide JSON", Requests: func(key string) [][]byte { return [][]byte{stores(key, wideJSON(plainSize))} }},
		{Name: "slow read", manner: sips, Requests: func(key string) [][]byte {
			known := fmt.Sprintf(get, "/external/api/v1/events/catalogue/", "Authorization: "+key+"\r\n")
			return [][]byte{fmt.Appendf(nil, get, "/openapi.json", ""), []byte(strings.Repeat(known, 20))}
		}},
		{Name: "slow write", manner: drips, Requests: func(key string) [][]byte {
			whole := stores(key, wideJSON(plainSize))
			head := []byte("POST /channel/api/v1/orders/ HTTP/1.1\r\nHost: hub\r\nX-Slow: ")
			return [][]byte{head, whole[:len(whole)/2]}
		}},
		{Name: "half bodies", manner: holds, Requests: func(string) [][]byte {
			const path = "/channel/api/v1/aggregator-a/callback/order/"
			whole := rawPost(path, "", "application/json", "", wideJSON(plainSize))
			return [][]byte{whole[:len(whole)-1]}
		}},
		{Name: "huge headers", Requests: func(string) [][]byte {
			return [][]byte{fmt.Appendf(nil, get, "/healthz", "X-Huge: "+strings.Repeat("x", plainSize)+"\r\n"),
				fmt.Appendf(nil, get, "/healthz", strings.Repeat("X-Many: x\r\n", plainSize/11))}
		}},
		{Name: "connections", manner: holds, factor: 10, Requests: func(string) [][]byte { return [][]byte{nil} }},
		{Name: "formula cells", Requests: func(key string) (all [][]byte) {
			for i, cell := range []string{"=1+1", ";=1+1", "＝1+1", "\t=1+1", "+1", "-1", "@SUM(1)",
				`=HYPERLINK("http://127.0.0.1/")`} {
				all = append(all, stores(key, fmt.Appendf(nil,
					`{"stores":[{"ref_id":"F-%d","name":%q,"city":%q,"active":true}]}`, i, cell, cell)))
			}
			return all
		}},
	}
}

// rawPost is a request as it goes over the wire.
func rawPost(path, authorization, media, encoding string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"+
		"Content-Type: %s\r\nContent-Length: %d\r\n", path, media, len(body))
	if authorization != "" {
		head += "Authorization: " + authorization + "\r\n"
	}
	if encoding != "" {
		head += "Content-Encoding: " + encoding + "\r\n"
	}
	return append([]byte(head+"\r\n"), body...)
}

// wideJSON is as many empty stores as fit.
func wideJSON(size int) []byte {
	const before, after = `{"stores":[`, `{}]}`
	return []byte(before + strings.Repeat("{},", (size-len(before)-len(after))/3) + after)
}

// deepJSON is a list of a list of a list.
func deepJSON(size int) []byte {
	return []byte(`{"stores":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + "}")
}

// attackOnce makes one hostile request from 127.0.0.FROM, and returns its outcome: the status, or how the connection
// ended.
func attackOnce(ctx context.Context, address string, from byte, request []byte, how manner) string {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}, Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp4", address)
	if err != nil {
		return "not connected"
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if how == sips {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	_, err = conn.Write(request)
	if err != nil && (how == holds || how == drips) { // for others, the response may have arrived already
		return ended(err)
	}
	for how == drips || how == sips {
		if !pause(ctx, 500*time.Millisecond) {
			return "held"
		}
		more, err := []byte(" "), error(nil)
		if how == sips { // what has arrived can be read after the end, which writing shows
			_, err = conn.Read(more)
			more = []byte("\n")
		}
		if err == nil {
			_, err = conn.Write(more)
		}
		if err != nil {
			return ended(err)
		}
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(conn, head); err != nil {
		return ended(err)
	}
	return strings.TrimPrefix(string(head), "HTTP/1.1 ")
}

// ended is how a connection ended: "held" is one that the hub has not closed.
func ended(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "held"
	}
	return "closed"
}

// pause waits, and reports whether the context did not end first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
