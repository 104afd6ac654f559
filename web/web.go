// Package web is the HTTP API: one table of routes and guards, one error table, and thin handlers.
package web

import (
	"context"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/callback"
	"github.com/servery-hub/servery/core/checklist"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/toggle"
	"github.com/servery-hub/servery/core/webhook"
)

// Authenticator authenticates callers.
type Authenticator interface {
	Authenticate(ctx context.Context, authorization string) (core.Caller, error)
	// Recognize may use a cached key. The statement that acts for the caller checks the Credential.
	Recognize(ctx context.Context, authorization string) (core.Caller, error)
}

// Throttle counts requests against rate limits.
type Throttle interface {
	Take(ctx context.Context, business core.BusinessID, name string, rule limit.Rule) (limit.Decision, error)
}

// Jobs queues jobs and returns their state. A job is durable when Enqueue returns.
type Jobs interface {
	Enqueue(ctx context.Context, job core.Job, requestID string) error
	Status(ctx context.Context, business core.BusinessID, reference core.ID) (job.Status, error)
}

// Stores reads stores.
type Stores interface {
	Get(ctx context.Context, business core.BusinessID, refID string) (store.Stored, error)
	Page(ctx context.Context, business core.BusinessID, after string, limit int) (store.Page, error)
}

// Menus reads menus and their revisions.
type Menus interface {
	ResolveLocation(ctx context.Context, business core.BusinessID, location string) (core.Business, menu.Scope, error)
	// UseMenu calls use with a menu. A large one is in memory until use returns, so that use must also encode what it
	// responds.
	UseMenu(ctx context.Context, business core.BusinessID, store int64, use func(menu.Menu) error) error
	Versions(ctx context.Context, business core.BusinessID, storeRef, platform string) (menu.Versions, error)
	Timings(ctx context.Context, business core.BusinessID) (menu.Timings, error)
	TimingGroups(ctx context.Context, business core.BusinessID) ([]menu.TimingGroup, error)
	Revisions(ctx context.Context, business core.BusinessID, filter menu.RevisionFilter) ([]menu.Revision, error)
	Revision(ctx context.Context, business core.BusinessID, id core.ID) (menu.Revision, error)
	Differences(ctx context.Context, business core.BusinessID, id core.ID, offset, limit int) ([]menu.Difference, error)
	ItemAsOf(ctx context.Context, business core.BusinessID, past menu.PastItem) (menu.ItemAsOf, error)
}

// Businesses reads businesses.
type Businesses interface {
	Business(ctx context.Context, id core.BusinessID) (core.Business, error)
}

// Platforms reads the names and aliases of platforms.
type Platforms interface {
	Names(ctx context.Context, business core.BusinessID) (core.PlatformNames, error)
}

// ChannelStoreView returns stores as channels see them.
type ChannelStoreView interface {
	List(ctx context.Context, business core.BusinessID, query store.Query) (store.EffectivePage, error)
	Deliverable(ctx context.Context, business core.BusinessID, refID, zip, platform string) (deliverable,
		byZipCodes bool, err error)
}

// Orders reads and changes orders.
type Orders interface {
	Get(ctx context.Context, business core.BusinessID, platform string, id int64) (order.Record, error)
	List(ctx context.Context, business core.BusinessID, filter order.Filter) ([]order.Summary, order.Cursor, error)
	Change(ctx context.Context, business core.BusinessID, id int64, change order.Change) (from order.State, err error)
	RecordRejected(ctx context.Context, rejected order.Rejection) error
	SetReference(ctx context.Context, business core.BusinessID, id int64, reference string) error
	// Report returns the id of the order and the reference of the report. If an earlier report with the same content
	// has not failed, it returns the reference of that one.
	Report(ctx context.Context, business core.BusinessID, reference core.ID, report order.OutOfStockReport) (id int64,
		known core.ID, err error)
}

// Riders stores statuses and locations of riders. They are durable when the methods return.
type Riders interface {
	Update(ctx context.Context, update order.RiderUpdate) (changed bool, err error)
	UpdateLocation(ctx context.Context, location order.RiderLocation) error
}

