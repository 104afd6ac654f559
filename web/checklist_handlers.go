package web

import (
	"cmp"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/checklist"
)

// stepBody is a step of the integration checklist in a response.
type stepBody struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Done      bool   `json:"done"`
	Next      string `json:"next,omitzero"`
	Command   string `json:"command,omitzero"`
	Reference string `json:"reference,omitzero"`
}

// getChecklist returns the integration checklist. Steps that are done have no instructions.
func (s *Server) getChecklist(c *fiber.Ctx, caller core.Caller) error {
	facts, err := s.Checklist.Facts(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	facts.Called = true // by this request
	steps := checklist.Steps(facts, cmp.Or(s.BaseURL, c.BaseURL()))
	bodies := make([]stepBody, len(steps))
	for i, step := range steps {
		bodies[i] = stepBody{Name: step.Name, Title: step.Title, Done: step.Done}
		if !step.Done {
			bodies[i].Next, bodies[i].Command = step.Next, step.Command
		}
		if step.Reference != (uuid.UUID{}) {
			bodies[i].Reference = step.Reference.String()
		}
	}
	return respond(c, http.StatusOK, struct {
		Steps []stepBody `json:"steps"`
		Done  int        `json:"done"`
		Total int        `json:"total"`
	}{bodies, checklist.Done(steps), len(steps)})
}
