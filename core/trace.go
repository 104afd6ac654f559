package core

import (
	"context"
	"regexp"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Trace is a position in a trace, as a traceparent (W3C Trace Context); "" is none. It is stored with deferred work,
// which then belongs to the same trace.
type Trace string

var tracePattern = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// ParseTrace parses a traceparent from outside. It returns "" if s is not valid.
func ParseTrace(s string) Trace {
	if s == "" {
		return ""
	}
	parts := tracePattern.FindStringSubmatch(s)
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
	return formatTrace(id, span, flags)
}

func formatTrace(id trace.TraceID, span trace.SpanID, flags trace.TraceFlags) Trace {
	return Trace("00-" + id.String() + "-" + span.String() + "-" + (flags & trace.FlagsSampled).String())
}

// ID returns the trace id, 32 hexadecimal digits, or "" for no trace.
func (t Trace) ID() string {
	if len(t) != 55 {
		return ""
	}
	return string(t[3:35])
}

// NewContext returns a context that continues the trace. Without a trace it returns ctx unchanged.
func (t Trace) NewContext(ctx context.Context) context.Context {
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

// TraceFromContext returns the trace of a context.
func TraceFromContext(ctx context.Context) Trace {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return ""
	}
	return formatTrace(span.TraceID(), span.SpanID(), span.TraceFlags())
}

// Tracer starts spans. A nil Tracer starts none: it passes on the callers' traces unchanged and allocates nothing.
type Tracer struct{ tracer trace.Tracer }

// NewTracer returns a Tracer that uses an OpenTelemetry tracer.
func NewTracer(spans trace.Tracer) *Tracer { return &Tracer{spans} }

// SpanKind is the side of a call that a span describes.
type SpanKind = trace.SpanKind

// The kinds of span.
const (
	ServerSpan   = trace.SpanKindServer   // responds to a request
	ClientSpan   = trace.SpanKindClient   // sends a request
	ConsumerSpan = trace.SpanKindConsumer // does work that was accepted earlier
)

// Start starts a child span of the context's span, named after the operation and its object. The caller must end it.
func (t *Tracer) Start(ctx context.Context, kind SpanKind, operation, object string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, operation+" "+object, trace.WithSpanKind(kind))
	return ctx, Span{span}
}

// Span is a timed operation. The zero Span records nothing.
type Span struct{ span trace.Span }

// SetString sets a text attribute.
func (s Span) SetString(name, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// SetInt64 sets a numeric attribute.
func (s Span) SetInt64(name string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(name, value))
	}
}

// SetName renames the span, for names that were not known at its start.
func (s Span) SetName(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// End ends the span. An empty failure means success.
func (s Span) End(failure string) {
	if s.span == nil {
		return
	}
	if failure != "" {
		s.span.SetStatus(codes.Error, failure)
	}
	s.span.End()
}
