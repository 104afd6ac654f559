package plugintest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// menuRequests returns the menu requests that the plugin supports.
func menuRequests(s *session, items int) (list []Request) {
	menu := sampleMenu(items)
	menu.Call = sampleCall(s.description)
	if s.has("Menu.CheckItems") {
		list = append(list, Request{"Menu.CheckItems", sampleCheck(menu)})
	}
	if s.has("Menu.Render") {
		list = append(list, Request{"Menu.Render", menu})
	}
	return list
}

func checkChunkSizes(ctx context.Context, s *session) error {
	size := s.Client.Chunk
	defer func() { s.Client.Chunk = size }()
	for _, q := range menuRequests(s, 400) {
		var first []byte
		for _, s.Client.Chunk = range []int{sdk.ChunkSize, 1, 64 << 10, 256 << 10, 3001, 8 << 20} {
			answer, err := encodedResult(ctx, s.Client, q)
			if err != nil {
				return err
			}
			if first == nil {
				first = answer
			}
			if string(first) != string(answer) {
				return fmt.Errorf("%s returns another response in chunks of %d bytes", q.Method, s.Client.Chunk)
			}
		}
	}
	return nil
}

func checkLargeMenu(ctx context.Context, s *session) error {
	for _, q := range menuRequests(s, 10_000) {
		answer, err := q.Send(ctx, s.Client) // the client checks that findings name items of the menu
		if err == nil {
			err = sdk.CheckResult(s.description, answer)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q.Method, err)
		}
	}
	return nil
}

// checkRiders sends the updates of a delivery in order, and then each three times in random order. A result must
// depend only on its own request. A plugin may skip a status, but not refuse it.
func checkRiders(ctx context.Context, s *session) error {
	var updates []Request
	for _, q := range sampleRequests(s.description) {
		if (q.Method == "Riders.PlanStatus" || q.Method == "Riders.PlanLocation") && s.has(q.Method) {
			updates = append(updates, q)
		}
	}
	expected := map[proto.Message]string{}
	for _, q := range updates {
		if update, ok := q.Message.(*pb.RiderStatusRequest); ok {
			if _, err := q.Send(ctx, s.Client); sdk.IsRefusal(err) {
				return fmt.Errorf("%s of the self-delivery order %s is rejected: %w", update.GetStatus(),
					update.GetOrder().GetPlatformOrderId(), err)
			}
		}
		answer, err := encodedResult(ctx, s.Client, q)
		if err != nil {
			return err
		}
		expected[q.Message] = string(answer)
	}
	disordered := slices.Concat(updates, updates, updates)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(disordered),
		func(i, j int) { disordered[i], disordered[j] = disordered[j], disordered[i] })
	for _, q := range disordered {
		answer, err := encodedResult(ctx, s.Client, q)
		if err != nil {
			return err
		}
		if string(answer) != expected[q.Message] {
			return fmt.Errorf("%s responds depending on earlier requests", q.Method)
		}
	}
	return nil
}

func checkActions(ctx context.Context, s *session) error {
	if err := checkParameters(ctx, s); err != nil {
		return err
	}
	planned := 0
	for _, q := range sampleRequests(s.description) {
		action, ok := q.Message.(*pb.ActionRequest)
		if !ok || !s.has(q.Method) {
			continue
		}
		first, err := sendAction(ctx, s, q)
		if action.GetAction() == "no_such_action" {
			if !sdk.IsRefusal(err) {
				return fmt.Errorf("an unknown action is not rejected: %w", orNoError(err))
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s is offered, but rejected for bulk orders of both delivery types with all fields: %w",
				action.GetAction(), err)
		}
		for range 3 {
			again, err := q.Send(ctx, s.Client)
			if err != nil || !proto.Equal(first, again) {
				return fmt.Errorf("%s returns another plan when it is repeated: %w", action.GetAction(), orNoError(err))
			}
		}
		planned++
	}
	if s.has("Actions.PlanAction") && planned == 0 {
		return errors.New("the capability action_plan is declared, but no action is offered")
	}
	return nil
}

// sendAction sends an action. If a plugin refuses it, the order becomes one that the aggregator delivers, without a
// phone number.
func sendAction(ctx context.Context, s *session, q Request) (proto.Message, error) {
	answer, err := q.Send(ctx, s.Client)
	if action, ok := q.Message.(*pb.ActionRequest); ok && sdk.IsRefusal(err) {
		action.Order.DeliveryType, action.Phone = "partner", ""
		answer, err = q.Send(ctx, s.Client)
	}
	return answer, err
}

