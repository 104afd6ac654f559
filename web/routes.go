package web

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/web/body"
)

// route is one line of the table: who may call what, how often, with how large a body.
type route struct {
	method, path string
	scope        core.Scope // "" is open to anyone; anyScope to every key
	limit        Limit      // "" is not throttled
	body         body.Limit
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
		{"POST", "/external/api/v1/stores/", core.ScopePOS, LimitStores, bulk, s.postStores},
		{"GET", "/external/api/v1/stores/", core.ScopePOS, LimitRead, noBody, s.listStores},
		{"GET", "/external/api/v1/stores/:ref_id/", core.ScopePOS, LimitRead, noBody, s.getStore},
		{"POST", "/external/api/v1/inventory/locations/:location_ref_id/", core.ScopePOS, LimitMenu, bulk, s.postMenu},
		{"GET", "/external/api/v1/inventory/locations/:location_ref_id/", core.ScopePOS, LimitRead, noBody, s.getMenu},
		{"POST", "/external/api/v1/inventory/categories/timing-groups/", core.ScopePOS, LimitOperations, bulk,
			s.postTimingGroups},
		{"GET", "/external/api/v1/inventory/categories/timing-groups/", core.ScopePOS, LimitRead, noBody,
			s.listTimingGroups},
		{"POST", "/hub/api/v1/location/", core.ScopePOS, LimitSwitches, small, s.postLocation},
		{"POST", "/hub/api/v1/items/", core.ScopePOS, LimitSwitches, lists, s.postItems},
		{"GET", "/hub/api/v1/switches/:reference/", core.ScopePOS, LimitRead, noBody, s.getSwitch},
		{"GET", "/external/api/v1/publications/", core.ScopePOS, LimitRead, noBody, s.listPublications},
		{"GET", "/external/api/v1/inventory/locations/:location_ref_id/items/:item_ref_id/at/", core.ScopePOS,
			LimitRead, noBody, s.getItemAsOf},
		{"GET", "/external/api/v1/revisions/", core.ScopePOS, LimitRead, noBody, s.listRevisions},
		{"GET", "/external/api/v1/revisions/:id/", core.ScopePOS, LimitRead, noBody, s.getRevision},
		{"POST", "/external/api/v1/revisions/:id/rollback/", core.ScopePOS, LimitOperations, noBody, s.postRollback},
		{"GET", "/external/api/v1/checklist/", core.ScopePOS, LimitRead, noBody, s.getChecklist},
		{"GET", "/external/api/v1/jobs/:reference/", core.ScopePOS, LimitRead, noBody, s.getJob},
		{"POST", "/external/api/v1/webhooks/", core.ScopePOS, LimitWebhooks, webhooks, s.postWebhook},
		{"GET", "/external/api/v1/webhooks/", core.ScopePOS, LimitWebhooks, noBody, s.listWebhooks},
		{"POST", "/external/api/v1/webhooks/bulk/", core.ScopePOS, LimitWebhooks, lists, s.postWebhooks},
		{"POST", "/external/api/v1/webhooks/retry/", core.ScopePOS, LimitRetry, small, s.postOrderRetry},
		{"GET", "/external/api/v1/webhooks/:webhook_id/", core.ScopePOS, LimitWebhooks, noBody, s.getWebhook},
		{"PUT", "/external/api/v1/webhooks/:webhook_id/", core.ScopePOS, LimitWebhooks, webhooks, s.putWebhook},
		{"POST", "/external/api/v1/webhooks/:webhook_id/test/", core.ScopePOS, LimitOperations, noBody, s.testWebhook},
		{"POST", "/external/api/v1/webhooks/:webhook_id/rotate/", core.ScopePOS, LimitOperations, noBody,
			s.rotateWebhook},

		{"GET", "/external/api/v1/deliveries/", core.ScopePOS, LimitRead, noBody, s.listDeliveries},
		{"POST", "/external/api/v1/deliveries/retry/", core.ScopePOS, LimitOperations, small, s.retryDeliveries},
		{"GET", "/external/api/v1/deliveries/:id/", core.ScopePOS, LimitRead, noBody, s.getDelivery},
		{"POST", "/external/api/v1/deliveries/:id/retry/", core.ScopePOS, LimitOperations, noBody, s.retryDelivery},

		{"GET", "/external/api/v1/events/catalogue/", core.ScopePOS, LimitRead, noBody, s.listEventTypes},
		{"GET", "/external/api/v1/events/catalogue/:event_type/", core.ScopePOS, LimitRead, noBody, s.getEventType},

		{"GET", "/external/api/v1/orders/", core.ScopePOS, LimitRead, noBody, s.listOrders},
		{"GET", "/external/api/v1/orders/:id/", core.ScopePOS, LimitRead, noBody, s.getOrder},
		{"PUT", "/external/api/v1/orders/:id/", core.ScopePOS, LimitOrderUpdates, small, s.putOrder},
		{"POST", "/hub/api/v1/orders/items-oos/", core.ScopePOS, LimitOrderUpdates, lists, s.reportItemsOOS},
		{"PUT", "/hub/api/v1/orders/items-oos/", core.ScopePOS, LimitOrderUpdates, lists, s.reportItemsOOS},
		{"PUT", "/external/api/v1/orders/:id/status/", core.ScopePOS, LimitOrderUpdates, small, s.putOrderStatus},

		{"POST", "/ext/api/v1/generic/pos/rider-status/", core.ScopePOS, LimitRider, small, s.postRiderStatus},
		{"POST", "/ext/api/v1/generic/pos/rider-location/", core.ScopePOS, LimitLocation, small, s.postRiderLocation},
		{"POST", "/external/api/v1/aggregator/:platform/feature-action/", core.ScopePOS, LimitActions, small,
			s.postFeatureAction},
		{"GET", "/external/api/v1/actions/:reference/", core.ScopePOS, LimitRead, noBody, s.getAction},
		{"POST", "/channel/api/v1/:platform/callback/:kind/", platformKey, LimitCallbacks, callbacks, s.postCallback},

		{"POST", "/channel/api/v1/orders/", core.ScopeChannel, LimitOrders, orders, s.postOrder},
		{"GET", "/channel/api/v1/orders/:id/", core.ScopeChannel, LimitOrders, noBody, s.getOrder},
		{"PUT", "/channel/api/v1/orders/:id/status/", core.ScopeChannel, LimitOrders, small, s.putChannelOrderStatus},
		{"GET", "/channel/api/v1/stores/", anyScope, LimitRead, noBody, s.listChannelStores},
		{"GET", "/channel/api/v1/stores/:ref_id/menu/", anyScope, LimitRead, noBody, s.getEffectiveMenu},
		{"GET", "/channel/api/v1/stores/:ref_id/deliverable/", anyScope, LimitRead, noBody, s.getDeliverable},
		{"GET", "/channel/api/v1/deliverable/", anyScope, LimitRead, noBody, s.listDeliverableStores},

		{"GET", "/healthz", "", "", noBody, s.health},
		{"GET", "/readyz", "", "", noBody, s.ready},
		{"GET", "/openapi.json", "", "", noBody, s.openAPI},
	}
}

