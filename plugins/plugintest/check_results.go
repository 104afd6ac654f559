package plugintest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func checkDescription(ctx context.Context, s *session) error {
	if err := sdk.CheckDescription(s.description); err != nil {
		return err
	}
	for i, in := range s.description.GetInbound() { // a hub accepts the path without its slash too
		if id := in.GetOrderId(); id != "" && !strings.HasPrefix(id, "/") {
			return fmt.Errorf("inbound[%d] (kind %q): order_id: must begin with a slash", i, in.GetKind())
		}
	}
	second, err := s.Client.Describe(ctx)
	if err != nil {
		return err
	}
	if !proto.Equal(second, s.description) {
		return errors.New("the second description differs from the first")
	}
	if s.options.Manifest != nil {
		return s.options.Manifest.Matches(s.description)
	}
	return nil
}

func checkSettings(ctx context.Context, s *session) error {
	schema, err := readSchema("settings_schema", s.description.GetSettingsSchema())
	if err != nil {
		return err
	}
	for _, example := range schema.Examples {
		problems, err := configure(ctx, s, example)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return fmt.Errorf("settings %s: an example of the schema is rejected: %v", example, problems)
		}
	}
	for _, text := range schema.invalid() {
		if problems, err := configure(ctx, s, []byte(text)); err != nil || len(problems) == 0 {
			return fmt.Errorf("settings %s return an error instead of problems: %w", text, orNoError(err))
		}
	}
	return nil
}

// objectSchema is a JSON Schema as far as the suite reads it.
type objectSchema struct {
	Examples   []json.RawMessage `json:"examples"`
	Properties map[string]struct {
		Type any   `json:"type"`
		Enum []any `json:"enum"`
	} `json:"properties"`
}

// readSchema decodes the schema of a field. It returns an error if the schema has no examples.
func readSchema(field string, text []byte) (schema objectSchema, err error) {
	if len(text) == 0 {
		return schema, nil
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return schema, fmt.Errorf("%s: %w", field, err)
	}
	if len(schema.Examples) == 0 {
		return schema, fmt.Errorf("%s: examples: at least one is needed", field)
	}
	return schema, nil
}

// invalid returns texts that the schema rejects.
func (s objectSchema) invalid() []string {
	wrong := []string{`[]`, `"text"`, `{`}
	for name, property := range s.Properties {
		if word, single := property.Type.(string); single && word != "object" || len(property.Enum) > 0 {
			wrong = append(wrong, fmt.Sprintf(`{%q:{"unexpected":true}}`, name))
		}
	}
	return wrong
}

