package webhook

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// trace records when the phases of an exchange ended. It uses atomics because the transport may report from a dial
// that outlives the exchange.
type trace struct {
	start                         time.Time
	dns, connect, tls, first, end atomic.Int64
	handshaking                   atomic.Bool // a TLS handshake has started and not succeeded
	reused                        atomic.Bool // the connection was reused
	sentTwice                     bool        // set by Sender.do alone
}

func newTrace() *trace { return &trace{start: time.Now()} }

func (t *trace) mark(at *atomic.Int64) { at.CompareAndSwap(0, int64(time.Since(t.start))) }

func (t *trace) attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { t.mark(&t.dns) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				t.mark(&t.connect)
			}
		},
		TLSHandshakeStart: func() { t.handshaking.Store(true) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				t.mark(&t.tls)
				t.handshaking.Store(false)
			}
		},
		GotConn: func(got httptrace.GotConnInfo) {
			t.handshaking.Store(false) // may be a different connection from the one dialled
			t.reused.Store(got.Reused)
		},
		GotFirstResponseByte: func() { t.mark(&t.first) },
	})
}

func (t *trace) timing() Timing {
	t.mark(&t.end)
	load := func(at *atomic.Int64) time.Duration { return time.Duration(at.Load()) }
	return Timing{DNS: load(&t.dns), Connect: load(&t.connect), TLS: load(&t.tls), FirstByte: load(&t.first),
		Total: load(&t.end)}
}
