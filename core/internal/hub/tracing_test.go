package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "00-" + callersTrace + "-b7ad6b7169203331-01"
)

// spans collects ended spans.
type spans struct {
	*tracetest.InMemoryExporter
	t *testing.T
}

func newSpans(t *testing.T) spans { return spans{tracetest.NewInMemoryExporter(), t} }

func (s spans) tracer() *core.Tracer {
	return core.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(s)).Tracer("test"))
}

// awaitSpan waits for a span of the caller's trace with the given attributes, in pairs.
func (s spans) awaitSpan(name string, pairs ...string) (found *tracetest.SpanStub) {
	s.t.Helper()
	hubtest.WaitUntil(s.t, "the span "+name, func() bool {
		for _, span := range s.GetSpans() {
			as := span.Name == name && span.SpanContext.TraceID().String() == callersTrace
			for i := 0; i < len(pairs); i += 2 {
				as = as && attributes(&span)[pairs[i]] == pairs[i+1]
			}
			if as {
				found = &span
			}
		}
		return found != nil
	})
	return found
}

// requireNone checks that no span contains one of the texts.
func (s spans) requireNone(secrets ...string) {
	s.t.Helper()
	for _, span := range s.GetSpans() {
		said := fmt.Sprintf("%v %v %v %v", span.Name, span.Attributes, span.Events, span.Status)
		for _, secret := range secrets {
			require.NotContains(s.t, said, secret)
		}
	}
}

// attributes formats the attributes of a span.
func attributes(span *tracetest.SpanStub) map[string]string {
	found := map[string]string{}
	for _, a := range span.Attributes {
		found[string(a.Key)] = a.Value.String()
	}
	return found
}

// sendTraced sends a request with a trace of the caller.
func (d *menuClient) sendTraced(method, path, body string) apiResponse {
	d.t.Helper()
	r := d.do(d.t, request{method: method, path: path, authorization: d.tenant.Authorization, body: body,
		headers: map[string]string{"traceparent": callersSpan}})
	require.Equal(d.t, 200, r.status, r.text)
	return r
}

func TestTraceSpansMenuRequestToDelivery(t *testing.T) {
	spans := newSpans(t)
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newMenuClientAt(t, newPluginAPI(t, dir, func(c *Config) { unlimited(c); c.Tracer = spans.tracer() }))
	d.platform("tasty", "aggregator-a", "")
	d.sendTraced("POST", "/external/api/v1/inventory/locations/-1/", soupMenu(lacking))
	d.awaitCallback(2)

	request := spans.awaitSpan("POST /external/api/v1/inventory/locations/:location_ref_id/")
	job, plugin, delivery := spans.awaitSpan("job menu"), spans.awaitSpan("aggregator-a Menu.CheckItems"),
		spans.awaitSpan("deliver inventory_update")
	require.Equal(t, "b7ad6b7169203331", request.Parent.SpanID().String(), "the caller's span is above the request's")
	for below, above := range map[*tracetest.SpanStub]*tracetest.SpanStub{job: request, plugin: job, delivery: job} {
		require.Equal(t, above.SpanContext.SpanID(), below.Parent.SpanID(), "%s is below %s", below.Name, above.Name)
	}

	arrived := d.sink.Arrivals()[1].Header.Get("traceparent")
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", callersTrace, delivery.SpanContext.SpanID()), arrived,
		"the receiver goes on below the delivery")
	require.Equal(t, callersTrace, d.finishedDelivery("inventory_update")["trace_id"])
	require.NotEqual(t, callersTrace, d.finishedDelivery("store_creation")["trace_id"],
		"another request is another trace")
}

// finishedDelivery waits for the delivery of an event type to finish, and returns it.
func (d *menuClient) finishedDelivery(eventType string) (read map[string]any) {
	d.t.Helper()
	hubtest.WaitUntil(d.t, "the delivery to be recorded", func() bool {
		list := d.ok("GET", deliveriesRoute+"?state=delivered&event_type="+eventType, "").body["deliveries"].([]any)
		if len(list) == 0 {
			return false
		}
		read = d.ok("GET", deliveriesRoute+list[0].(map[string]any)["id"].(string)+"/", "").body
		return true
	})
	return read
}

func TestCallerTraceIsForwardedWithoutATracer(t *testing.T) {
	d := newMenuClientAt(t, newAPI(t, unlimited))
	d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_placed","url":%q}`, d.sink.URL))
	require.Empty(t, d.sink.Arrivals()[0].Header.Get("traceparent"))
	require.NotContains(t, d.finishedDelivery("store_creation"), "trace_id")

	d.sendTraced("POST", "/external/api/v1/inventory/locations/-1/",
		`{"items":[{"ref_id":"dal","title":"Dal","price":5}]}`)
	d.awaitCallback(2)
	shop := hubtest.ChannelKey(t, d.hub.db, d.tenant.ID, "")
	placed := d.do(t, request{method: "POST", path: "/channel/api/v1/orders/", authorization: shop,
		headers: map[string]string{"traceparent": callersSpan},
		body: `{"platform":"web","platform_order_id":"W-1","store_ref_id":"s1","items":[{"ref_id":"dal",` +
			`"quantity":1,"price":5}]}`})
	require.Equal(t, 200, placed.status, placed.text)
	d.awaitCallback(3)
	for n, event := range map[int]string{1: "inventory_update", 2: "order_placed"} {
		require.Equal(t, callersSpan, d.sink.Arrivals()[n].Header.Get("traceparent"))
		require.Equal(t, callersTrace, d.finishedDelivery(event)["trace_id"])
	}
}

