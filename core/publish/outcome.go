package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// MaxProblems is how many problems of a publication are kept and told.
const MaxProblems = 1000

// digest tells contents apart. The key of the call may stand anywhere in it: it
// is another one for every publication, and no content.
func digest(key core.ID, content []string) []byte {
	sum := sha256.New()
	for _, part := range content {
		part = strings.ReplaceAll(part, key.String(), "")
		_ = binary.Write(sum, binary.BigEndian, int64(len(part))) // a hash never fails
		sum.Write([]byte(part))
	}
	return sum.Sum(nil)
}

// rendered is what follows from a rendering before anything is sent; send tells
// whether something is to be.
func rendered(work Work, r Rendering, now time.Time) (result Result, send bool) {
	work.Waiting = r.Waiting
	result = Result{Work: work, State: Published, At: now, LeftOut: bounded(r.LeftOut), Message: r.Note, Outlet: r.Outlet}
	switch {
	case r.Skip != "":
		result.State, result.Message = Skipped, r.Skip
		return result, false
	case r.Unlisted != "":
		result.State, result.Message, result.LeftOut = Unlisted, r.Unlisted, nil
		if len(r.Content) == 0 {
			return result, false
		}
	}
	result.Digest = digest(work.CallID, r.Content)
	result.Unchanged = len(work.Asked) == 0 && bytes.Equal(work.Digest, result.Digest)
	return result, !result.Unchanged
}

// settled is what follows from having sent. What the platform holds is known only
// when it has taken what it was told.
func settled(result Result, sent Sent, now time.Time) Result {
	unlisted := result.State == Unlisted && sent.State == Published
	result.At, result.Problems, result.RetryAt, result.SparedTo = now, bounded(sent.Problems), sent.RetryAt, sent.SparedTo
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

// maxAttempts is the first rendering and five more, after 1, 2, 4, 8 and 16 seconds:
// the schedule of sending (spec, Delivery rules).
const maxAttempts = 6

// refused is what follows where nothing could be rendered. A menu at which
// plugin or hub fail is tried again like one that its aggregator does not take; a
// plugin or a database that is down is waited for.
func refused(work Work, err error, now time.Time) Result {
	var elsewhere core.Postponed
	if errors.As(err, &elsewhere) {
		return Result{Work: work, State: left, RetryAt: elsewhere.Until}
	}
	result := Result{Work: work, State: Waiting, Message: err.Error(), RetryAt: now, Digest: work.Digest, At: now}
	var fault *core.Error
	switch code := core.CodeOf(err); {
	case code == core.Invalid:
		result.State = Failed
	case code == core.NotFound:
		result.State = Skipped
	case code == core.Internal && errors.As(err, &fault):
		if result.RetryAt = now.Add(time.Second << work.Attempts); work.Attempts+1 >= maxAttempts {
			result.State = Failed
		}
	default:
		result.Untried = true
	}
	return result
}

func bounded(list []Problem) []Problem {
	if len(list) <= MaxProblems {
		return list
	}
	rest := Problem{Entity: "menu", Code: "more", Message: fmt.Sprintf("and %d more", len(list)-MaxProblems+1)}
	return append(list[:MaxProblems-1:MaxProblems-1], rest)
}

// Errors are the problems of a result together: what was
// left out, then what the aggregator refused.
func (r Result) Errors() []Problem {
	list := append(append([]Problem{}, r.LeftOut...), r.Problems...)
	whole := map[State]string{Failed: "not_published", Unlisted: "not_listed", Skipped: "not_told"}[r.State]
	if whole != "" && len(r.Problems) == 0 {
		list = append([]Problem{{Entity: "menu", Code: whole, Message: r.Message}}, list...)
	}
	for i := range list {
		for _, text := range []*string{&list[i].Entity, &list[i].Code, &list[i].Message} {
			if *text == "" {
				*text = "not given"
			}
		}
	}
	return bounded(list)
}

// events tell a result: to each who asked for it, and of what was sent, or came to
// nothing, to each whose change is in it, else once. That a store was taken off is
// success to whose change it was, and none to who asked for its menu.
func (r Result) events() ([]core.Event, error) {
	if r.State == Waiting {
		return nil, nil
	}
	references := slices.Clone(r.Asked)
	takenOff := r.State == Unlisted && r.Digest != nil
	if (r.State == Published || takenOff) && !r.Unchanged || r.State == Failed {
		if references = append(references, r.Waiting...); len(references) == 0 {
			references = []core.ID{r.Reference}
		}
	}
	events := make([]core.Event, len(references))
	for i, reference := range references {
		status := "error"
		if r.State == Published || takenOff && i >= len(r.Asked) {
			status = "success"
		}
		body, err := json.Marshal(struct {
			Reference string    `json:"reference_id"`
			Location  string    `json:"location_ref_id"`
			Platform  string    `json:"platform"`
			Status    string    `json:"status"`
			Errors    []Problem `json:"errors"`
			At        int64     `json:"ts_utc"`
		}{reference.String(), r.StoreRef, r.Platform, status, r.Errors(), r.At.UnixMilli()})
		if err != nil {
			return nil, fmt.Errorf("writing the event: %w", err)
		}
		// A microsecond apart, so that the ids sort as the events do.
		events[i] = core.Event{ID: core.NewID(r.At.Add(time.Duration(i) * time.Microsecond)), Business: r.Business,
			Type: core.HubMenuPublish, At: r.At, Body: body, Reference: reference.String()}
	}
	return events, nil
}
