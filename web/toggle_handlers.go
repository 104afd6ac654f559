package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/presence"
	"github.com/servery-hub/servery/core/toggle"
)

// postLocation opens or closes a store on platforms, says how busy it is, or publishes its menu there. It stores the
// change and responds; the platforms follow.
func (s *Server) postLocation(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	request, err := toggle.DecodeStore(body, now)
	if err != nil {
		return err
	}
	reference, callback := core.NewID(now), core.StoreAction
	var accepted toggle.Accepted
	switch request.Action {
	case toggle.Publish:
		callback = core.HubMenuPublish
		accepted.Platforms, err = s.Publications.Request(c.UserContext(), caller.Business, request.LocationRefID,
			request.Platforms, reference)
	case toggle.Busy, toggle.Normal:
		accepted, err = s.Toggles.SetWorkload(c.UserContext(), caller.Business, request, reference, caller.Actor())
	default:
		accepted, err = s.Toggles.SwitchStore(c.UserContext(), caller.Business, request, reference, caller.Actor())
	}
	if err != nil {
		return err
	}
	s.recordHeartbeat(caller, presence.Heartbeat{StoreRef: request.LocationRefID})
	return respondToggle(c, reference, string(request.Action), string(callback), accepted)
}

// postItems enables or disables items and options of a store. It changes the hub's menu and responds; the platforms
// follow.
func (s *Server) postItems(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	request, err := toggle.DecodeItems(body, now)
	if err != nil {
		return err
	}
	reference := core.NewID(now)
	accepted, err := s.Toggles.SwitchItems(c.UserContext(), caller.Business, request, reference, caller.Actor())
	if err != nil {
		return err
	}
	s.recordHeartbeat(caller, presence.Heartbeat{StoreRef: request.LocationRefID})
	callbacks := []string{string(core.ItemStateToggle), string(core.OptionStateToggle)}
	switch {
	case len(request.Options) == 0:
		callbacks = callbacks[:1]
	case len(request.Items) == 0:
		callbacks = callbacks[1:]
	}
	return respondToggle(c, reference, string(request.Action), strings.Join(callbacks, " and "), accepted)
}

// outcomeBody is an outcome in the form of its webhook.
type outcomeBody struct {
	EventType core.EventType `json:"event_type"`
	Body      jsontext.Value `json:"body"`
}

// waitingBody is a platform with a pending outcome.
type waitingBody struct {
	Platform string `json:"platform"`
	Because  string `json:"waits_because,omitzero"`
}

// getSwitch returns the outcomes of a request of postLocation or postItems.
func (s *Server) getSwitch(c *fiber.Ctx, caller core.Caller) error {
	reference, err := uuid.Parse(pathParam(c, "reference"))
	if err != nil {
		return core.NoSuch("reference", strconv.Quote(pathParam(c, "reference")),
			"there is no availability change with this reference")
	}
	standing, err := s.Toggles.Status(c.UserContext(), caller.Business, reference)
	if err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	body := struct {
		Reference string        `json:"reference"`
		Outcomes  []outcomeBody `json:"outcomes"`
		Waiting   []waitingBody `json:"waiting"`
	}{reference.String(), []outcomeBody{}, []waitingBody{}}
	for _, outcome := range standing.Events {
		body.Outcomes = append(body.Outcomes, outcomeBody{outcome.Type, outcome.Body})
	}
	for _, w := range standing.Pending {
		body.Waiting = append(body.Waiting, waitingBody{names.EventName(w.Platform), w.LastError})
	}
	return respond(c, http.StatusOK, body)
}

func respondToggle(c *fiber.Ctx, reference core.ID, action, callback string, accepted toggle.Accepted) error {
	platforms, undone, warnings := accepted.Platforms, accepted.Failed, accepted.Warnings
	message := action + " accepted; the result on " + pluralize(platforms, "platform") + " follows as " + callback +
		" callbacks"
	if platforms == 0 && callback == string(core.HubMenuPublish) {
		message = action + " accepted; the store is listed on no platform that receives menus"
		warnings = append(warnings, core.Warning{Path: "location_ref_id",
			Message: "the store is listed on no platform that receives menus, so nothing is published"})
	} else if platforms == 0 {
		message = action + " accepted; the store is listed on no platform"
	}
	if len(undone) > 0 {
		message += fmt.Sprintf("; %q: %s", undone[0].RefID, undone[0].Reason)
	}
	if len(undone) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(undone)-1)
	}
	return respond(c, http.StatusOK,
		envelope{Status: "success", Reference: reference.String(), ReferenceID: reference.String(), Message: message,
			Warnings: warnings})
}
