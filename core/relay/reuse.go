package relay

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
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

// storedSteps are the completed steps of earlier attempts at a call. They are stored encrypted, after each step. So
// they are short: a plan can have hundreds of steps.
type storedSteps struct {
	Call  core.ID      `json:"call"`
	Until time.Time    `json:"until,omitzero"` // when the first of them expires
	Steps []storedStep `json:"steps"`
}

// storedStep is a completed step.
type storedStep struct {
	Name   string                `json:"n"`
	Digest string                `json:"d"` // of its request
	Status int                   `json:"s"`
	Values map[string]step.Value `json:"v,omitempty"`
}

// add adds a step that expires at a time.
func (s *storedSteps) add(one storedStep, until time.Time) {
	if len(s.Steps) == 0 || until.Before(s.Until) {
		s.Until = until
	}
	s.Steps = append(s.Steps, one)
}

// expired reports whether a step has expired at a time.
func (s *storedSteps) expired(at time.Time) bool { return len(s.Steps) > 0 && !at.Before(s.Until) }

// haveValues reports whether later steps can use values of the steps.
func (s *storedSteps) haveValues() bool {
	return slices.ContainsFunc(s.Steps, func(k storedStep) bool { return len(k.Values) > 0 })
}

// decodeSteps returns the stored steps of a call. If one has expired, there are none: the values of the steps belong
// together, so the sequence restarts.
func decodeSteps(c Call, now time.Time) storedSteps {
	none := storedSteps{Call: c.ID}
	var stored storedSteps
	if len(c.Steps) == 0 || json.Unmarshal(c.Steps, &stored) != nil || stored.Call != c.ID {
		return none
	}
	if stored.expired(now) {
		return none
	}
	return stored
}

// reuse reports whether an earlier attempt has completed a step with the same request. It then takes the values of
// that. Otherwise nothing more is reused.
func (s *sequence) reuse(i int, next Step) bool {
	if i < len(s.stored.Steps) && next.Reuse > 0 && s.stored.Steps[i].Name == next.Name {
		known := s.stored.Steps[i]
		if digest, err := s.digest(next); err == nil && digest == known.Digest {
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
	digest, err := s.digest(next)
	if err != nil {
		return err
	}
	done := storedStep{Name: next.Name, Digest: digest, Status: status, Values: map[string]step.Value{}}
	for _, t := range next.Take {
		done.Values[t.Name] = s.values.Get(next.Name, t.Name)
	}
	s.stored.add(done, s.Clock.Now().Add(next.Reuse))
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
	s.unsaved = len(s.stored.Steps) < len(s.responses)
	s.progress = s.progress || !s.unsaved
	return nil
}

// reusableAt reports whether a retry at a time repeats none of the requests that were sent.
func (s *sequence) reusableAt(at time.Time) bool {
	return !s.unsaved && !s.stored.expired(at)
}

// unusableError means that the values of earlier steps do not fit into a request.
type unusableError struct{ error }

func (e unusableError) Unwrap() error { return e.error }

// isUnusable reports whether a request was not sent because of the values of earlier steps.
func isUnusable(err error) bool {
	return errors.As(err, &unusableError{}) && !errors.As(err, &MissingSettingError{})
}

// isOutdated reports whether the status of a request can mean that the aggregator no longer accepts the values of
// earlier steps. If the request has an access token, 401 is about that.
func isOutdated(status int, p Plan) bool {
	if status == http.StatusUnauthorized {
		return !slices.ContainsFunc(p.Credentials, func(c Credential) bool { return c.OAuth2 != nil })
	}
	waits := []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}
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

// digest identifies the request of a step with its values and secrets, and what is taken from the response. So values
// are never used at another host or account, or unmasked after they became secret.
func (s *sequence) digest(next Step) (string, error) {
	x, err := s.fill(next, "")
	if err != nil {
		return "", err
	}
	r, err := x.plan.buildRequest(x.access, x.store)
	if err != nil {
		return "", err
	}
	parts := []string{x.plan.Endpoint, r.Method, r.URL, string(r.Body), fmt.Sprintf("%+v", next.Take)}
	if r.Certificate != nil {
		parts = append(parts, r.Certificate.Chain, r.Certificate.Key)
	}
	for _, c := range x.plan.Credentials {
		parts = append(parts, x.accountOf(c)...)
	}
	for _, pairs := range []map[string]string{r.Headers, r.Secrets} {
		parts = append(parts, "")
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			parts = append(parts, name, pairs[name])
		}
	}
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16]), nil
}

// accountOf returns what determines the account of a credential: its secrets, and the URL of its tokens.
func (x *exchange) accountOf(c Credential) []string {
	parts := []string{"", c.Name}
	secrets := func(names ...string) {
		for _, name := range names {
			value, _, _ := x.access.Secret(name, x.store)
			parts = append(parts, name, value)
		}
	}
	if o := c.OAuth2; o != nil {
		secrets(o.ClientID, o.ClientSecret, o.RefreshToken)
		parts = append(parts, o.TokenURL, x.access.BaseURLs[o.Endpoint], o.Path, o.Scope, fmt.Sprint(o.Parameters))
	}
	if c.Signature != nil {
		secrets(c.Signature.Secret)
	}
	if t := c.WebToken; t != nil {
		secrets(t.Secret)
		for _, claim := range t.Claims {
			value, _ := claim.value(x.access, x.store)
			parts = append(parts, claim.Name, fmt.Sprint(value))
		}
	}
	return parts
}
