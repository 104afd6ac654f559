// Package body reads request bodies from the connection, within bounds of their size,
// as sent and unpacked, and of the memory of the process.
package body

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
)

// Prefetched is how many bytes of a body fasthttp reads before any handler.
const Prefetched = 8 << 10

// Limit bounds the bodies of a route. The zero Limit takes none.
type Limit struct {
	Bytes int // packed and unpacked alike
	Class limit.Class
	Cost  Cost
}

// Cost is the memory that a body is decoded into, as measured: so many bytes for
// each of its bytes and for each of its JSON values and names.
type Cost struct{ Byte, Value int64 }

// Of returns the memory that a body may be decoded into. Signs within strings are
// counted too, so that it is never too low.
func (c Cost) Of(body []byte) int64 {
	values := 0
	if c.Value > 0 {
		for _, sign := range []string{"{", "[", ",", ":"} {
			values += bytes.Count(body, []byte(sign))
		}
	}
	return c.Byte*int64(len(body)) + c.Value*int64(values)
}

// TooLarge refuses a body of more than most bytes.
func TooLarge(most int) error {
	return core.Errorf(core.TooLarge, "the request body is larger than %d bytes", most)
}

var (
	errTooLong    = errors.New("longer than the limit")
	errIncomplete = core.Errorf(core.Invalid, "the request body is incomplete")
	errTooSlow    = core.Errorf(core.TooSlow, "the request body did not arrive in time")
	errNotGzip    = core.Errorf(core.Invalid, "the body is not valid gzip")
)

// Read returns the body of a request, unpacked where it was packed with gzip. It
// reserves in share what the body takes and what it is decoded into.
func Read(ctx context.Context, c *fasthttp.RequestCtx, most Limit, share *limit.Reservation) ([]byte, error) {
	coding := strings.ToLower(string(c.Request.Header.Peek(fasthttp.HeaderContentEncoding))) // RFC 9110, 8.4.1
	length := c.Request.Header.ContentLength()
	packed := coding == "gzip"
	switch {
	case length > most.Bytes:
		return nil, TooLarge(most.Bytes)
	case !packed && coding != "" && coding != "identity":
		return nil, core.Errorf(core.UnsupportedMedia, "the Content-Encoding must be gzip or none")
	case packed:
		length = -1 // unpacked, it is not known
	}
	raw := newBodyReader(&c.Request, most.Bytes)
	read := buffer{limit: most.Bytes, share: share}
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
	if raw.err != nil { // at its end the next request begins; after an error nobody knows where
		_ = c.Request.CloseBodyStream()
		if !errors.Is(raw.err, io.EOF) {
			c.SetConnectionClose()
		}
	}
	if err != nil {
		return nil, raw.explain(err, most.Bytes)
	}
	return body, share.GrowDecoded(ctx, most.Cost.Of(body))
}

// bodyReader reads the body as it was sent, to its limit and never past its end: what
// follows belongs to the next request.
type bodyReader struct {
	source    io.Reader
	remaining int
	err       error
}

func newBodyReader(request *fasthttp.Request, most int) *bodyReader {
	if stream := request.BodyStream(); stream != nil {
		return &bodyReader{source: stream, remaining: most}
	}
	return &bodyReader{source: bytes.NewReader(request.Body()), remaining: most} // there is none, or it is read already
}

// Read reads on until the limit, the end or an error.
func (r *bodyReader) Read(p []byte) (int, error) {
	switch {
	case r.err != nil:
		return 0, r.err
	case r.remaining < 0:
		return 0, errTooLong
	}
	n, err := r.source.Read(p)
	r.err = err
	if r.remaining -= n; r.remaining < 0 {
		return 0, errTooLong
	}
	return n, err
}

// explain tells the sender why a body could not be read.
func (r *bodyReader) explain(err error, most int) error {
	switch {
	case errors.Is(err, errTooLong):
		return TooLarge(most)
	case core.CodeOf(err) != core.Internal:
		return err
	case errors.Is(r.err, os.ErrDeadlineExceeded):
		return errTooSlow
	case r.err != nil && !errors.Is(r.err, io.EOF):
		return errIncomplete
	}
	return errNotGzip
}

// buffer collects a body, and reserves its memory before it takes it.
type buffer struct {
	limit int
	share *limit.Reservation
	bytes []byte
}

// unknownSize is the size of a buffer for a body whose length is not known.
const unknownSize = 16 << 10

// allocate makes a buffer for a body of the given length, -1 if it is not known. What
// fasthttp has read already waits for no sender, and is not worth a reservation.
func (b *buffer) allocate(ctx context.Context, length int) error {
	size := length + 1 // one more shows the end
	if length < 0 {
		size = min(unknownSize, b.limit) + 1
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

// grow doubles the buffer. While it is copied, both halves are there.
func (b *buffer) grow(ctx context.Context) error {
	size := min(2*cap(b.bytes), b.limit+1)
	if err := b.share.GrowBytes(ctx, int64(size+cap(b.bytes))); err != nil {
		return err
	}
	b.bytes = append(make([]byte, 0, size), b.bytes...)
	return nil
}

// DrainRest makes sure that what follows a request on its connection is the next one: it
// reads what is left of the body, at most so many bytes, or has the connection closed
// after the response.
func DrainRest(c *fasthttp.RequestCtx, most int) {
	stream := c.Request.BodyStream()
	if stream == nil {
		return
	}
	if c.Request.Header.ContentLength() <= most {
		rest := &bodyReader{source: stream, remaining: most}
		_, _ = io.Copy(io.Discard, rest)
		if errors.Is(rest.err, io.EOF) {
			_ = c.Request.CloseBodyStream()
			return
		}
	}
	c.SetConnectionClose()
}
