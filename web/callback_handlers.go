package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// headerPlatformSecret carries a platform's callback key where Authorization does not.
const headerPlatformSecret = "X-Platform-Secret"

// postCallback takes what an aggregator sends: its plugin reads it, and what it
// means is done when the answer goes out.
func (s *Server) postCallback(c *fiber.Ctx, _ core.Caller) error {
	secret := strings.Clone(c.Get(headerPlatformSecret))
	if scheme, given, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " "); strings.EqualFold(scheme, "bearer") {
		secret = strings.Clone(strings.TrimSpace(given))
	}
	caller, err := s.Callers.Authenticate(c.UserContext(), param(c, "platform"), secret)
	if err != nil {
		return err
	}
	c.Locals(localBusiness, caller.Business)
	body, err := s.body(c)
	if err != nil {
		return err
	}
	message, err := s.Callbacks.Read(c.UserContext(), relay.Inbound{
		Caller: caller, Kind: param(c, "kind"), Query: cloned(c.Queries()), Headers: harmless(c), Body: body, ReceivedAt: s.Clock.Now(),
	})
	if err != nil {
		return err
	}
	switch {
	case message.Order != nil:
		return s.placeCallback(c, caller, message.Order)
	case message.Outcome != nil:
		if err := s.Actions.Settle(c.UserContext(), caller.Business, caller.Platform, *message.Outcome); err != nil {
			return err
		}
		return answer(c, http.StatusOK, envelope{Status: "success", Message: "outcome recorded"})
	default:
		return answer(c, http.StatusOK, envelope{Status: "success", Message: "nothing to do: " + message.Ignored})
	}
}

func (s *Server) placeCallback(c *fiber.Ctx, caller relay.Caller, normal []byte) error {
	normal, err := s.nameStore(c, caller, normal)
	if err != nil {
		return err
	}
	draft, err := order.Decode(normal)
	if err != nil {
		return err
	}
	draft.Platform = caller.Platform
	receipt, err := s.Intake.Place(c.UserContext(), order.Arrival{Business: caller.Business, Actor: "platform:" + caller.Platform, Draft: draft})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, orderAnswer{"success", "order accepted", receipt.OrderID})
}

// nameStore gives an order the ref_id of its store where the aggregator names the
// store by an id of its own.
func (s *Server) nameStore(c *fiber.Ctx, caller relay.Caller, normal []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	var named struct {
		RefID      string `json:"store_ref_id"`
		PlatformID string `json:"platform_store_id"`
	}
	if err := json.Unmarshal(normal, &named); err != nil || named.RefID != "" || named.PlatformID == "" {
		return normal, nil // what is wrong with it is found by who reads it all
	}
	ref, err := s.PlatformStores.StoreRef(c.UserContext(), caller.Business, caller.Platform, named.PlatformID)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(normal, &members); err != nil {
		return nil, err
	}
	if members["store_ref_id"], err = json.Marshal(ref); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// harmless are the headers of the request without those that carry credentials.
func harmless(c *fiber.Ctx) map[string]string {
	headers := map[string]string{}
	for name, values := range c.GetReqHeaders() {
		secret := slices.Contains([]string{fiber.HeaderAuthorization, headerPlatformSecret, fiber.HeaderCookie}, name)
		if !secret && len(values) > 0 {
			headers[strings.ToLower(strings.Clone(name))] = strings.Clone(values[0])
		}
	}
	return headers
}

func cloned(m map[string]string) map[string]string {
	copied := make(map[string]string, len(m))
	for name, value := range m {
		copied[strings.Clone(name)] = strings.Clone(value)
	}
	return copied
}