// ActionDesk accepts feature actions. An action is durable when Submit returns.
type ActionDesk interface {
	Submit(ctx context.Context, business core.BusinessID, platform, actor string, r action.Request) (core.ID, error)
}

// Actions reads feature actions.
type Actions interface {
	Get(ctx context.Context, business core.BusinessID, reference core.ID) (action.Record, error)
}

// Callers authenticates callbacks of platforms, and refuses those with a repeated nonce.
type Callers interface {
	Authenticate(ctx context.Context, callback relay.InboundCallback) (relay.Caller, error)
	Claim(ctx context.Context, caller relay.Caller) error
	End(ctx context.Context, caller relay.Caller, accepted bool) error
}

// Toggles opens and closes stores, and enables and disables items. When a method returns, the hub's state has changed
// and the calls to platforms are queued.
type Toggles interface {
	SwitchStore(ctx context.Context, business core.BusinessID, r toggle.StoreRequest, reference core.ID,
		actor string) (toggle.Accepted, error)
	SetWorkload(ctx context.Context, business core.BusinessID, r toggle.StoreRequest, reference core.ID,
		actor string) (toggle.Accepted, error)
	SwitchItems(ctx context.Context, business core.BusinessID, r toggle.ItemRequest, reference core.ID,
		actor string) (toggle.Accepted, error)
	Status(ctx context.Context, business core.BusinessID, reference core.ID) (toggle.Status, error)
}

// Publications reads and requests publications of menus.
type Publications interface {
	Request(ctx context.Context, business core.BusinessID, storeRef string, platforms []string,
		reference core.ID) (n int, err error)
	List(ctx context.Context, business core.BusinessID, f publish.Filter) ([]publish.Publication, error)
}

// Fetches stores requests of aggregators with only a link. A request is durable when Add returns.
type Fetches interface {
	Add(ctx context.Context, in relay.InboundRequest, platformOrderID string) error
}

// Subscriptions changes webhook subscriptions.
type Subscriptions interface {
	Create(ctx context.Context, business core.BusinessID, actor string, input webhook.Input) (webhook.Created, error)
	CreateAll(ctx context.Context, business core.BusinessID, actor string, inputs []webhook.Input) ([]webhook.Created,
		error)
	Update(ctx context.Context, business core.BusinessID, actor string, id int64, input webhook.Input) error
	Rotate(ctx context.Context, business core.BusinessID, id int64, actor, why string) (webhook.Subscription, error)
	CheckURL(field, address string) error
}

// SubscriptionRecords reads webhook subscriptions.
type SubscriptionRecords interface {
	Get(ctx context.Context, business core.BusinessID, id int64) (webhook.Subscription, error)
	List(ctx context.Context, business core.BusinessID, limit, offset int) ([]webhook.Subscription, int, error)
}

// Deliveries reads and resends deliveries.
type Deliveries interface {
	List(ctx context.Context, business core.BusinessID, filter webhook.Filter) ([]webhook.DeliveryRecord, error)
	Get(ctx context.Context, business core.BusinessID, id core.ID) (webhook.DeliveryRecord, []webhook.AttemptRecord,
		error)
	Retry(ctx context.Context, business core.BusinessID, id core.ID) error
	Count(ctx context.Context, business core.BusinessID, selector webhook.Selector) (int, error)
}

// Checklist reads the facts of the integration checklist.
type Checklist interface {
	Facts(ctx context.Context, business core.BusinessID) (checklist.Facts, error)
}

// Tester sends test events.
type Tester interface {
	Test(ctx context.Context, business core.BusinessID, webhookID int64) (reference core.ID, err error)
}

// Observer receives every response, for metrics.
type Observer interface {
	RequestHandled(route, method string, status int, took time.Duration)
	CallbackUnverified()
	CallbackUnrouted()
}

