package web

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
)

// route is one line of the table: who may call what, how often.
type route struct {
	method, path string
	scope        core.Scope // "" is open to anyone; anyScope to every key
	limit        Limit      // "" is not throttled
	handle       handler
}

// anyScope lets every key of the business in.
const anyScope core.Scope = "any"

// platformKey lets aggregators in, which show a key of their own.
const platformKey core.Scope = "platform"

// handler answers a request of an authenticated caller; of an open route the
// caller is empty.
type handler func(c *fiber.Ctx, caller core.Caller) error

// routes is every route. Paths match with and without the trailing slash, and the first
// of a method that does is taken.
func (s *Server) routes() []route {
	return []route{
		{"POST", "/external/api/v1/stores/", core.ScopePOS, LimitStores, s.postStores},
		{"GET", "/external/api/v1/stores/", core.ScopePOS, LimitRead, s.listStores},
		{"GET", "/external/api/v1/stores/:ref_id/", core.ScopePOS, LimitRead, s.getStore},
		{"POST", "/external/api/v1/inventory/locations/:location_ref_id/", core.ScopePOS, LimitMenu, s.postMenu},
		{"GET", "/external/api/v1/inventory/locations/:location_ref_id/", core.ScopePOS, LimitRead, s.getMenu},
		{"POST", "/external/api/v1/inventory/categories/timing-groups/", core.ScopePOS, LimitOperations, s.postTimingGroups},
		{"GET", "/external/api/v1/inventory/categories/timing-groups/", core.ScopePOS, LimitRead, s.listTimingGroups},
		{"POST", "/hub/api/v1/location/", core.ScopePOS, LimitSwitches, s.postLocation},
		{"POST", "/hub/api/v1/items/", core.ScopePOS, LimitSwitches, s.postItems},
		{"GET", "/hub/api/v1/switches/:reference/", core.ScopePOS, LimitRead, s.getSwitch},
		{"GET", "/external/api/v1/publications/", core.ScopePOS, LimitRead, s.listPublications},
		{"GET", "/external/api/v1/inventory/locations/:location_ref_id/items/:item_ref_id/at/", core.ScopePOS, LimitRead, s.getItemThen},
		{"GET", "/external/api/v1/revisions/", core.ScopePOS, LimitRead, s.listRevisions},
		{"GET", "/external/api/v1/revisions/:id/", core.ScopePOS, LimitRead, s.getRevision},
		{"POST", "/external/api/v1/revisions/:id/rollback/", core.ScopePOS, LimitOperations, s.postRollback},
		{"GET", "/external/api/v1/checklist/", core.ScopePOS, LimitRead, s.getChecklist},
		{"GET", "/external/api/v1/jobs/:reference/", core.ScopePOS, LimitRead, s.getJob},
		{"POST", "/external/api/v1/webhooks/", core.ScopePOS, LimitWebhooks, s.postWebhook},
		{"GET", "/external/api/v1/webhooks/", core.ScopePOS, LimitWebhooks, s.listWebhooks},
		{"POST", "/external/api/v1/webhooks/retry/", core.ScopePOS, LimitRetry, s.postOrderRetry},
		{"GET", "/external/api/v1/webhooks/:webhook_id/", core.ScopePOS, LimitWebhooks, s.getWebhook},
		{"PUT", "/external/api/v1/webhooks/:webhook_id/", core.ScopePOS, LimitWebhooks, s.putWebhook},
		{"POST", "/external/api/v1/webhooks/:webhook_id/test/", core.ScopePOS, LimitOperations, s.testWebhook},
		{"POST", "/external/api/v1/webhooks/:webhook_id/rotate/", core.ScopePOS, LimitOperations, s.rotateWebhook},

		{"GET", "/external/api/v1/deliveries/", core.ScopePOS, LimitRead, s.listDeliveries},
		{"POST", "/external/api/v1/deliveries/retry/", core.ScopePOS, LimitOperations, s.retryDeliveries},
		{"GET", "/external/api/v1/deliveries/:id/", core.ScopePOS, LimitRead, s.getDelivery},
		{"POST", "/external/api/v1/deliveries/:id/retry/", core.ScopePOS, LimitOperations, s.retryDelivery},

		{"GET", "/external/api/v1/events/catalogue/", core.ScopePOS, LimitRead, s.listEventTypes},
		{"GET", "/external/api/v1/events/catalogue/:event_type/", core.ScopePOS, LimitRead, s.getEventType},

		{"GET", "/external/api/v1/orders/", core.ScopePOS, LimitRead, s.listOrders},
		{"GET", "/external/api/v1/orders/:id/", core.ScopePOS, LimitRead, s.getOrder},
		{"PUT", "/external/api/v1/orders/:id/", core.ScopePOS, LimitOrderUpdates, s.putOrder},
		{"POST", "/hub/api/v1/orders/items-oos/", core.ScopePOS, LimitOrderUpdates, s.reportItemsOOS},
		{"PUT", "/hub/api/v1/orders/items-oos/", core.ScopePOS, LimitOrderUpdates, s.reportItemsOOS},
		{"PUT", "/external/api/v1/orders/:id/status/", core.ScopePOS, LimitOrderUpdates, s.putOrderStatus},

		{"POST", "/ext/api/v1/generic/pos/rider-status/", core.ScopePOS, LimitRider, s.postRiderStatus},
		{"POST", "/ext/api/v1/generic/pos/rider-location/", core.ScopePOS, LimitLocation, s.postRiderLocation},
		{"POST", "/external/api/v1/aggregator/:platform/feature-action/", core.ScopePOS, LimitActions, s.postFeatureAction},
		{"GET", "/external/api/v1/actions/:reference/", core.ScopePOS, LimitRead, s.getAction},
		{"POST", "/channel/api/v1/:platform/callback/:kind/", platformKey, LimitCallbacks, s.postCallback},

		{"POST", "/channel/api/v1/orders/", core.ScopeChannel, LimitOrders, s.postOrder},
		{"GET", "/channel/api/v1/orders/:id/", core.ScopeChannel, LimitOrders, s.getOrder},
		{"PUT", "/channel/api/v1/orders/:id/status/", core.ScopeChannel, LimitOrders, s.putChannelOrderStatus},
		{"GET", "/channel/api/v1/stores/", anyScope, LimitRead, s.listChannelStores},
		{"GET", "/channel/api/v1/stores/:ref_id/menu/", anyScope, LimitRead, s.getEffectiveMenu},
		{"GET", "/channel/api/v1/stores/:ref_id/deliverable/", anyScope, LimitRead, s.getDeliverable},
		{"GET", "/channel/api/v1/deliverable/", anyScope, LimitRead, s.listDeliverableStores},

		{"GET", "/healthz", "", "", s.health},
		{"GET", "/readyz", "", "", s.ready},
		{"GET", "/openapi.json", "", "", s.openAPI},
	}
}

