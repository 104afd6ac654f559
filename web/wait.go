package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/job"
)

// Waits lets requests wait for the end of their jobs.
type Waits interface {
	Wait(job job.Ref, until time.Time, gone func() bool) job.WaitResult
}

// waitablePaths are the calls that queue a job. With ?wait=SECONDS, their response waits until the job has ended.
var waitablePaths = []string{"/external/api/v1/stores/", "/external/api/v1/inventory/locations/:location_ref_id/",
	"/external/api/v1/inventory/categories/timing-groups/", "/external/api/v1/revisions/:id/rollback/",
	"/external/api/v1/webhooks/retry/", "/external/api/v1/deliveries/retry/"}

// maxWait bounds the parameter wait, in seconds. Clients and proxies often end a request after 30.
const maxWait = 15

// Keys of fiber locals of requests with the parameter wait.
const (
	localWait   = "wait"   // time.Duration of the parameter
	localQueued = "queued" // the job to wait for, as queued
	localWaited = "waited" // time.Duration of the wait
)

// queued is a job that a request has queued, and the response without waiting.
type queued struct {
	job   job.Ref
	reply envelope
}

// checkWait reads the parameter wait of the calls that offer it.
func (r route) checkWait(c *fiber.Ctx) error {
	if r.method == fiber.MethodGet || !slices.Contains(waitablePaths, r.path) || !c.Context().QueryArgs().Has("wait") {
		return nil
	}
	seconds, err := strconv.Atoi(c.Query("wait"))
	if err != nil || seconds < 1 || seconds > maxWait {
		var v core.Violations
		v.AddBody("wait", "range", "must be a whole number of seconds from 1 to "+strconv.Itoa(maxWait))
		return v.Err()
	}
	c.Locals(localWait, time.Duration(seconds)*time.Second)
	return nil
}

// enqueue stores a job of the caller. Kind, body and callback are set.
func (s *Server) enqueue(c *fiber.Ctx, caller core.Caller, job core.Job) (core.Job, error) {
	if err := s.checkCallback(job.CallbackURL); err != nil {
		return job, err
	}
	job.CreatedAt = s.Clock.Now()
	job.ID, job.Business, job.Actor = core.NewID(job.CreatedAt), caller.Business, caller.Actor()
	return job, s.Jobs.Enqueue(c.UserContext(), job, requestID(c))
}

// queue stores a job of the caller, and responds.
func (s *Server) queue(c *fiber.Ctx, caller core.Caller, work core.Job, reply envelope) error {
	work.Actor = caller.Actor()
	if err := s.Jobs.Enqueue(c.UserContext(), work, requestID(c)); err != nil {
		return err
	}
	return respondQueued(c, work, reply)
}

// respondQueued responds to a request that has queued a job. With the parameter wait, awaitJob responds later.
func respondQueued(c *fiber.Ctx, work core.Job, reply envelope) error {
	reply.Status, reply.Reference = "success", work.ID.String()
	if c.Locals(localWait) == nil {
		return respond(c, http.StatusOK, reply)
	}
	c.Locals(localQueued, queued{job.Ref{Business: work.Business, ID: work.ID}, reply})
	return nil
}

// waitedBody is the response to a request that waited: with the state of its job, and its result once it has ended.
type waitedBody struct {
	envelope
	State       job.State      `json:"state,omitzero"`
	Result      jsontext.Value `json:"result,omitzero"`
	Error       string         `json:"error,omitzero"`
	WaitOutcome waitOutcome    `json:"wait_outcome"`
}

// waitOutcome says how a wait ended.
type waitOutcome string

const (
	waitEnded       waitOutcome = "ended"
	waitTimeUp      waitOutcome = "time_up"
	waitUnavailable waitOutcome = "unavailable" // the hub could not wait
)

// awaitJob waits for the job that a request has queued, and responds. The memory of the request is already released.
func (s *Server) awaitJob(c *fiber.Ctx) error {
	q, waits := c.Locals(localQueued).(queued)
	if !waits {
		return nil
	}
	requested, _ := c.Locals(localWait).(time.Duration)
	conn, start := c.Context().Conn(), time.Now()
	result := s.Waits.Wait(q.job, s.Clock.Now().Add(requested), func() bool { return inbound.PeerClosed(conn) })
	c.Locals(localWaited, time.Since(start))
	body := waitedBody{envelope: q.reply, WaitOutcome: waitUnavailable}
	switch result {
	case job.WaitClientGone: // the client has disconnected
		c.Context().SetConnectionClose()
	case job.WaitFull:
		body.Message += "; the hub did not wait, because too many requests wait already"
	case job.WaitStopping:
		body.Message += "; the hub did not wait longer, because it is shutting down"
	case job.WaitEnded, job.WaitTimedOut:
		s.addJobState(c, q.job, requested, &body)
	}
	return respond(c, http.StatusOK, body)
}

// statusTimeout bounds reading the state of a job after a wait.
const statusTimeout = 5 * time.Second

// addJobState adds the state of a job to the response. If the state cannot be read, the request is still accepted.
func (s *Server) addJobState(c *fiber.Ctx, ref job.Ref, requested time.Duration, body *waitedBody) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), statusTimeout)
	defer cancel()
	status, err := s.Jobs.Status(ctx, ref.Business, ref.ID)
	if err != nil {
		s.Log.Warn("job state could not be read", "request", requestID(c), "job",
			ref.ID, "error", err)
		body.Message += "; the hub could not read the state of the job"
		return
	}
	body.State, body.Result, body.Error = status.State, status.Result, jobError(status)
	body.WaitOutcome = waitEnded
	switch failed := job.FailedObjects(status.Result); {
	case status.FinishedAt.IsZero():
		body.WaitOutcome = waitTimeUp
		body.Message += "; the job had not ended after " + pluralize(int(requested/time.Second), "second")
	case status.State == job.Failed:
		body.Message += "; the job has failed"
	case failed > 0:
		body.Message += "; the job has ended, but " + pluralize(failed, "object") + " failed"
	default:
		body.Message += "; the job has ended"
	}
}