// Config configures a Server. All fields are required except Tracer, CORSOrigins and BaseURL.
type Config struct {
	SystemOnly          bool          // only probes and metrics, on a replica without the role api
	MaxBody             int           // in bytes, on every route
	CORSOrigins         []string      // of web pages that may call the API; see AnyOrigin
	HeaderTimeout       time.Duration // for the header of a request
	IdleTimeout         time.Duration // between two requests on a connection
	Memory              *limit.Memory
	Limits              map[Limit]limit.Rule
	Authenticator       Authenticator
	Throttle            Throttle
	Addresses           limit.Throttle // counts by address, for clients that are not authenticated yet
	Proxies             []netip.Prefix // whose X-Forwarded-For is trusted
	BaseURL             string         // public URL of the hub; "": taken from each request
	Businesses          Businesses
	Platforms           Platforms
	Jobs                Jobs
	Waits               Waits
	Stores              Stores
	Menus               Menus
	IngestPolicy        menu.IngestPolicy
	ChannelStores       ChannelStoreView
	Orders              Orders
	Riders              Riders
	ActionDesk          ActionDesk
	Actions             Actions
	Callers             Callers
	Callbacks           relay.Reader
	Fetches             Fetches
	Desk                callback.Desk
	MenuServer          MenuServer
	Publications        Publications
	Toggles             Toggles
	Subscriptions       Subscriptions
	SubscriptionRecords SubscriptionRecords
	Deliveries          Deliveries
	Presence            Presence
	Checklist           Checklist
	Tester              Tester
	Ready               func(ctx context.Context) error
	Observer            Observer
	Tracer              *core.Tracer // nil: none
	Clock               core.Clock
	Log                 *slog.Logger
}

// Limit is the name of a rate limit. The variable SERVERY_LIMIT_NAME sets it.
type Limit string

// The rate limits of the API.
const (
	LimitStores       Limit = "STORES"
	LimitMenu         Limit = "MENU"
	LimitWebhooks     Limit = "WEBHOOKS"
	LimitRetry        Limit = "RETRY"
	LimitOrders       Limit = "ORDERS"
	LimitOrderUpdates Limit = "ORDER_UPDATES"
	LimitSwitches     Limit = "SWITCHES"
	LimitCallbacks    Limit = "CALLBACKS" // of each platform of a business, and of each address (see throttleAddress)
	LimitRead         Limit = "READ"
	LimitOperations   Limit = "OPERATIONS"
	LimitRider        Limit = "RIDER"
	LimitLocation     Limit = "LOCATION"
	LimitActions      Limit = "ACTIONS"
)

// handlerDeadline bounds the handling of one request, including waits for the database.
const handlerDeadline = 20 * time.Second

// Server is the HTTP server of the API.
type Server struct {
	Config
	App        *fiber.App
	draining   atomic.Bool
	rejections limit.Throttle // of log lines about rejected callbacks
}

// New returns a server. App.Listener serves it.
func New(config Config) *Server {
	s := &Server{Config: config, rejections: limit.Throttle{States: &limit.LocalStates{}, Clock: config.Clock}}
	s.App = fiber.New(fiber.Config{
		AppName: "Servery",
		// receive limits bodies: fasthttp would read past the end of one that is too large
		BodyLimit:                    math.MaxInt,
		CaseSensitive:                true,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true,
		ErrorHandler:                 s.respondError,
		IdleTimeout:                  config.IdleTimeout,
		ReadTimeout:                  config.HeaderTimeout, // headerReceived replaces it after the header
		ReadBufferSize:               16 << 10,
		RequestMethods:               append(slices.Clone(fiber.DefaultMethods), otherMethod),
		StreamRequestBody:            true,
	})
	s.wrapHandler()
	s.App.Server().HeaderReceived = s.headerReceived
	s.App.Server().ConnState = connStateChanged
	s.App.Use(s.identify, s.observe, s.allowOrigins, s.rejectWhileDraining, s.recoverPanic, s.reserveResponse,
		s.rejectMalformed)
	s.mount()
	return s
}

// Drain makes the server reject new requests with 503. Running requests continue.
func (s *Server) Drain() { s.draining.Store(true) }