// namesakes are addresses that other methods would read as the id of something.
var namesakes = []string{"/external/api/v1/webhooks/retry/", "/external/api/v1/deliveries/retry/"}

// dryRuns are the calls that ?dry_run=true tries and does not carry out.
var dryRuns = []string{"/external/api/v1/inventory/locations/:location_ref_id/", "/external/api/v1/deliveries/retry/"}

// checkDryRun refuses to try a call that cannot be tried: it would be carried out.
func (r route) checkDryRun(c *fiber.Ctx) error {
	if r.method == fiber.MethodGet || !c.Context().QueryArgs().Has("dry_run") {
		return nil
	}
	var v core.Violations
	switch sent := c.Query("dry_run"); {
	case sent != "true" && sent != "false":
		v.AddBody("dry_run", "value", "must be true or false")
	case sent == "true" && !slices.Contains(dryRuns, r.path):
		v.AddBody("dry_run", "unknown", "is not offered by this call; nothing was done")
	}
	return v.Err()
}

// mount puts the table into the router.
func (s *Server) mount() {
	for _, r := range s.routes() {
		if s.SystemOnly && r.scope != "" {
			continue
		}
		s.App.Add(r.method, r.path, s.guard(r))
		if slices.Contains(namesakes, r.path) {
			s.App.All(r.path, func(c *fiber.Ctx) error {
				c.Set(fiber.HeaderAllow, r.method)
				return fiber.ErrMethodNotAllowed
			})
		}
	}
}

// guard authenticates, checks the scope and counts, in this order: a request
// that is refused for its credentials, or as a dry run, does not count.
func (s *Server) guard(r route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if r.scope == "" || r.scope == platformKey { // the latter looks at the key, and counts, itself
			return r.handle(c, core.Caller{})
		}
		c.Locals(localWaiting, true)
		caller, err := s.Authenticator.Authenticate(c.UserContext(), c.Get(fiber.HeaderAuthorization))
		if err != nil {
			return err
		}
		inbound.Authenticated(c.Context().Conn())
		c.Locals(localBusiness, caller.Business)
		if r.scope != anyScope && caller.Scope != r.scope {
			return core.Errorf(core.Forbidden, "this API key has the scope %s; this call needs %s", caller.Scope, r.scope)
		}
		if err := r.checkDryRun(c); err != nil {
			return err
		}
		if err := s.count(c, caller.Business, r.limit, ""); err != nil {
			return err
		}
		c.Locals(localWaiting, false)
		return named(c, r.handle(c, caller))
	}
}

// named says which parameter of the path names what is not there, where the error does
// not say what it is about.
func named(c *fiber.Ctx, err error) error {
	var known *core.Error
	parameters := c.Route().Params
	if len(parameters) != 1 || !errors.As(err, &known) || known.Code != core.NotFound || known.Violations != nil {
		return err
	}
	return core.NoSuch(parameters[0], fmt.Sprintf("%.255q", param(c, parameters[0])), known.Message)
}
