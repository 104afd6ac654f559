package web

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/job"
)

// jobBody is a job in a response. Times are RFC 3339, in UTC.
type jobBody struct {
	Reference  core.ID        `json:"reference"`
	Kind       core.JobKind   `json:"kind"`
	Subject    string         `json:"subject,omitzero"`
	State      job.State      `json:"state"`
	CreatedAt  time.Time      `json:"created_at"`
	StartedAt  time.Time      `json:"started_at,omitzero"`
	FinishedAt time.Time      `json:"finished_at,omitzero"`
	Attempts   int            `json:"attempts"`
	Done       int            `json:"objects_done"`
	Total      int            `json:"objects_total"`
	Error      string         `json:"error,omitzero"`
	Result     jsontext.Value `json:"result,omitzero"`
}

// getJob returns the state of a job.
func (s *Server) getJob(c *fiber.Ctx, caller core.Caller) error {
	reference, err := uuid.Parse(pathParam(c, "reference"))
	if err != nil {
		return core.Errorf(core.NotFound, "there is no job with this reference")
	}
	status, err := s.Jobs.Status(c.UserContext(), caller.Business, reference)
	if err != nil {
		return err
	}
	body := jobBody{
		Reference: status.Reference, Kind: status.Kind, Subject: status.Subject, State: status.State,
		CreatedAt: status.CreatedAt.UTC(), StartedAt: status.StartedAt.UTC(), FinishedAt: status.FinishedAt.UTC(),
		Attempts: status.Attempts, Done: status.Done, Total: status.Total, Error: jobError(status),
		Result: status.Result,
	}
	return respond(c, http.StatusOK, body)
}

// jobError describes the error of a job without internal details, which are only logged. The callback lists the errors
// of each object.
func jobError(status job.Status) string {
	switch {
	case status.Error == "":
		return ""
	case status.State == job.Failed:
		return "the hub could not process the request; send it again"
	default:
		return "the last attempt failed"
	}
}