// checkParameters checks that actions refuse parameters that break their schema, for the delivery type of an order that
// they accept.
func checkParameters(ctx context.Context, s *session) error {
	for _, offer := range s.description.GetActions() {
		field := offer.GetName() + ": parameters_schema"
		schema, err := readSchema(field, offer.GetParametersSchema())
		if err != nil {
			return err
		}
		if len(schema.Examples) == 0 {
			continue
		}
		action := sampleAction(s.description, offer.GetName(), schema.Examples[0])
		q := Request{"Actions.PlanAction", action}
		_, _ = sendAction(ctx, s, q) // checkActions returns its error
		for _, parameters := range schema.invalid() {
			action.Parameters = []byte(parameters)
			if _, err := q.Send(ctx, s.Client); !sdk.IsRefusal(err) {
				return fmt.Errorf("%s: the parameters %s are not rejected: %w", field, parameters, orNoError(err))
			}
		}
	}
	return nil
}

// endTimeout is the maximum time that calls take to end after they were cancelled.
const endTimeout = 5 * time.Second

// cancelDelay is how long a call with its whole menu runs before it is cancelled.
const cancelDelay = 100 * time.Millisecond

// menuTimeout is the maximum time of a check with a menu that is under way.
const menuTimeout = 30 * time.Second

// countTimeout is the maximum time until the plugin's health counts a call that has begun.
const countTimeout = 5 * time.Second

var errUncounted = errors.New("in_flight of its health is 0 while a call is under way: the end of calls cannot be seen")

// checkCancellation cancels calls that wait for the rest of a menu, and calls that have it. It waits until the plugin
// has no running calls.
func checkCancellation(ctx context.Context, s *session) error {
	for _, q := range menuRequests(s, 1) {
		for _, whole := range []bool{false, true} {
			if err := cancelMidway(ctx, s, q, whole); err != nil {
				return fmt.Errorf("%s: %w", q.Method, err)
			}
		}
	}
	health, err := awaitHealth(ctx, s.Client, endTimeout, func(h *pb.Health) bool { return h.GetInFlight() == 0 })
	if err == nil && health.GetInFlight() > 0 {
		err = fmt.Errorf("%d calls are still under way %v after they were cancelled", health.GetInFlight(), endTimeout)
	}
	return err
}

// cancelMidway cancels a call once the plugin counts it. With the whole menu, the plugin's own code may run meanwhile,
// and the call may also end.
func cancelMidway(ctx context.Context, s *session, q Request, whole bool) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.options.menuTimeout, menuTimeout))
	defer cancel()
	stream, err := beginMenu(ctx, s.Client, q)
	if err != nil || !whole {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- endMenu(stream) }()
	delay := time.After(cancelDelay)
	if s.options.cancelWhen != nil {
		delay = nil
	}
	select {
	case <-ended: // other checks validate the result
	case <-s.options.cancelWhen:
	case <-delay:
	}
	return nil
}

// beginMenu sends a menu without the end of its stream, and waits until the plugin counts the call.
func beginMenu(ctx context.Context, client *sdk.Client, q Request) (grpc.ClientStream, error) {
	stream, err := client.Conn().NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		"/servery.plugin.v1."+strings.ReplaceAll(q.Method, ".", "/"))
	if err == nil {
		err = stream.SendMsg(q.Message)
	}
	if err != nil {
		return nil, err
	}
	health, err := awaitHealth(ctx, client, countTimeout, func(h *pb.Health) bool { return h.GetInFlight() > 0 })
	if err == nil && health.GetInFlight() == 0 {
		err = errUncounted
	}
	return stream, err
}

// endMenu sends the end of a menu, and receives the whole response.
func endMenu(stream grpc.ClientStream) error {
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		switch err := stream.RecvMsg(&emptypb.Empty{}); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// awaitHealth waits until the plugin's health fulfils a condition or the time is over. It returns the last health.
func awaitHealth(ctx context.Context, client *sdk.Client, within time.Duration,
	done func(*pb.Health) bool) (*pb.Health, error) {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		health, err := client.CheckHealth(ctx)
		if err != nil || done(health) || time.Since(begun) > within {
			return health, err
		}
	}
}
