// Package body reads request bodies. It limits their size, compressed and decompressed, and reserves memory for them.
package body

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/limit"
)

// Prefetched is the number of bytes of a body that fasthttp reads before any handler.
const Prefetched = 8 << 10

// Limit bounds the bodies of a route. The zero Limit allows no body.
type Limit struct {
	Bytes int // compressed and decompressed
	Class limit.Class
	Cost  Cost
}

// Cost is the measured memory of a decoded body: bytes for each byte, and for each JSON value and key.
type Cost struct{ Byte, Value int64 }

// Of returns an upper bound of the memory of a decoded body. It also counts punctuation in strings.
func (c Cost) Of(body []byte) int64 {
	values := 0
	if c.Value > 0 {
		for _, sign := range []string{"{", "[", ",", ":"} {
			values += bytes.Count(body, []byte(sign))
		}
	}
	return c.Byte*int64(len(body)) + c.Value*int64(values)
}

// TooLarge returns the error for a body above the limit, in bytes.
func TooLarge(maxBytes int) error {
	return core.Errorf(core.TooLarge, "the request body is larger than %d bytes", maxBytes)
}

var (
	errTooLong    = errors.New("longer than the limit")
	errIncomplete = syntaxError("the request body is incomplete")
	errTooSlow    = core.Errorf(core.TooSlow, "the request body did not arrive in time")
	errNotGzip    = syntaxError("the body is not valid gzip")
)

func syntaxError(message string) error {
	var v core.Violations
	v.AddBody("", "syntax", message)
	return v.Err()
}

// How long a body may take. The second limit applies while others find no memory for theirs.
const (
	anonymousTime = 10 * time.Second
	contendedTime = 2 * time.Minute
)

// briefBytes is the longest body that is not timed, because it holds little memory.
const briefBytes = 64 << 10

// hasArrived reports whether fasthttp has read the body of a request.
func hasArrived(request *fasthttp.Request) bool {
	length := request.Header.ContentLength()
	return length >= 0 && length <= Prefetched
}

// ClientSender returns the network of a client that is not authenticated, as the sender of a body. It returns the
// unknown sender if the body needs no reservation.
func ClientSender(c *fasthttp.RequestCtx, proxies []netip.Prefix) limit.Sender {
	header := &c.Request.Header
	if hasArrived(&c.Request) && len(header.Peek(fasthttp.HeaderContentEncoding)) == 0 {
		return limit.Sender{}
	}
	return limit.Sender{Network: inbound.ClientNetwork(c.RemoteIP(), header.PeekAll(fasthttp.HeaderXForwardedFor),
		proxies)}
}

// Read returns the body of a request, decompressed if it is gzip. It reserves the memory of the raw and the decoded
// body in share. An authenticated client that is accepted has all the memory that its body needs, so it can send
// slowly. An unauthenticated client gets memory as it sends.
func Read(ctx context.Context, c *fasthttp.RequestCtx, maxBytes Limit, share *limit.Reservation) ([]byte, error) {
	coding := strings.ToLower(string(c.Request.Header.Peek(fasthttp.HeaderContentEncoding))) // RFC 9110, 8.4.1
	length := c.Request.Header.ContentLength()
	packed := coding == "gzip" || coding == "x-gzip"        // RFC 9110, 8.4.1.3
	if length <= maxBytes.Bytes && maxBytes.Cost.Byte > 0 { // a body that is too long to decode is not read
		maxBytes.Bytes = int(min(int64(maxBytes.Bytes), share.ClampDecoded(math.MaxInt64)/maxBytes.Cost.Byte))
	}
	switch {
	case length > maxBytes.Bytes:
		return nil, TooLarge(maxBytes.Bytes)
	case !packed && coding != "" && coding != "identity":
		return nil, core.Errorf(core.UnsupportedMedia, "the Content-Encoding must be gzip or none")
	case packed:
		length = -1 // the decompressed length is unknown
	}
	raw := newBodyReader(&c.Request, maxBytes.Bytes)
	if length < 0 || length > briefBytes {
		raw.began, raw.contended = time.Now(), share.Contention()
	}
	read := buffer{limit: maxBytes.Bytes, share: share}
	if maxBytes.Class == limit.Anonymous && !hasArrived(&c.Request) {
		read.stepwise = true
		if conn := c.Conn(); conn != nil {
			_ = conn.SetReadDeadline(time.Now().Add(anonymousTime)) // until the header of the next request
		}
	}
	var body []byte
	err := read.allocate(ctx, length)
	if err == nil && packed {
		var unpacked *gzip.Reader
		if unpacked, err = gzip.NewReader(raw); err == nil {
			body, err = read.readAll(ctx, unpacked)
		}
	} else if err == nil {
		body, err = read.readAll(ctx, raw)
	}
	if raw.err != nil { // at EOF the connection is at the next request; after an error its position is unknown
		_ = c.Request.CloseBodyStream()
		if !errors.Is(raw.err, io.EOF) {
			c.SetConnectionClose()
		}
	}
	if err != nil {
		return nil, raw.explain(err, maxBytes.Bytes)
	}
	return body, share.GrowDecoded(ctx, maxBytes.Cost.Of(body))
}

