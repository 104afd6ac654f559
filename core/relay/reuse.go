package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/step"
)

// storedSteps are the completed steps of earlier attempts at a call. They are stored encrypted.
type storedSteps struct {
	Call  core.ID      `json:"call"`
	Steps []storedStep `json:"steps"`
}

// storedStep is a completed step.
type storedStep struct {
	Name   string                `json:"name"`
	Digest string                `json:"digest"` // of its request
	Until  time.Time             `json:"until"`
	Status int                   `json:"status"`
	Values map[string]step.Value `json:"values"`
}

// decodeSteps returns the stored steps of a call. If one has expired, there are none: the values of the steps belong
// together, so the sequence restarts.
func decodeSteps(c Call, now time.Time) storedSteps {
	none := storedSteps{Call: c.ID}
	var stored storedSteps
	if len(c.Steps) == 0 || json.Unmarshal(c.Steps, &stored) != nil || stored.Call != c.ID {
		return none
	}
	if slices.ContainsFunc(stored.Steps, func(s storedStep) bool { return !now.Before(s.Until) }) {
		return none
	}
	return stored
}

// reuse reports whether an earlier attempt has completed a step with the same request. It then takes the values of
// that. Otherwise nothing more is reused.
func (s *sequence) reuse(i int, next Step) bool {
	if i < len(s.stored.Steps) && next.Reuse > 0 && s.stored.Steps[i].Name == next.Name {
		known := s.stored.Steps[i]
		if x, err := s.fill(next, ""); err == nil && digestOf(x.plan) == known.Digest {
			for name, value := range known.Values {
				s.values.Set(next.Name, name, value)
			}
			s.responses = append(s.responses, Response{Step: next.Name, Status: known.Status})
			return true
		}
	}
	s.stored.Steps = s.stored.Steps[:min(i, len(s.stored.Steps))]
	return false
}

// errLeaseLost means that another replica makes the call.
var errLeaseLost = errors.New("the lease of the call has ended")

// save stores a completed step if later attempts may reuse it. If it cannot be stored, they repeat it. After the end of
// the lease nothing is sent.
func (s *sequence) save(ctx context.Context, next Step, status int) error {
	if next.Reuse <= 0 || s.SaveSteps == nil {
		return nil
	}
	x, err := s.fill(next, "")
	if err != nil {
		return err
	}
	values := map[string]step.Value{}
	for _, t := range next.Take {
		values[t.Name] = s.values.Get(next.Name, t.Name)
	}
	s.stored.Steps = append(s.stored.Steps, storedStep{Name: next.Name, Digest: digestOf(x.plan),
		Until: s.Clock.Now().Add(next.Reuse), Status: status, Values: values})
	text, err := json.Marshal(s.stored)
	if err != nil {
		return err
	}
	held, err := s.SaveSteps(ctx, s.call, text)
	if err != nil {
		s.Log.Warn("storing the steps of a call failed", "call", s.call.ID, "step", next.Name, "error", err)
		return nil
	}
	if !held {
		return errLeaseLost
	}
	return nil
}

// isUnusable reports whether a request was not sent because of the values of earlier steps.
func (s *sequence) isUnusable(err error) bool {
	return !errors.As(err, &limitedError{}) && !errors.As(err, &MissingSettingError{}) && !errors.Is(err, errLate)
}

// isOutdated reports whether a status can mean that the aggregator no longer accepts the values of earlier steps.
func isOutdated(status int) bool {
	waits := []int{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}
	return status >= 400 && status < 500 && !slices.Contains(waits, status)
}

// discard forgets the stored steps, so that the next attempt begins with the first step.
func (s *sequence) discard(ctx context.Context) {
	if len(s.stored.Steps) == 0 || s.SaveSteps == nil {
		return
	}
	s.stored.Steps = nil
	if _, err := s.SaveSteps(ctx, s.call, []byte("{}")); err != nil {
		s.Log.Warn("discarding the steps of a call failed", "call", s.call.ID, "error", err)
	}
}

// digestOf identifies the request of a step, with its values.
func digestOf(p Plan) string {
	sum := sha256.New()
	parts := []string{p.Endpoint, p.Method, p.Path, string(p.Body)}
	if p.target != nil {
		parts = append(parts, p.target.String())
	}
	for _, pairs := range []map[string]string{p.Query, p.Headers, p.secrets} {
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			parts = append(parts, name, pairs[name])
		}
		parts = append(parts, "")
	}
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
