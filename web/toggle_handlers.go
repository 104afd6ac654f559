package web

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/presence"
	"github.com/servery-hub/servery/core/toggle"
)

// postLocation opens or closes a store on platforms, or has its menu published
// there. It is stored, and on its way, when the answer goes out.
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
	reference, n, callback := core.NewID(now), 0, core.StoreAction
	if request.Action == toggle.Publish {
		callback = core.HubMenuPublish
		n, err = s.Publications.Ask(c.UserContext(), caller.Business, request.LocationRefID, request.Platforms, reference)
	} else {
		n, err = s.Toggles.SwitchStore(c.UserContext(), caller.Business, request, reference, caller.Actor())
	}
	if err != nil {
		return err
	}
	s.heard(caller, presence.Sign{StoreRef: request.LocationRefID})
	return answerSwitch(c, reference, string(request.Action), n, string(callback))
}

// postItems makes items and options of a store available or unavailable. It is so
// in the hub's own menu, and on its way to the platforms, when the answer goes out.
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
	n, err := s.Toggles.SwitchItems(c.UserContext(), caller.Business, request, reference, caller.Actor())
	if err != nil {
		return err
	}
	s.heard(caller, presence.Sign{StoreRef: request.LocationRefID})
	callbacks := []string{string(core.ItemStateToggle), string(core.OptionStateToggle)}
	switch {
	case len(request.Options) == 0:
		callbacks = callbacks[:1]
	case len(request.Items) == 0:
		callbacks = callbacks[1:]
	}
	return answerSwitch(c, reference, string(request.Action), n, strings.Join(callbacks, " and "))
}

func answerSwitch(c *fiber.Ctx, reference core.ID, action string, platforms int, callback string) error {
	message := action + " accepted; the result follows as " + callback + " callbacks, one for each of " + counted(platforms, "platform")
	if platforms == 0 && callback == string(core.HubMenuPublish) {
		message = action + " accepted; the store is listed on no platform that is told of menus, and nobody is told"
	} else if platforms == 0 {
		message = action + " accepted; the store is listed on no platform, and nobody is told"
	}
	return answer(c, http.StatusOK, envelope{Status: "success", Reference: reference.String(), ReferenceID: reference.String(), Message: message})
}
