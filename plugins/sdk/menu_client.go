package sdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Bounds of the findings of one check.
const (
	maxFindings     = 16 << 20 // bytes
	maxFindingCount = maxObjects
)

// Fault is the error for an invalid result of a plugin: one that does not match the request, or is too large.
type Fault struct{ Message string }

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// CheckItems returns the items that break the aggregator's rules.
func (c *Client) CheckItems(ctx context.Context, about *Call, items []*Item) ([]*Finding, error) {
	return c.CheckMenu(ctx, about, &Check{Items: items})
}

// CheckMenu returns the objects that break the aggregator's rules. A finding about an object that was not sent is a
// Fault.
func (c *Client) CheckMenu(ctx context.Context, about *Call, check *Check) ([]*Finding, error) {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	stream, err := c.Menu().CheckItems(ctx)
	if err != nil {
		return nil, err
	}
	sent := checkedObjects(check)
	var findings []*Finding
	size := 0
	err = exchange(stream, cancel,
		func(send func(*pb.ItemsChunk) error) error { return sendCheck(about, check, c.Chunk, send) },
		func(chunk *pb.FindingsChunk) error {
			if size += proto.Size(chunk); size > maxFindings {
				return &Fault{fmt.Sprintf("the plugin's findings are more than %d MB", maxFindings>>20)}
			}
			for _, finding := range chunk.GetFindings() {
				if entity := FindingEntity(finding); !sent[[2]string{entity, finding.GetRefId()}] {
					return &Fault{fmt.Sprintf("the plugin found fault with %s %q, which it was not asked about", entity,
						finding.GetRefId())}
				}
			}
			if len(findings)+len(chunk.GetFindings()) > maxFindingCount {
				return &Fault{fmt.Sprintf("the plugin has more than %d findings", maxFindingCount)}
			}
			findings = append(findings, chunk.GetFindings()...)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return findings, nil
}

// withDeadline adds the deadline of a menu to a context that has none.
func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, limited := ctx.Deadline(); limited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, menuDeadline)
}

// FindingEntity returns the kind of object that a finding is about: item, category, option_group, option or store.
func FindingEntity(finding *Finding) string { return cmp.Or(finding.GetEntity(), "item") }

// checkedObjects returns the objects of a check, by entity and ref_id.
func checkedObjects(check *Check) map[[2]string]bool {
	sent := make(map[[2]string]bool, len(check.GetItems()))
	addObjects(sent, "item", check.GetItems())
	addObjects(sent, "category", check.GetCategories())
	addObjects(sent, "option_group", check.GetOptionGroups())
	addObjects(sent, "option", check.GetOptions())
	addObjects(sent, "store", check.GetStores())
	return sent
}

func addObjects[T interface{ GetRefId() string }](sent map[[2]string]bool, entity string, list []T) {
	for _, object := range list {
		sent[[2]string{entity, object.GetRefId()}] = true
	}
}

// Render returns the request for a store and its menu in the aggregator's format.
func (c *Client) Render(ctx context.Context, about *Call, menu *Menu) (*Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, menuDeadline)
	defer cancel()
	stream, err := c.Menu().Render(ctx)
	if err != nil {
		return nil, err
	}
	var decision *Decision
	var body []byte
	err = exchange(stream, cancel,
		func(send func(*pb.MenuChunk) error) error { return sendMenu(about, menu, c.Chunk, send) },
		func(chunk *pb.RenderedChunk) error {
			if decision == nil {
				decision = chunk.GetDecision()
			}
			if decision == nil {
				return &Fault{"the plugin rendered a menu without a decision"}
			}
			if len(body)+len(chunk.GetBody()) > MaxMenu {
				return &Fault{fmt.Sprintf("the plugin rendered more than %d MB", MaxMenu>>20)}
			}
			body = append(body, chunk.GetBody()...)
			return nil
		})
	switch {
	case err != nil:
		return nil, err
	case decision == nil:
		return nil, &Fault{"the plugin rendered nothing"}
	}
	if plan := decision.GetPlan(); plan != nil {
		plan.Body = body
	}
	return decision, nil
}

// exchange sends and receives concurrently, so that neither side blocks the other. It returns when both have ended.
func exchange[Q, A any](stream grpc.BidiStreamingClient[Q, A], cancel context.CancelFunc,
	send func(func(*Q) error) error, take func(*A) error) error {
	sent := make(chan error, 1)
	go func() {
		err := send(stream.Send)
		if err == nil {
			err = stream.CloseSend()
		}
		sent <- err
	}()
	received := receive(stream, take)
	if received != nil {
		cancel() // also ends the sending
	}
	// EOF: the plugin finished before it had read everything
	if err := <-sent; received == nil && err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return received
}

func receive[Q, A any](stream grpc.BidiStreamingClient[Q, A], take func(*A) error) error {
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return asFault(err)
		}
		if err := take(chunk); err != nil {
			return err
		}
	}
}
