package core

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestOnlyAValidTraceparentIsParsed(t *testing.T) {
	const unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for sent, want := range map[string]Trace{
		traceparent: traceparent,
		unsampled:   unsampled,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff":                  traceparent,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe":                  unsampled,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-what-comes-later": traceparent,
		"": "",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more": "",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":      "",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":      "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":      "",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01":      "",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331":         "",
	} {
		require.Equal(t, want, ParseTrace(sent), sent)
	}
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", Trace(traceparent).ID())
	require.Empty(t, Trace("").ID())
}

func TestContextCarriesTheTrace(t *testing.T) {
	require.Equal(t, Trace(traceparent), TraceFromContext(Trace(traceparent).NewContext(context.Background())))
	require.Empty(t, TraceFromContext(Trace("").NewContext(context.Background())))
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.String().Draw(t, "sent")
		read := ParseTrace(sent)
		require.Equal(t, read, TraceFromContext(read.NewContext(context.Background())))
		require.Equal(t, Trace(sent).NewContext(context.Background()) != context.Background(),
			TraceFromContext(Trace(sent).NewContext(context.Background())) != "")
	})
}

func TestTracingWithoutATracerAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var tracer *Tracer
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ctx, span := tracer.Start(ParseTrace("").NewContext(ctx), ClientSpan, "deliver", "order_placed")
		span.SetString("event", "x")
		span.SetInt64("status", 200)
		if TraceFromContext(ctx).ID() != "" {
			panic("there is none")
		}
		span.End("")
	}))
}
