package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "00-" + callersTrace + "-b7ad6b7169203331-01"
)

// traced sends a request with a trace of the caller's.
func (d *diner) traced(method, path, body string) answered {
	d.t.Helper()
	r := d.do(d.t, request{method: method, path: path, authorization: d.tenant.Authorization, body: body, headers: map[string]string{"traceparent": callersSpan}})
	require.Equal(d.t, 200, r.status, r.text)
	return r
}

func TestATraceLeadsFromAMenuRequestToItsDelivery(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	dir := t.TempDir()
	installPlugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newDinerAt(t, newTracedAPI(t, dir, core.NewTracer(provider.Tracer("test"))))
	d.platform("tasty", "aggregator-a", "")
	d.traced("POST", "/external/api/v1/inventory/locations/-1/", dishes(lacking))
	d.await(2)

	named := func(name string) (found *tracetest.SpanStub) {
		t.Helper()
		waitUntil(t, "the span "+name, func() bool {
			for _, span := range spans.GetSpans() {
				if span.Name == name && span.SpanContext.TraceID().String() == callersTrace {
					found = &span
				}
			}
			return found != nil
		})
		return found
	}
	request := named("POST /external/api/v1/inventory/locations/:location_ref_id/")
	job, plugin, delivery := named("job menu"), named("aggregator-a Menu.CheckItems"), named("deliver inventory_update")
	require.Equal(t, "b7ad6b7169203331", request.Parent.SpanID().String(), "the caller's span is above the request's")
	for below, above := range map[*tracetest.SpanStub]*tracetest.SpanStub{job: request, plugin: job, delivery: job} {
		require.Equal(t, above.SpanContext.SpanID(), below.Parent.SpanID(), "%s is below %s", below.Name, above.Name)
	}

	arrived := d.sink.Arrivals()[1].Header.Get("traceparent")
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", callersTrace, delivery.SpanContext.SpanID()), arrived, "the receiver goes on below the delivery")
	require.Equal(t, callersTrace, d.deliveryOf("inventory_update")["trace_id"])
	require.NotEqual(t, callersTrace, d.deliveryOf("store_creation")["trace_id"], "another request is another trace")
}

// deliveryOf reads the delivery of an event type, once it has come to its end.
func (d *diner) deliveryOf(eventType string) (read map[string]any) {
	d.t.Helper()
	waitUntil(d.t, "the delivery to be recorded", func() bool {
		list := d.ok("GET", deliveriesRoute+"?state=delivered&event_type="+eventType, "").body["deliveries"].([]any)
		if len(list) == 0 {
			return false
		}
		read = d.ok("GET", deliveriesRoute+list[0].(map[string]any)["id"].(string)+"/", "").body
		return true
	})
	return read
}

func TestWithoutATracerACallersTraceIsHandedOn(t *testing.T) {
	d := newDinerAt(t, newAPI(t, unlimited))
	d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_placed","url":%q}`, d.sink.URL))
	require.Empty(t, d.sink.Arrivals()[0].Header.Get("traceparent"))
	require.NotContains(t, d.deliveryOf("store_creation"), "trace_id")

	d.traced("POST", "/external/api/v1/inventory/locations/-1/", `{"items":[{"ref_id":"dal","title":"Dal","price":5}]}`)
	d.await(2)
	shop := hubtest.ChannelKey(t, d.hub.db, d.tenant.ID, "")
	placed := d.do(t, request{method: "POST", path: "/channel/api/v1/orders/", authorization: shop, headers: map[string]string{"traceparent": callersSpan},
		body: `{"platform":"web","platform_order_id":"W-1","store_ref_id":"s1","items":[{"ref_id":"dal","quantity":1,"price":5}]}`})
	require.Equal(t, 200, placed.status, placed.text)
	d.await(3)
	for n, event := range map[int]string{1: "inventory_update", 2: "order_placed"} {
		require.Equal(t, callersSpan, d.sink.Arrivals()[n].Header.Get("traceparent"))
		require.Equal(t, callersTrace, d.deliveryOf(event)["trace_id"])
	}
}

func TestTheRelayHandsTheTraceOn(t *testing.T) {
	f := newFleet(t, nil)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	sent := f.do(t, request{method: "POST", path: "/ext/api/v1/generic/pos/rider-status/", authorization: f.tenant.Authorization,
		headers: map[string]string{"traceparent": callersSpan}, body: fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":{"rider_name":"R","rider_phone_number":"5550100"}}`, id)})
	require.Equal(t, 200, sent.status, sent.text)
	require.Equal(t, callersSpan, f.reachedWith(1).Header.Get("traceparent"))
}

func TestTracesAreSentWhereTheStandardVariablesAskForThem(t *testing.T) {
	for _, c := range []struct {
		env     map[string]string
		wanted  bool
		refused string
	}{
		{nil, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER: "zipkin" is not known`},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not spoken`},
	} {
		wanted, err := tracingWanted(func(name string) string { return c.env[name] })
		require.Equal(t, c.wanted, wanted, c.env)
		if c.refused == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.refused)
		}
	}
}
