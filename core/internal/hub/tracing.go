package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/environ"
)

// traceFlushTimeout bounds the export of the last spans at shutdown.
const traceFlushTimeout = 5 * time.Second

// openTracing returns the tracer that OpenTelemetry's standard variables configure, or nil if they configure none. An
// OTLP endpoint or OTEL_TRACES_EXPORTER=otlp enables it. Spans are exported in batches from a bounded queue, and
// dropped if the endpoint is unavailable. The function stop exports the remaining spans.
func openTracing(ctx context.Context, version string, log *slog.Logger) (tracer *core.Tracer, stop func(), err error) {
	enabled, err := tracingEnabled(os.Getenv)
	if err != nil || !enabled {
		return nil, func() {}, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("configuring traces: %w", err)
	}
	attributes, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "servery"),
			attribute.String("service.version", version),
			attribute.String("service.instance.id", uuid.NewString())), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("sending traces failed", "error", err) }))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(attributes))
	return core.NewTracer(provider.Tracer("servery")), func() {
		ctx, cancel := context.WithTimeout(context.Background(), traceFlushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("sending the last traces failed", "error", err)
		}
	}, nil
}

// tracingEnabled reports whether traces are to be exported. It returns an error for an unsupported configuration.
func tracingEnabled(env func(string) string) (bool, error) {
	exporter := env("OTEL_TRACES_EXPORTER")
	protocol := env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = env("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	hasEndpoint, mistakes := false, []error(nil)
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if endpoint := env(name); endpoint != "" {
			hasEndpoint = true
			if !environ.IsURL(endpoint) {
				mistakes = append(mistakes,
					fmt.Errorf("%s: must be a URL such as http://127.0.0.1:4318", name))
			}
		}
	}
	switch {
	case strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || exporter == "none" || exporter == "" && !hasEndpoint:
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: must be otlp or none, not %q", exporter)
	case protocol != "" && protocol != "http/protobuf":
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf, not %q", protocol)
	}
	return true, errors.Join(mistakes...)
}
