package sdk

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Bounds of polls.
const (
	MinPollPeriod     = 15           // seconds
	MaxPollPeriod     = 24 * 60 * 60 // seconds
	MaxCursor         = 4 << 10      // bytes
	MaxPolledMessages = 200
	MaxPolledBytes    = 1 << 20 // of all messages of a result
	maxPolls          = 20      // of a description
)

// The messages of polls.
type (
	// Poll declares a poll of the aggregator, in a description.
	Poll = pb.Poll
	// PollRequest is one run of a poll.
	PollRequest = pb.PollRequest
	// PollResult is what the response to a poll contains.
	PollResult = pb.PollResult
	// PolledMessage is a message of the aggregator that a poll found; see Polled.
	PolledMessage = pb.PolledMessage
)

// Poller polls an aggregator that does not send everything. The description
// declares the polls. The hub runs each when it is due, and stores the cursor.
type Poller interface {
	// PlanPoll plans the requests of a run.
	PlanPoll(ctx context.Context, poll *PollRequest) (*Decision, error)
	// InterpretPoll splits the response into messages. The hub calls Translate with each of them, with the name of
	// the poll as kind.
	InterpretPoll(ctx context.Context, poll *PollRequest, response *Response) (*PollResult, error)
}

// Polled returns a message in JSON that a poll found. It panics if the value cannot be encoded, and the caller receives
// that as an error. The id of the order can be empty. With it, messages about one order are processed in sequence.
func Polled(platformOrderID string, message any) *PolledMessage {
	return &PolledMessage{Body: JSON(message), PlatformOrderId: platformOrderID}
}

type pollsService struct {
	pb.UnimplementedPollsServer
	s *Server
}

// Plan plans the requests of a run.
func (p pollsService) Plan(ctx context.Context, req *pb.PollRequest) (*pb.Decision, error) {
	return withCapability(p.s, CapabilityPoll,
		func(able Poller) (*pb.Decision, error) { return able.PlanPoll(ctx, req) })
}

// Interpret splits the response into messages.
func (p pollsService) Interpret(ctx context.Context, req *pb.InterpretPollRequest) (*pb.PollResult, error) {
	return withCapability(p.s, CapabilityPoll, func(able Poller) (*pb.PollResult, error) {
		return able.InterpretPoll(ctx, req.GetPoll(), req.GetResponse())
	})
}

// polls checks the declared polls.
func (c *validation) polls(d *Description) {
	list := d.GetPolls()
	c.check(len(list) <= maxPolls, "polls: must be at most %d", maxPolls)
	var names []string
	for _, inbound := range d.GetInbound() {
		names = append(names, inbound.GetKind())
	}
	for i, poll := range list {
		at := fmt.Sprintf("polls[%d] (name %q)", i, poll.GetName())
		c.check(namePattern.MatchString(poll.GetName()) && !slices.Contains(names, poll.GetName()),
			"%s: the name must be lower-case letters, digits and underscores, unique, and no kind of inbound", at)
		c.check(poll.GetPeriodSeconds() >= MinPollPeriod && poll.GetPeriodSeconds() <= MaxPollPeriod,
			"%s: period_seconds: must be from %d to %d", at, MinPollPeriod, MaxPollPeriod)
		names = append(names, poll.GetName())
	}
	for _, needed := range []string{CapabilityPoll, CapabilityOrderTranslate} {
		c.check(len(list) == 0 || slices.Contains(d.GetCapabilities(), needed), "polls: need the capability %s", needed)
	}
	c.check(len(list) > 0 || !slices.Contains(d.GetCapabilities(), CapabilityPoll),
		"polls: the capability %s needs at least one", CapabilityPoll)
}

// polled checks the result of a poll.
func (c *validation) polled(r *PollResult) {
	c.check(len(r.GetCursor()) <= MaxCursor && utf8.ValidString(r.GetCursor()), "cursor: must have at most %d bytes",
		MaxCursor)
	c.check(len(r.GetMessages()) <= MaxPolledMessages, "messages: must be at most %d", MaxPolledMessages)
	size := 0
	for i, m := range r.GetMessages() {
		size += len(m.GetBody())
		c.check(len(m.GetBody()) > 0, "messages[%d]: body: is required", i)
		c.fetchedID(fmt.Sprintf("messages[%d]: ", i), m.GetPlatformOrderId())
	}
	c.check(size <= MaxPolledBytes, "messages: must have at most %d bytes together", MaxPolledBytes)
}
