package publish

import (
	"bytes"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/outcome"
)

// SentMenu is a menu that the aggregator has accepted, and whose outcome it reports later. It has all that the result
// of that publication needs.
type SentMenu struct {
	Task             string    `json:"task"` // the aggregator's id of it
	CallID           core.ID   `json:"call_id"`
	Since            time.Time `json:"since"`
	Deadline         time.Time `json:"deadline"`
	Version          int64     `json:"version"`
	Attempts         int       `json:"attempts"` // finished, with this one
	Reference        core.ID   `json:"reference"`
	ExplicitRequests []core.ID `json:"explicit_requests"`
	PendingRequests  []core.ID `json:"pending_requests"`
	Omitted          []Problem `json:"omitted"`
	Problems         []Problem `json:"problems"`
	Warnings         []Problem `json:"warnings"`
	Message          string    `json:"message"`
	Digest           []byte    `json:"digest"` // nil: the platform may have another menu
	PlatformStoreID  string    `json:"platform_store_id"`
}

// confirms reports whether a rendered menu is the one whose outcome is pending, so that it need not be resent.
func (s *SentMenu) confirms(work Work, rendered []byte, now time.Time) bool {
	if s == nil || !now.Before(s.Deadline) || !bytes.Equal(s.Digest, rendered) {
		return false
	}
	return !slices.ContainsFunc(work.ExplicitRequests, func(id core.ID) bool {
		return !slices.Contains(s.ExplicitRequests, id) // a later request to publish
	})
}

// await returns a result with a menu whose outcome the aggregator reports later.
func (r Result) await(task string, since, deadline time.Time) Result {
	if r.Sent != nil && r.Sent.CallID != r.CallID {
		r.Replaced = r.Sent.CallID
	}
	r.State, r.Unchanged, r.RetryAt = Pending, false, deadline
	r.Sent = &SentMenu{Task: task, CallID: r.CallID, Since: since, Deadline: deadline, Version: r.Version,
		Attempts: r.Attempts + 1, Reference: r.Reference, ExplicitRequests: r.ExplicitRequests,
		PendingRequests: r.PendingRequests, Omitted: r.Omitted, Problems: r.Problems, Warnings: r.Warnings,
		Message: r.Message, Digest: r.Digest, PlatformStoreID: r.PlatformStoreID}
	r.Digest = nil // the platform may have either menu
	return r
}

// SentStays reports whether the outcome of an earlier menu stays pending after a result.
func (r Result) SentStays() bool { return r.State == Waiting && (r.Uncounted || !r.Attempted) }

// overdue returns the result of a menu whose outcome is overdue. ok is false if a later change is published instead.
func overdue(work Work, now time.Time) (result Result, ok bool) {
	s := work.Sent
	if s == nil || work.Version != s.Version || now.Before(s.Deadline) {
		return result, false
	}
	result = s.result(work, now)
	result.State, result.Digest, result.Overdue = Failed, nil, true
	result.Message = outcome.Overdue("the menu", s.Task, s.Since, s.Deadline)
	return result, true
}

// result returns the result of the publication that sent the menu, as if the platform had it.
func (s *SentMenu) result(work Work, now time.Time) Result {
	work.Version, work.CallID, work.Reference, work.Attempts = s.Version, s.CallID, s.Reference, s.Attempts
	work.ExplicitRequests, work.PendingRequests = s.ExplicitRequests, s.PendingRequests
	return Result{Work: work, State: Published, Message: s.Message, Omitted: s.Omitted, Warnings: s.Warnings,
		Digest: s.Digest, PlatformStoreID: s.PlatformStoreID, At: now}
}

// Settle returns the result of a menu whose outcome the aggregator reports. A failed one that may be resent
// waits for that, as often as the schedule allows. It is resent with another idempotency key.
func (s *SentMenu) Settle(work Work, report outcome.Report, now time.Time) Result {
	result := s.result(work, now)
	if report.State == outcome.Done {
		result.Problems = s.Problems
	}
	result = result.withProblems(report.Problems)
	if report.State == outcome.Done {
		if report.Message != "" {
			result.Message = report.Message
		}
		return result
	}
	result.State, result.Digest, result.Message = Failed, nil, report.Reason()
	if report.State != outcome.Retry {
		return result
	}
	if wait, more := schedule().After(s.Attempts); more {
		result.State, result.RetryAt, result.CallID = Waiting, now.Add(wait), core.ID{}
	}
	return result
}