// fixedPaths are addresses that other methods would read as the id of something.
var fixedPaths = []string{"/external/api/v1/webhooks/bulk/", "/external/api/v1/webhooks/retry/",
	"/external/api/v1/deliveries/retry/"}

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
		addUnlisted(c, "dry_run", []string{"true", "false"}, &v)
	case sent == "true" && !slices.Contains(dryRuns, r.path):
		v.AddBody("dry_run", "unknown", "is not supported by this call")
	}
	return v.Err()
}

// mount puts the table into the router.
func (s *Server) mount() {
	for _, r := range s.routes() {
		if s.SystemOnly && r.scope != "" {
			continue
		}
		r.body.Bytes = min(r.body.Bytes, s.MaxBody)
		s.App.Add(r.method, r.path, s.guard(r))
		if slices.Contains(fixedPaths, r.path) {
			s.App.All(r.path, func(c *fiber.Ctx) error {
				c.Set(fiber.HeaderAllow, r.method)
				return fiber.ErrMethodNotAllowed
			})
		}
	}
}

// guard authenticates, checks the scope, counts and reads the body, in this order: a
// request that is refused for its credentials, or as a dry run, does not count, and
// nobody's body is read before.
func (s *Server) guard(r route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if r.scope == "" || r.scope == platformKey { // the latter looks at the key, and counts, itself
			return s.receive(c, r, core.Caller{})
		}
		c.Locals(localWaiting, true)
		caller, err := s.Authenticator.Authenticate(c.UserContext(), c.Get(fiber.HeaderAuthorization))
		if err != nil {
			return err
		}
		inbound.MarkAuthenticated(c.Context().Conn())
		c.Locals(localBusiness, caller.Business)
		c.Locals(localUnread, max(maxUnread, r.body.Bytes)) // refused, a known sender hears why
		if r.scope != anyScope && caller.Scope != r.scope {
			return core.Errorf(core.Forbidden, "this API key has the scope %s, and this call requires %s", caller.Scope,
				r.scope)
		}
		if err := r.checkDryRun(c); err != nil {
			return err
		}
		if err := r.checkWait(c); err != nil {
			return err
		}
		if err := s.throttle(c, caller.Business, r.limit, ""); err != nil {
			return err
		}
		return s.receive(c, r, caller)
	}
}

// describeNotFound says which parameter of the path names what is not there, where the error does
// not say what it is about.
func describeNotFound(c *fiber.Ctx, err error) error {
	var known *core.Error
	parameters := c.Route().Params
	if len(parameters) != 1 || !errors.As(err, &known) || known.Code != core.NotFound || known.Violations != nil {
		return err
	}
	return core.NoSuch(parameters[0], fmt.Sprintf("%.255q", pathParam(c, parameters[0])), known.Message)
}