func TestAggregatorCallsForwardTheTrace(t *testing.T) {
	f := newRelayClient(t, nil)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	sent := f.do(t, request{method: "POST", path: "/ext/api/v1/generic/pos/rider-status/",
		authorization: f.tenant.Authorization,
		headers:       map[string]string{"traceparent": callersSpan},
		body: fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":{"rider_name":"R",`+
			`"rider_phone_number":"5550100"}}`, id)})
	require.Equal(t, 200, sent.status, sent.text)
	require.Equal(t, callersSpan, f.awaitAggregatorRequest(1).Header.Get("traceparent"))
}

func TestStandardVariablesEnableTracing(t *testing.T) {
	for _, c := range []struct {
		env     map[string]string
		wanted  bool
		refused string
	}{
		{nil, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "garbage"}, true,
			"OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false,
			`OTEL_TRACES_EXPORTER: must be otlp or none, not "zipkin"`},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false,
			`OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf, not "grpc"`},
	} {
		wanted, err := tracingEnabled(func(name string) string { return c.env[name] })
		require.Equal(t, c.wanted, wanted, c.env)
		if c.refused == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.refused)
		}
	}
}

func TestTraceSpansOrderToDelivery(t *testing.T) {
	spans := newSpans(t)
	s := newOrderClient(t, func(c *Config) { c.Tracer = spans.tracer() })
	made := s.ok("POST", webhooksRoute,
		`{"event_type":"order_placed","url":"http://127.0.0.1:1/?token=h1dden","headers":{"X-Key":"h1dden"}}`)
	webhook := fmt.Sprint(made.body["webhook_id"])
	placed := s.do(t, request{method: "POST", path: channelOrdersRoute, authorization: s.channel,
		headers: map[string]string{"traceparent": callersSpan}, body: orderOf("W-1", "")})
	require.Equal(t, 200, placed.status, placed.text)
	request, delivery := spans.awaitSpan("POST /channel/api/v1/orders/"),
		spans.awaitSpan("deliver order_placed", "servery.webhook", webhook)
	require.Equal(t, request.SpanContext.SpanID(), delivery.Parent.SpanID())
	require.NotEmpty(t, delivery.Status.Description, "nobody listens there")
	said := attributes(delivery)
	require.Equal(t, fmt.Sprint(s.tenant.ID), said["servery.business"])
	for _, id := range []string{"servery.delivery", "servery.event"} {
		require.Len(t, said[id], 36)
	}
	spans.requireNone("h1dden", made.body["secret"].(string), s.channel, s.tenant.Authorization)
}

func TestTraceSpansMenuRequestToAggregator(t *testing.T) {
	spans := newSpans(t)
	n := newTracedPublishClient(t, spans.tracer(), "a")
	n.settle()
	n.sendTraced("POST", menuRoute+"s1/", `{"items":[{"ref_id":"dal","title":"Dal","price":5}]}`)
	before := len(n.aggregators.requests())
	n.advanceUntil("the menu", func() bool { return len(n.aggregators.requests()) > before })
	published := spans.awaitSpan("publish aggregator-a")
	require.Equal(t, spans.awaitSpan("POST "+menuRoute+":location_ref_id/").SpanContext.SpanID(),
		published.Parent.SpanID())
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", callersTrace, published.SpanContext.SpanID()),
		n.aggregators.requests()[before].trace)
	require.Equal(t, published.SpanContext.SpanID(), spans.awaitSpan("deliver hub_menu_publish").Parent.SpanID(),
		"its news belongs to it")
	said := attributes(published)
	require.Equal(t, "s1", said["servery.store"])
	require.Equal(t, "p-a", said["servery.platform"])
	spans.requireNone("s3cret-a", n.tenant.Authorization)
}

func TestTraceSpansRiderUpdateToAggregator(t *testing.T) {
	spans := newSpans(t)
	f := newRelayClientWith(t, func(c *Config) { c.Tracer = spans.tracer() }, nil)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	f.sendTraced("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":%s}`, id,
		riderData))
	arrived := f.awaitAggregatorRequest(1).Header.Get("traceparent")
	relayed := spans.awaitSpan("relay rider_status")
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", callersTrace, relayed.SpanContext.SpanID()), arrived)
	require.Equal(t, fmt.Sprint(f.tenant.ID), attributes(relayed)["servery.business"])
	spans.requireNone(f.tenant.Authorization, "5550100")
}
