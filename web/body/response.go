package body

import (
	"context"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/limit"
)

// maxUnreserved is the longest response that needs no reservation.
const maxUnreserved = 32 << 10

// writtenAtOnce is how much of a response is written between two checks. The slowest client takes 16 s for it.
const writtenAtOnce = 64 << 10

// ReserveResponse reserves the memory of a response in share until the client has it. A client may take long, and must
// then not keep the memory from others. The error is that of GrowBytes.
func ReserveResponse(ctx context.Context, response *fasthttp.Response, share limit.Reservation) error {
	if response.IsBodyStream() || len(response.Body()) <= maxUnreserved {
		return nil
	}
	text := response.Body()
	if err := share.GrowBytes(ctx, share.ClampBytes(int64(len(text)))); err != nil {
		share.Release()
		return err
	}
	if buffered := response.SwapBody(nil); len(buffered) > 0 {
		text = buffered // fasthttp would use the buffer again
	}
	response.SetBodyStream(&reservedBody{text, share, time.Now(), share.Contention()}, len(text))
	return nil
}

// reservedBody is the rest of a response. Close releases its memory.
type reservedBody struct {
	rest      []byte
	share     limit.Reservation
	began     time.Time
	contended func() bool
}

// WriteTo implements io.WriterTo. It fails after two minutes while others find no memory for their responses.
func (r *reservedBody) WriteTo(w io.Writer) (written int64, err error) {
	for len(r.rest) > 0 && err == nil {
		if time.Since(r.began) > contendedTime && r.contended() {
			return written, errTooSlow
		}
		var n int
		n, err = w.Write(r.rest[:min(len(r.rest), writtenAtOnce)])
		r.rest = r.rest[n:]
		written += int64(n)
	}
	return written, err
}

// Read implements io.Reader.
func (r *reservedBody) Read(p []byte) (n int, err error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n = copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *reservedBody) Close() error {
	r.rest = nil
	r.share.Release()
	return nil
}