// bodyReader reads the raw body up to its limit. It never reads past the end, where the next request begins.
type bodyReader struct {
	source    io.Reader
	remaining int
	err       error
	began     time.Time
	contended func() bool // nil: the body arrives soon or needs no memory
}

func newBodyReader(request *fasthttp.Request, maxBytes int) *bodyReader {
	r := &bodyReader{source: request.BodyStream(), remaining: maxBytes}
	if r.source == nil { // there is no body, or fasthttp has read it
		r.source = bytes.NewReader(request.Body())
	}
	return r
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	switch {
	case r.err != nil:
		return 0, r.err
	case r.remaining < 0:
		return 0, errTooLong
	case r.contended != nil && time.Since(r.began) > contendedTime && r.contended():
		r.err = errTooSlow
		return 0, r.err
	}
	n, err := r.source.Read(p)
	r.err = err
	if r.remaining -= n; r.remaining < 0 {
		return 0, errTooLong
	}
	return n, err
}

// explain converts an error of reading a body for the client.
func (r *bodyReader) explain(err error, maxBytes int) error {
	switch {
	case errors.Is(err, errTooLong):
		return TooLarge(maxBytes)
	case core.CodeOf(err) != core.Internal:
		return err
	case errors.Is(r.err, os.ErrDeadlineExceeded):
		return errTooSlow
	case r.err != nil && !errors.Is(r.err, io.EOF):
		return errIncomplete
	}
	return errNotGzip
}

// buffer collects a body. It reserves memory before it allocates it.
type buffer struct {
	limit    int
	share    *limit.Reservation
	stepwise bool // allocates a long body in steps, as it arrives
	bytes    []byte
}

// unknownSize is the initial size of a buffer that grows.
const unknownSize = 16 << 10

// allocate creates the buffer for a body of the given length, or -1 if it is unknown. A body that fasthttp has already
// read needs no reservation.
func (b *buffer) allocate(ctx context.Context, length int) error {
	size := length + 1 // one more byte detects the end
	switch {
	case length < 0:
		size = min(unknownSize, b.limit) + 1
	case b.stepwise && length > unknownSize:
		size, b.limit = unknownSize+1, length
	}
	if length > Prefetched {
		if err := b.share.GrowBytes(ctx, int64(size)); err != nil {
			return err
		}
	}
	b.bytes = make([]byte, 0, size)
	return nil
}

func (b *buffer) readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(ctx); err != nil {
				return nil, err
			}
		}
		n, err := r.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case len(b.bytes) > b.limit:
			return nil, errTooLong
		case errors.Is(err, io.EOF):
			return b.bytes, nil
		case err != nil:
			return nil, err
		}
	}
}

// grow doubles the buffer. It reserves the old and the new one, which exist at the same time.
func (b *buffer) grow(ctx context.Context) error {
	size := min(2*cap(b.bytes), b.limit+1)
	if err := b.share.GrowBytes(ctx, int64(size+cap(b.bytes))); err != nil {
		return err
	}
	grown := make([]byte, 0, size)
	for part := range slices.Chunk(b.bytes, copyAtOnce) {
		grown = append(grown, part...)
	}
	b.bytes = grown
	b.share.ShrinkBytes(int64(size))
	return nil
}

// copyAtOnce is how many bytes grow copies at once. The scheduler cannot interrupt a copy, and a garbage collection
// stops all requests until it has ended.
const copyAtOnce = 128 << 10

// DrainRest prepares the connection for the next request. It skips up to maxBytes of the remaining body. If more
// remain, the connection is closed once the client has sent them and received the response.
func DrainRest(c *fasthttp.RequestCtx, maxBytes int) {
	stream := c.Request.BodyStream()
	if stream == nil {
		return
	}
	if c.Request.Header.ContentLength() <= maxBytes {
		rest := &bodyReader{source: stream, remaining: maxBytes}
		_, _ = io.Copy(io.Discard, rest)
		if errors.Is(rest.err, io.EOF) {
			_ = c.Request.CloseBodyStream()
			return
		}
	}
	c.SetConnectionClose()
	inbound.LingerOnClose(c.Conn())
}
