package publish

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/retry"
)

// MaxProblems bounds the problems of a publication that are stored and reported.
const MaxProblems = 1000

// digest returns a hash of contents. It ignores the call's key, which can occur anywhere in the content and differs
// for every publication.
func digest(key core.ID, content []string) []byte {
	sum := sha256.New()
	for _, part := range content {
		part = strings.ReplaceAll(part, key.String(), "")
		_ = binary.Write(sum, binary.BigEndian, int64(len(part))) // a hash never fails
		sum.Write([]byte(part))
	}
	return sum.Sum(nil)
}

// renderResult returns the result of a rendering before anything is sent. It also reports whether something is to be
// sent.
func renderResult(work Work, r Rendering, now time.Time) (result Result, send bool) {
	work.PendingRequests = r.PendingRequests
	omitted, warnings := outcome.Split(r.Omitted)
	result = Result{Work: work, State: Published, At: now, Omitted: limitProblems(omitted), Message: r.Note,
		Warnings: limitProblems(warnings), PlatformStoreID: r.PlatformStoreID}
	switch {
	case r.Skip != "":
		result.State, result.Message = Skipped, r.Skip
		return result, false
	case r.Unlisted != "":
		result.State, result.Message, result.Omitted, result.Warnings = Unlisted, r.Unlisted, nil, nil
		if len(r.Content) == 0 {
			return result, false
		}
	}
	result.Digest = digest(work.CallID, r.Content)
	if s := work.Sent; r.Unlisted == "" && s.confirms(work, result.Digest, now) {
		result.CallID, result.Attempts, result.Problems = s.CallID, s.Attempts-1, s.Problems
		return result.await(s.Task, s.Since, s.Deadline), false
	}
	result.Unchanged = len(work.ExplicitRequests) == 0 && bytes.Equal(work.Digest, result.Digest)
	return result, !result.Unchanged
}

// finalResult returns the result after sending. The digest is set only if the platform accepted the menu.
func finalResult(result Result, sent SendResult, now time.Time) Result {
	unlisted := result.State == Unlisted && sent.State == Published
	result.At, result.RetryAt, result.RetryAfter = now, sent.RetryAt, sent.RetryAfter
	result = result.withProblems(sent.Problems)
	result.Exchange = sent.Exchange
	result.Attempted, result.Uncounted = true, sent.Uncounted && sent.State == Waiting
	if sent.State == Pending {
		return result.await(sent.Task, now, sent.Deadline)
	}
	if sent.State != Published {
		result.Digest = nil
	}
	if !unlisted {
		result.State = sent.State
	}
	if sent.Message != "" && !unlisted {
		result.Message = sent.Message
	}
	return result
}

// withProblems adds what the aggregator reports about the menu.
func (r Result) withProblems(list []Problem) Result {
	problems, warnings := outcome.Split(list)
	r.Problems = limitProblems(append(slices.Clip(r.Problems), problems...))
	r.Warnings = limitProblems(append(slices.Clip(r.Warnings), warnings...))
	return r
}

// schedule returns the retry schedule of publications. The first attempt includes the rendering.
func schedule() retry.Schedule { return retry.Default(time.Second) }

// renderFailure returns the result of a failed rendering. A failure of the plugin or the hub at this menu is retried
// like a rejection by the aggregator. If a plugin or the database is unavailable, the work waits.
func renderFailure(work Work, err error, now time.Time) Result {
	var snooze core.Snooze
	if errors.As(err, &snooze) {
		return Result{Work: work, State: leftToPeer, RetryAt: snooze.Until}
	}
	result := Result{Work: work, State: Waiting, Message: core.PublicMessage(err), RetryAt: now, Digest: work.Digest,
		At: now}
	var fault *core.Error
	switch code := core.CodeOf(err); {
	case code == core.Invalid:
		result.State = Failed
	case code == core.NotFound:
		result.State = Skipped
	case code == core.Internal && errors.As(err, &fault):
		wait, more := schedule().After(work.Attempts + 1)
		if result.RetryAt = now.Add(wait); !more {
			result.State = Failed
		}
	default:
		result.Uncounted = true
	}
	return result
}

func limitProblems(list []Problem) []Problem {
	if len(list) <= MaxProblems {
		return list
	}
	rest := Problem{Entity: "menu", Code: "more", Message: fmt.Sprintf("and %d more", len(list)-MaxProblems+1)}
	return append(list[:MaxProblems-1:MaxProblems-1], rest)
}

// Errors returns all problems of a result: what was left out, then what the aggregator rejected.
func (r Result) Errors() []Problem {
	list := append(append([]Problem{}, r.Omitted...), r.Problems...)
	code := map[State]string{Failed: "not_published", Unlisted: "not_listed", Skipped: "not_sent"}[r.State]
	if code != "" && len(r.Problems) == 0 {
		list = append([]Problem{{Entity: "menu", Code: code, Message: r.Message}}, list...)
	}
	for i := range list {
		for _, text := range []*string{&list[i].Entity, &list[i].Code, &list[i].Message} {
			if *text == "" {
				*text = "not given"
			}
		}
	}
	return limitProblems(list)
}

// Events returns the events of a result: one for each request that asked for the publication. If a menu was sent or
// failed, there is also one for each request whose change is in it, and at least one. Delisting a store is a success
// for the request that caused it, but an error for one that asked for its menu.
func (r Result) Events() ([]core.Event, error) {
	if r.State == Waiting || r.State == Pending {
		return nil, nil
	}
	references := slices.Clone(r.ExplicitRequests)
	takenOff := r.State == Unlisted && r.Digest != nil
	if (r.State == Published || takenOff) && !r.Unchanged || r.State == Failed {
		if references = append(references, r.PendingRequests...); len(references) == 0 {
			references = []core.ID{r.Reference}
		}
	}
	events := make([]core.Event, len(references))
	for i, reference := range references {
		status := "error"
		if r.State == Published || takenOff && i >= len(r.ExplicitRequests) {
			status = "success"
		}
		body, err := json.Marshal(struct {
			Reference string    `json:"reference_id"`
			Location  string    `json:"location_ref_id"`
			Platform  string    `json:"platform"`
			Status    string    `json:"status"`
			Errors    []Problem `json:"errors"`
			Warnings  []Problem `json:"warnings,omitempty"`
			At        int64     `json:"ts_utc"`
		}{reference.String(), r.StoreRef, cmp.Or(r.EventPlatform, r.Platform), status, r.Errors(), r.Warnings,
			r.At.UnixMilli()})
		if err != nil {
			return nil, fmt.Errorf("encoding the event: %w", err)
		}
		// One microsecond apart, so that the ids sort in the order of the events.
		events[i] = core.Event{ID: core.NewID(r.At.Add(time.Duration(i) * time.Microsecond)), Business: r.Business,
			Type: core.HubMenuPublish, At: r.At, Body: body, Reference: reference.String()}
	}
	return events, nil
}
