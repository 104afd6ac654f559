package sdk

import (
	"cmp"
	"time"
	"unicode"
	"unicode/utf8"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Bounds of an outcome that the aggregator reports later.
const (
	MaxReference  = 200            // of the aggregator's id of a task, in characters
	MaxOutcomeAge = 24 * time.Hour // until the outcome is overdue
)

// Pending returns the outcome of a response whose outcome the aggregator reports later. The reference is its id of the
// task; "" is the idempotency key of the request. Without a report in time, the hub fails the request.
func Pending(reference string, within time.Duration) *PublishOutcome {
	return &PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_PENDING, Reference: reference,
		ExpiresAfterSeconds: uint32(within / time.Second)}
}

// Reported returns the translation of an inbound request with a later outcome.
func Reported(outcome *ReportedOutcome) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Outcome{Outcome: outcome}}, nil
}

// pending checks what a pending outcome says about the later one.
func (c *validation) pending(o *PublishOutcome) {
	c.reference(o.GetReference())
	if o.GetState() != pb.OutcomeState_OUTCOME_STATE_PENDING {
		c.check(o.GetReference() == "" && o.GetExpiresAfterSeconds() == 0,
			"reference and expires_after_seconds: are of a pending outcome")
		return
	}
	within := time.Duration(o.GetExpiresAfterSeconds()) * time.Second
	c.check(within > 0 && within <= MaxOutcomeAge, "expires_after_seconds: must be from 1 to %d",
		int(MaxOutcomeAge/time.Second))
	c.check(len(o.GetErrors()) == 0, "errors: belong to the later outcome")
}

// reported checks an outcome that the aggregator reports later.
func (c *validation) reported(o *ReportedOutcome) {
	_, named := pb.OutcomeState_name[int32(o.GetState())]
	c.check(named && o.GetState() != pb.OutcomeState_OUTCOME_STATE_UNSPECIFIED, "the outcome's state %d is none",
		o.GetState())
	c.reference(o.GetReference())
	if o.GetReference() != "" {
		return
	}
	_, known := pb.OutcomeKind_name[int32(o.GetKind())]
	c.check(known && o.GetKind() != pb.OutcomeKind_OUTCOME_KIND_UNSPECIFIED &&
		cmp.Or(o.GetStoreRefId(), o.GetPlatformStoreId()) != "",
		"the outcome names no task: it needs a reference, or a kind and a store")
}

// reference checks an aggregator's id of a task. It can be empty.
func (c *validation) reference(text string) {
	printable := true
	for _, r := range text {
		printable = printable && unicode.IsPrint(r)
	}
	c.check(utf8.ValidString(text) && printable && utf8.RuneCountInString(text) <= MaxReference,
		"reference: must have at most %d characters, without control characters", MaxReference)
}
