package sdk

import (
	"context"
	"log/slog"

	"google.golang.org/grpc/metadata"
)

// traceKey is the gRPC metadata key of the trace context (W3C Trace Context).
const traceKey = "traceparent"

type traceparent struct{}

// WithTraceparent returns a context with a trace context, which the client sends with its calls.
func WithTraceparent(ctx context.Context, value string) context.Context {
	return context.WithValue(ctx, traceparent{}, value)
}

// Traceparent returns the trace context of a call, or "" if it has none.
func Traceparent(ctx context.Context) string {
	value, _ := ctx.Value(traceparent{}).(string)
	return value
}

// traceID returns the trace id of a traceparent, the second of its four parts.
func traceID(value string) string {
	if len(value) < 36 || value[2] != '-' || value[35] != '-' {
		return ""
	}
	return value[3:35]
}

// outgoing adds the trace context to the metadata of outgoing calls.
func outgoing(ctx context.Context) context.Context {
	if value := Traceparent(ctx); value != "" {
		return metadata.AppendToOutgoingContext(ctx, traceKey, value)
	}
	return ctx
}

// incoming reads the trace context from the metadata of a call.
func incoming(ctx context.Context) context.Context {
	if values := metadata.ValueFromIncomingContext(ctx, traceKey); len(values) > 0 {
		return WithTraceparent(ctx, values[0])
	}
	return ctx
}

type loggerKey struct{}

// Logger returns the logger of a call. Its lines appear in the hub's log with the plugin's id, the call and the
// trace.
func Logger(ctx context.Context) *slog.Logger {
	if log, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return log
	}
	return slog.Default()
}