func orNoError(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

func configure(ctx context.Context, s *session, settings []byte) ([]*sdk.Problem, error) {
	call := sampleCall(s.description)
	call.Settings = settings
	return s.Client.Configure(ctx, call)
}

func checkCapabilities(ctx context.Context, s *session) error {
	for _, q := range sampleRequests(s.description) {
		_, err := q.Send(ctx, s.Client)
		switch absent := sdk.IsAbsent(err); {
		case absent && s.has(q.Method):
			return fmt.Errorf("%s returns Unimplemented, but the capability %s is declared", q.Method,
				sdk.CapabilityOf(q.Method))
		case !absent && !s.has(q.Method):
			return fmt.Errorf("%s returns a result, but the capability %s is not declared: %w", q.Method,
				sdk.CapabilityOf(q.Method), orNoError(err))
		case err != nil && !absent && !sdk.IsRefusal(err):
			return fmt.Errorf("%s: %w: an invalid request must return InvalidArgument", q.Method, err)
		}
	}
	return nil
}

func checkGolden(ctx context.Context, s *session) error {
	var wrong []error
	for _, c := range s.cases {
		if !s.has(c.Request.Method) {
			wrong = append(wrong, c.missingCapability())
			continue
		}
		wrong = append(wrong, c.check(ctx, s.Running, s.options.Update))
	}
	return errors.Join(wrong...)
}

// encodedResult returns a result in deterministic encoding, or the message of a refusal.
func encodedResult(ctx context.Context, client *sdk.Client, q Request) ([]byte, error) {
	message, err := q.Send(ctx, client)
	if sdk.IsRefusal(err) {
		return []byte(status.Convert(err).Message()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.Method, err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(message)
}

// repeatedCalls is how often each request is repeated.
const repeatedCalls = 4

// reordering names an unsorted map if two responses have the same content in another order.
func reordering(a, b []byte) string {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	if bytes.Equal(a, b) {
		return ", with the same content in another order: it writes a map without sorting it"
	}
	return ""
}

// firstResponses are requests with their first responses.
type firstResponses struct {
	requests []Request
	first    [][]byte
	at       time.Time // of the last of them
}

// compare repeats a request, and checks that it has the same response as before.
func (a firstResponses) compare(ctx context.Context, client *sdk.Client, i int) error {
	response, err := encodedResult(ctx, client, a.requests[i])
	if err == nil && !bytes.Equal(response, a.first[i]) {
		err = fmt.Errorf("%s returns another response to the same request%s", a.requests[i].Method,
			reordering(a.first[i], response))
	}
	return err
}

// checkDeterminism checks that the same request has the same response, in any order and concurrently.
func checkDeterminism(ctx context.Context, s *session) error {
	first, err := deterministic(ctx, s, s.requests)
	if err == nil {
		s.first = first
	}
	return err
}

// laterTime is how much later requests are repeated, so that a plugin with a clock in seconds responds differently.
const laterTime = 1100 * time.Millisecond

// checkLater repeats the requests of checkDeterminism later. It waits only if the other checks took less time.
func checkLater(ctx context.Context, s *session) error {
	if s.first.requests == nil {
		if err := checkDeterminism(ctx, s); err != nil {
			return err
		}
	}
	select {
	case <-time.After(time.Until(s.first.at.Add(laterTime))):
	case <-ctx.Done():
		return ctx.Err()
	}
	for i := range s.first.requests {
		if err := s.first.compare(ctx, s.Client, i); err != nil {
			return fmt.Errorf("after more than a second, %w: does it use the clock?", err)
		}
	}
	return nil
}

func deterministic(ctx context.Context, s *session, requests []Request) (a firstResponses, err error) {
	a = firstResponses{requests: requests, first: make([][]byte, len(requests))}
	for i, q := range requests {
		if a.first[i], err = encodedResult(ctx, s.Client, q); err != nil {
			return a, err
		}
	}
	a.at = time.Now()
	for range repeatedCalls { // a small map is often in the same order
		for i := range slices.Backward(requests) {
			if err := a.compare(ctx, s.Client, i); err != nil {
				return a, err
			}
		}
	}
	at, ctx := errgroup.WithContext(ctx)
	at.SetLimit(8)
	for i := range requests {
		at.Go(func() error { return a.compare(ctx, s.Client, i) })
	}
	return a, at.Wait()
}

// checkSettingsIsolation mixes requests of businesses that differ in everything, with each example of the settings. It
// sends the last one first to another instance. A plugin that keeps a part of a call would use it for another business.
func checkSettingsIsolation(ctx context.Context, s *session) error {
	var schema struct {
		Examples []json.RawMessage `json:"examples"`
	}
	_ = json.Unmarshal(s.description.GetSettingsSchema(), &schema) // checkSettings validates it
	if len(schema.Examples) == 0 {
		schema.Examples = []json.RawMessage{sampleCall(s.description).GetSettings()}
	}
	var mixed []Request
	for n := range 2 * len(schema.Examples) {
		for _, q := range s.requests {
			q.Message = proto.CloneOf(q.Message)
			call := callOf(q.Message)
			if call == nil {
				continue
			}
			call.Business, call.Settings = int64(n+1), schema.Examples[n/2]
			if n%2 == 1 {
				call.Platform, call.Currency, call.Values = "second-platform", "JPY", map[string]string{"k": "v"}
			}
			mixed = append(mixed, q)
		}
	}
	a, err := deterministic(ctx, s, mixed)
	if err != nil {
		return err
	}
	other, err := s.driver.Start()
	if err != nil {
		return err
	}
	for i := range slices.Backward(mixed) {
		if err = a.compare(ctx, other.Client, i); err != nil {
			break
		}
	}
	return errors.Join(err, other.Stop(), other.leftovers())
}

// callOf returns the Call of a request, or nil if it has none.
func callOf(m proto.Message) *pb.Call {
	if interpreted, ok := m.(interface{ GetPoll() *pb.PollRequest }); ok {
		return interpreted.GetPoll().GetCall()
	}
	request, ok := m.(interface{ GetCall() *pb.Call })
	if !ok {
		return nil
	}
	return request.GetCall()
}

func checkResults(ctx context.Context, s *session) error {
	for _, q := range s.requests {
		answer, err := q.Send(ctx, s.Client)
		if sdk.IsRefusal(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q.Method, err)
		}
		err = sdk.CheckResult(s.description, answer)
		if decision, ok := answer.(*sdk.Decision); ok && err == nil && q.Method == "Riders.PlanLocation" {
			err = sdk.CheckSingleStep(decision)
		}
		if translation, ok := answer.(*pb.Translation); ok && err == nil {
			err = sdk.CheckOrder(translation.GetOrder())
			if err == nil && q.Method == "Orders.TranslateFetched" {
				err = sdk.CheckFetched(translation)
			}
		}
		if err == nil {
			err = sdk.CheckReply(answer)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q.Method, err)
		}
	}
	return nil
}

func checkDrain(ctx context.Context, s *session) error {
	other, err := s.driver.Start()
	if err != nil {
		return err
	}
	err = checkDrained(ctx, s, other)
	return errors.Join(err, other.Stop(), other.leftovers())
}

// checkDrained drains a plugin while a menu is under way, if the plugin has menus.
func checkDrained(ctx context.Context, s *session, other *Running) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.options.menuTimeout, menuTimeout))
	defer cancel()
	var menu grpc.ClientStream
	if menus := menuRequests(s, 1); len(menus) > 0 {
		var err error
		if menu, err = beginMenu(ctx, other.Client, menus[0]); err != nil {
			return err
		}
	}
	drained := make(chan error, 1)
	go func() { drained <- other.Client.Drain(ctx) }()
	health, err := awaitHealth(ctx, other.Client, countTimeout, draining)
	if err != nil || !draining(health) {
		if len(drained) > 0 {
			err = errors.Join(err, <-drained)
		}
		return fmt.Errorf("after Drain the health is %v: %w", health.GetState(), orNoError(err))
	}
	for _, q := range s.requests {
		if _, err := q.Send(ctx, other.Client); status.Code(err) != codes.Unavailable {
			return fmt.Errorf("%s after Drain: expected Unavailable, got %w", q.Method, orNoError(err))
		}
	}
	if menu != nil {
		if len(drained) > 0 {
			return fmt.Errorf("draining ended before the calls under way: %w", orNoError(<-drained))
		}
		if err := endMenu(menu); err != nil && !sdk.IsRefusal(err) {
			return fmt.Errorf("a call that began before Drain: %w", err)
		}
	}
	if err := <-drained; err != nil {
		return fmt.Errorf("draining: %w", err)
	}
	_, err = other.Client.Describe(ctx)
	return err
}

func draining(health *pb.Health) bool {
	return health.GetState() == pb.HealthState_HEALTH_STATE_DRAINING
}
