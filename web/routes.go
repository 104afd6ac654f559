package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/web/body"
)

// route is an entry of the route table.
type route struct {
	method, path string
	scope        core.Scope // "": no authentication; anyScope: every key
	limit        Limit      // "": no limit
	body         body.Limit
	handle       handler
}

// anyScope accepts every API key of the business.
const anyScope core.Scope = "any"

// postOrderPath is the path of postOrder.
const postOrderPath = "/channel/api/v1/orders/"

// platformKey requires a callback key, which the handler checks.
const platformKey core.Scope = "platform"

// sharedPath begins the paths of the shared URLs of plugins.
const sharedPath = "/channel/api/v1/shared/"

func (r route) isPostOrder() bool { return r.method == fiber.MethodPost && r.path == postOrderPath }

// handler handles a request of an authenticated caller. Without authentication, the caller is empty.
type handler func(c *fiber.Ctx, caller core.Caller) error

// routes returns the route table. Paths match with and without a trailing slash, and the first match of a method wins.
func (s *Server) routes() []route {
	return slices.Concat(s.catalogueRoutes(), s.webhookRoutes(), s.channelRoutes(), s.orderRoutes(), []route{
		{"GET", healthPath, "", "", noBody, s.health},
		{"GET", "/readyz", "", "", noBody, s.ready},
		{"GET", "/openapi.json", "", "", noBody, s.openAPI},
	})
}

// catalogueRoutes are those of stores and menus, and of the jobs that change them.
func (s *Server) catalogueRoutes() []route {
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
	}
}

// webhookRoutes are those of webhooks, their deliveries and the types of events.
func (s *Server) webhookRoutes() []route {
	return []route{
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
	}
}

// orderRoutes are those of orders and riders, and of the actions of platforms.
func (s *Server) orderRoutes() []route {
	return []route{
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
		{"GET", sharedPath + ":plugin/callback/:kind/", platformKey, LimitCallbacks, noBody, s.getCallback},
		{"GET", sharedPath + ":plugin/callback/:kind/:store/", platformKey, LimitCallbacks, noBody, s.getCallback},
		{"GET", "/channel/api/v1/:platform/callback/:kind/", platformKey, LimitCallbacks, noBody, s.getCallback},
		{"GET", "/channel/api/v1/:platform/callback/:kind/:store/", platformKey, LimitCallbacks, noBody, s.getCallback},
		{"POST", sharedPath + ":plugin/callback/:kind/", platformKey, LimitCallbacks, callbacks,
			s.postCallback},
		{"POST", "/channel/api/v1/:platform/callback/:kind/", platformKey, LimitCallbacks, callbacks, s.postCallback},
	}
}

// channelRoutes are those of ordering channels.
func (s *Server) channelRoutes() []route {
	return []route{
		{"POST", postOrderPath, core.ScopeChannel, LimitOrders, orders, s.postOrder},
		{"GET", "/channel/api/v1/orders/:id/", core.ScopeChannel, LimitOrders, noBody, s.getOrder},
		{"PUT", "/channel/api/v1/orders/:id/status/", core.ScopeChannel, LimitOrders, small, s.putChannelOrderStatus},
		{"GET", "/channel/api/v1/stores/", anyScope, LimitRead, noBody, s.listChannelStores},
		{"GET", "/channel/api/v1/stores/:ref_id/menu/", anyScope, LimitRead, noBody, s.getEffectiveMenu},
		{"GET", "/channel/api/v1/stores/:ref_id/deliverable/", anyScope, LimitRead, noBody, s.getDeliverable},
		{"GET", "/channel/api/v1/deliverable/", anyScope, LimitRead, noBody, s.listDeliverableStores},
	}
}

// fixedPaths are paths that other methods would match with a path parameter.
var fixedPaths = []string{"/external/api/v1/webhooks/bulk/", "/external/api/v1/webhooks/retry/",
	"/external/api/v1/deliveries/retry/"}

// dryRuns are the paths that support ?dry_run=true.
var dryRuns = []string{"/external/api/v1/inventory/locations/:location_ref_id/", "/external/api/v1/deliveries/retry/"}

// checkDryRun rejects dry_run for a call that does not support it, because the call would make the change.
func (r route) checkDryRun(c *fiber.Ctx) error {
	if r.method == fiber.MethodGet || !c.Context().QueryArgs().Has("dry_run") {
		return nil
	}
	var v core.Violations
	switch value := c.Query("dry_run"); {
	case value != "true" && value != "false":
		addUnlisted(c, "dry_run", []string{"true", "false"}, &v)
	case value == "true" && !slices.Contains(dryRuns, r.path):
		v.AddBody("dry_run", "unknown", "is not supported by this call")
	}
	return v.Err()
}

