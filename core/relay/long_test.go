package relay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/step"
)

// newLongPlan returns a call with a plan of many steps, each of one item.
func newLongPlan(count int) *reusedSteps {
	s := newReusedSteps()
	s.steps, s.responses = nil, map[string]string{}
	for n := range count {
		path := fmt.Sprint("/items/", n)
		s.steps = append(s.steps, Step{Name: fmt.Sprint("item_", n), Request: stepRequest("PUT", path),
			Reuse: time.Hour})
		s.responses["PUT "+path] = `200 {"large":"` + strings.Repeat("x", 60<<10) + `"}`
	}
	s.steps[count-1].Reuse = 0
	return s
}

func TestLongPlanIsSentOnceWithinBounds(t *testing.T) {
	s := newLongPlan(500)
	var seen Response
	s.call.Steps = nil
	r := s.dispatchCall(t.Context(), Dispatcher{Clock: s.clock, SaveSteps: s.save}, s.call, s.steps,
		reader(&seen, Outcome{}))
	require.Equal(t, Done, r.State, r.Message)
	require.Len(t, s.requests, 500)
	require.Equal(t, "item_499", r.Attempt.Step)
	require.Less(t, len(r.Earlier), 32, "the record is bounded")
	require.Equal(t, len(s.requests), len(r.Earlier)+r.Omitted+1)
	require.Less(t, len(s.saved), 64<<10, "the completed steps are bounded")
	require.Len(t, seen.Earlier, 499)
	require.Equal(t, Response{Step: "item_7", Status: 200}, seen.Earlier[7], "the memory is bounded")
	require.NotEmpty(t, seen.Body)
}

func TestAttemptOfLongPlanContinues(t *testing.T) {
	s := newLongPlan(20)
	s.requests = nil
	r := s.attemptWithin(t, planTimeout+fullStepTime)
	require.Equal(t, Waiting, r.State)
	require.True(t, r.Uncounted)
	require.Equal(t, s.clock.Now(), r.RetryAt)
	require.Equal(t, "1 of 20 steps are completed", r.Message)
	require.Equal(t, []string{"PUT /items/0"}, s.called())

	s.requests = nil
	s.clock.Advance(time.Hour)
	r = s.attemptWithin(t, planTimeout+fullStepTime)
	require.Equal(t, []string{"PUT /items/0"}, s.called(), "the steps have expired")
	require.True(t, r.Uncounted)

	s.requests = nil
	r = s.attemptWithin(t, time.Hour)
	require.Equal(t, Done, r.State, r.Message)
	require.Len(t, s.requests, 19)
	require.Equal(t, "PUT /items/1", s.called()[0])
}

func TestStepsWithoutReuseDoNotContinue(t *testing.T) {
	s := newLongPlan(3)
	s.steps[0].Reuse, s.steps[1].Reuse = 0, 0
	r := s.attemptWithin(t, planTimeout+minStepTime)
	require.Equal(t, Waiting, r.State)
	require.False(t, r.Uncounted, "an endless call would repeat its requests")
}

func TestThrottlingAfterProgressUsesNoAttempt(t *testing.T) {
	s := newLongPlan(20)
	s.call.Attempts = 99 // none is left
	s.responses["PUT /items/12"] = "429 {}"
	r := s.attemptWithin(t, time.Hour)
	require.Equal(t, []any{Waiting, true, 99}, []any{r.State, r.Uncounted, r.Call.Attempts}, r.Message)
	require.True(t, r.RetryAt.After(s.clock.Now()))
	require.Len(t, s.requests, 13)

	s.requests = nil
	r = s.attemptWithin(t, time.Hour)
	require.Equal(t, Failed, r.State, "the second has no progress")
	require.Equal(t, []string{"PUT /items/12"}, s.called())

	s = newLongPlan(20)
	s.err = errors.New("no database")
	s.responses["PUT /items/12"] = "429 {}"
	r = s.attemptWithin(t, time.Hour)
	require.False(t, r.Uncounted, "nothing is stored")
}

func TestRejectedStepRepeatsNoStepWithoutValues(t *testing.T) {
	s := newLongPlan(20)
	s.responses["PUT /items/12"] = "404 {}"
	s.attemptWithin(t, time.Hour)
	s.requests = nil
	s.responses["PUT /items/12"] = "200 {}"
	r := s.attemptWithin(t, time.Hour)
	require.Equal(t, Done, r.State, r.Message)
	require.Len(t, s.requests, 8)
}

func TestLongPlanRecordsFailedRequests(t *testing.T) {
	s := newLongPlan(200)
	s.responses["PUT /items/117"] = "503 {}"
	r := s.attemptWithin(t, time.Hour)
	require.Equal(t, "item_117", r.Attempt.Step)
	steps := []string{}
	for _, a := range r.Earlier {
		steps = append(steps, a.Step)
	}
	require.Len(t, steps, 14)
	require.Equal(t, []string{"item_9", "item_25", "item_50", "item_75", "item_100"}, steps[9:])
	require.Equal(t, 103, r.Omitted)
}

func TestStoredStepsExpireWithTheFirst(t *testing.T) {
	s := newLongPlan(3)
	var stored storedSteps
	at := s.clock.Now()
	require.False(t, stored.expired(at.Add(time.Hour)))
	stored.add(storedStep{Name: "a"}, at.Add(2*time.Minute))
	stored.add(storedStep{Name: "b"}, at.Add(time.Minute))
	stored.add(storedStep{Name: "c"}, at.Add(3*time.Minute))
	require.Equal(t, []bool{false, true}, []bool{stored.expired(at.Add(59 * time.Second)),
		stored.expired(at.Add(time.Minute))})
	require.False(t, stored.haveValues())
	stored.add(storedStep{Name: "d", Values: map[string]step.Value{"id": {}}}, at.Add(time.Hour))
	require.True(t, stored.haveValues())
}
