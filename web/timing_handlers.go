package web

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// postTimingGroups queues a request for category timings.
func (s *Server) postTimingGroups(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	request, err := menu.DecodeTimings(body)
	if err != nil {
		return err
	}
	job, err := s.enqueue(c, caller, core.Job{Kind: core.TimingJob, Body: body,
		CallbackURL: request.CallbackURL})
	if err != nil {
		return err
	}
	reply := envelope{ReferenceID: job.ID.String(), Message: pluralize(len(request.Groups), "timing group") +
		" queued; the result follows as a catalogue_timing_grp callback"}
	for _, warning := range request.Warnings[:min(len(request.Warnings), core.MaxFailedObjects)] {
		reply.Warnings = append(reply.Warnings, core.Warning(warning))
	}
	return respondQueued(c, job, reply)
}

// listTimingGroups returns the category timings.
func (s *Server) listTimingGroups(c *fiber.Ctx, caller core.Caller) error {
	groups, err := s.Menus.TimingGroups(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, struct {
		Groups []menu.TimingGroup `json:"timing_groups"`
	}{groups})
}