// mount registers the routes.
func (s *Server) mount() {
	for _, r := range s.routes() {
		if s.SystemOnly && r.scope != "" {
			continue
		}
		r.body.Bytes = min(r.body.Bytes, s.MaxBody)
		s.App.Add(r.method, r.path, s.guard(r))
		if r.scope == "" { // probes and monitors of URLs often send HEAD
			s.App.Head(r.path, s.guard(r))
		}
		if slices.Contains(fixedPaths, r.path) {
			s.App.All(r.path, func(c *fiber.Ctx) error {
				c.Set(fiber.HeaderAllow, r.method)
				return fiber.ErrMethodNotAllowed
			})
		}
	}
}

// guard authenticates, checks the scope and the query parameters, throttles, and then reads the body. A request that
// fails authentication or a check is not throttled, and its body is not read.
func (s *Server) guard(r route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if r.scope == platformKey {
			if err := s.throttleAddress(c, r.limit); err != nil {
				return err
			}
		}
		if r.scope == "" || r.scope == platformKey { // postCallback authenticates and throttles itself
			return s.receive(c, r, core.Caller{})
		}
		c.Locals(localWaiting, true)
		caller, err := s.authenticate(c, r)
		if err != nil {
			return err
		}
		inbound.MarkAuthenticated(c.Context().Conn())
		c.Locals(localBusiness, caller.Business)
		// A rejected but authenticated client receives the response even if it sends a large body first.
		c.Locals(localUnread, max(maxUnread, r.body.Bytes))
		if err := s.admit(c, r, caller); err != nil {
			if r.isPostOrder() {
				return cmp.Or(s.checkKey(c), err)
			}
			return err
		}
		err = countRequest(c, caller.Business)
		if err == nil {
			err = s.throttle(c, caller.Business, r.limit, "")
		}
		if err != nil {
			if r.isPostOrder() {
				return s.refuseOrder(c, caller, nil, err)
			}
			return err
		}
		return s.receive(c, r, caller)
	}
}

// countRequest returns an error if too many requests of a business are in progress. Otherwise it counts this one.
func countRequest(c *fiber.Ctx, business core.BusinessID) error {
	if most := inbound.CountRequest(c.Context().Conn(), int64(business)); most > 0 {
		return &core.Error{Code: core.Throttled, RetryAfter: time.Second,
			Message: fmt.Sprintf("%d requests of this business are in progress, as many as this server accepts", most)}
	}
	return nil
}

// admit checks the scope and the query parameters.
func (s *Server) admit(c *fiber.Ctx, r route, caller core.Caller) error {
	if r.scope != anyScope && caller.Scope != r.scope {
		return core.Errorf(core.Forbidden, "this API key has the scope %s, and this call requires %s", caller.Scope,
			r.scope)
	}
	if err := r.checkDryRun(c); err != nil {
		return err
	}
	return r.checkWait(c)
}

// authenticate returns the caller of a request. The caller of postOrder may come from the cache, because the statement
// that stores the order checks the key.
func (s *Server) authenticate(c *fiber.Ctx, r route) (core.Caller, error) {
	if r.isPostOrder() {
		return s.Authenticator.Recognize(c.UserContext(), c.Get(fiber.HeaderAuthorization))
	}
	return s.Authenticator.Authenticate(c.UserContext(), c.Get(fiber.HeaderAuthorization))
}

// checkKey returns the error of the key of a rejected order if the key no longer works. Possibly no statement has
// checked the cached key. A key that cannot be read counts as working, so that the rejection is recorded.
func (s *Server) checkKey(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), recordTimeout)
	defer cancel()
	_, err := s.Authenticator.Authenticate(ctx, c.Get(fiber.HeaderAuthorization))
	if code := core.CodeOf(err); code == core.Unauthenticated || code == core.Forbidden {
		return err
	}
	return nil
}

// describeNotFound adds the path parameter to a NotFound error without violations.
func describeNotFound(c *fiber.Ctx, err error) error {
	var known *core.Error
	parameters := c.Route().Params
	if len(parameters) != 1 || !errors.As(err, &known) || known.Code != core.NotFound || known.Violations != nil {
		return err
	}
	return core.NoSuch(parameters[0], fmt.Sprintf("%.255q", pathParam(c, parameters[0])), known.Message)
}
