package core

import (
	"context"
	"regexp"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Trace is a place in a trace: a traceparent (W3C Trace Context); "" is none. It
// is kept with what is done later, which then belongs to the same trace.
type Trace string

var traceForm = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// ParseTrace reads a traceparent that came from outside. What is none counts as none.
func ParseTrace(s string) Trace {
	if s == "" {
		return ""
	}
	parts := traceForm.FindStringSubmatch(s)
	if parts == nil || s[:2] == "ff" || s[:2] == "00" && parts[4] != "" {
		return ""
	}
	id, err := trace.TraceIDFromHex(parts[1])
	span, err2 := trace.SpanIDFromHex(parts[2])
	if err != nil || err2 != nil {
		return ""
	}
	flags := trace.TraceFlags(0)
	if last := parts[3][1]; last <= '9' && last&1 == 1 || last >= 'a' && last&1 == 0 {
		flags = trace.FlagsSampled
	}
	return traceAt(id, span, flags)
}

func traceAt(id trace.TraceID, span trace.SpanID, flags trace.TraceFlags) Trace {
	return Trace("00-" + id.String() + "-" + span.String() + "-" + (flags & trace.FlagsSampled).String())
}

// ID is the trace's id, 32 hexadecimal digits; "" of none.
func (t Trace) ID() string {
	if len(t) != 55 {
		return ""
	}
	return string(t[3:35])
}

// In is a context that goes on with the trace; of none, the context as it is.
func (t Trace) In(ctx context.Context) context.Context {
	if t.ID() == "" {
		return ctx
	}
	id, err := trace.TraceIDFromHex(t.ID())
	span, err2 := trace.SpanIDFromHex(string(t[36:52]))
	if err != nil || err2 != nil {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(t[54] & 1), Remote: true,
	}))
}

// TraceOf is where a context stands in a trace.
func TraceOf(ctx context.Context) Trace {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return ""
	}
	return traceAt(at.TraceID(), at.SpanID(), at.TraceFlags())
}

// Tracer begins spans. Nil begins none: traces that callers began are handed on
// as they came, and where there are none nothing is allocated.
type Tracer struct{ spans trace.Tracer }

// NewTracer makes a tracer of OpenTelemetry's.
func NewTracer(spans trace.Tracer) *Tracer { return &Tracer{spans} }

// SpanKind tells which side of a call a span is.
type SpanKind = trace.SpanKind

// The kinds of span.
const (
	ServerSpan = trace.SpanKindServer   // answers a request
	ClientSpan = trace.SpanKindClient   // makes a request
	WorkSpan   = trace.SpanKindConsumer // does what was accepted before
)

// Begin begins a span below that of the context; its name is what is done and to
// what. It must be ended.
func (t *Tracer) Begin(ctx context.Context, kind SpanKind, what, of string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.spans.Start(ctx, what+" "+of, trace.WithSpanKind(kind))
	return ctx, Span{span}
}

// Span is something that takes its time; the zero Span is none.
type Span struct{ span trace.Span }

// Text says something of the span.
func (s Span) Text(name, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// Number says something of the span.
func (s Span) Number(name string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(name, value))
	}
}

// Rename gives the span another name, where it was not known at its beginning.
func (s Span) Rename(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// End ends the span; what went wrong is "" where nothing did.
func (s Span) End(wrong string) {
	if s.span == nil {
		return
	}
	if wrong != "" {
		s.span.SetStatus(codes.Error, wrong)
	}
	s.span.End()
}
