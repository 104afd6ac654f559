package aggregator

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// StoreFinder finds stores by the ids of platforms, or by ref_id.
type StoreFinder interface {
	StoreRef(ctx context.Context, business core.BusinessID, platform, platformStoreID string) (string, error)
	StoreID(ctx context.Context, business core.BusinessID, ref string) (int64, error)
}

// MenuServer responds to aggregators that fetch menus.
type MenuServer struct {
	host   *Host
	source MenuSource
	stores StoreFinder
	slots  *serveSlots
}

// The bounds of menus that are rendered for requests in one replica, and of the wait for them.
const (
	servedAtOnce = 2
	serveWait    = 2 * time.Second
)

// NewMenuServer returns a MenuServer.
func NewMenuServer(host *Host, source MenuSource, stores StoreFinder) MenuServer {
	return MenuServer{host, source, stores, newServeSlots()}
}

// menuStore returns the aggregator's id of the store in the URL of a request that fetches a menu, or "".
func menuStore(about *pb.Inbound, query map[string]string, path string) string {
	switch {
	case about.GetPurpose() != pb.InboundPurpose_INBOUND_PURPOSE_MENU:
		return ""
	case about.GetStoreQuery() != "":
		return order.CleanID(query[about.GetStoreQuery()])
	}
	return order.CleanID(path)
}

// ServeMenu returns the response to a request that fetches the menu of a store. The path is the part after the kind. It
// returns NotFound if the kind serves no menu, or the platform does not list the store.
func (m MenuServer) ServeMenu(ctx context.Context, in relay.InboundRequest, path string) (none relay.Reply, err error) {
	served, access, err := m.host.config.Platforms.Lookup(ctx, in.Business, in.Platform)
	if err != nil {
		return none, err
	}
	plugin := m.host.Plugin(served)
	about := m.host.inbound(plugin.ID(), in.Kind)
	id := menuStore(about, in.Query, path)
	if id == "" {
		return none, core.Errorf(core.NotFound, "the plugin of platform %s serves no menu at this URL", in.Platform)
	}
	ref, err := m.stores.StoreRef(ctx, in.Business, in.Platform, id)
	if err != nil {
		return none, err
	}
	store, err := m.stores.StoreID(ctx, in.Business, ref)
	if err != nil {
		return none, err
	}
	release, err := m.slots.acquire(ctx, plugin.ID())
	if err != nil {
		return none, err
	}
	defer release()
	s, err := m.source.Read(ctx, in.Business, store, in.Platform)
	if err != nil {
		return none, err
	}
	if !s.Listed {
		return none, core.Errorf(core.NotFound, "the platform does not list the store")
	}
	subject, err := m.host.withValues(ctx, pluginhost.Subject{Business: in.Business, Platform: in.Platform, Store: ref,
		Settings: access.Settings, Currency: s.Currency,
		About: fmt.Sprintf("the menu of store %q, which the aggregator fetches", ref)}, access)
	if err != nil {
		return none, err
	}
	return m.serve(ctx, plugin, subject, servedMenu{s, requestForPlugin(about, in)})
}

// servedMenu is the menu of a store, and the request that fetches it.
type servedMenu struct {
	StoreMenu
	request *sdk.InboundRequest
}

func (m MenuServer) serve(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject,
	s servedMenu) (none relay.Reply, err error) {
	request, err := menuForPlugin(menu.Effective(subject.Store, s.Menu, s.Platform, s.Menu.Blocked[subject.Platform]))
	if err != nil {
		return none, err
	}
	request.Store = storeForPlugin(s.StoreMenu)
	reply, err := plugin.ServeMenu(ctx, subject, &sdk.ServeRequest{Request: s.request, Menu: request})
	if err != nil {
		return none, m.host.withSettingsError(ctx, plugin, subject, err)
	}
	return *replyOf(reply), nil
}

// serveSlots bounds the menus that are rendered at once. A plugin holds at most one slot, so that a hanging plugin
// leaves the other to the menus of other plugins.
type serveSlots struct {
	all chan struct{}

	mu       sync.Mutex
	byPlugin map[string]chan struct{}
}

func newServeSlots() *serveSlots {
	return &serveSlots{all: make(chan struct{}, servedAtOnce), byPlugin: map[string]chan struct{}{}}
}

// ofPlugin returns the only slot of a plugin.
func (s *serveSlots) ofPlugin(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byPlugin[id] == nil {
		s.byPlugin[id] = make(chan struct{}, 1)
	}
	return s.byPlugin[id]
}

// acquire waits for a slot for a plugin, at most serveWait.
func (s *serveSlots) acquire(ctx context.Context, plugin string) (release func(), err error) {
	own, late := s.ofPlugin(plugin), time.After(serveWait)
	if err := takeSlot(ctx, own, late); err != nil {
		return nil, err
	}
	if err := takeSlot(ctx, s.all, late); err != nil {
		<-own
		return nil, err
	}
	return func() { <-s.all; <-own }, nil
}

func takeSlot(ctx context.Context, slots chan struct{}, late <-chan time.Time) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-late:
	case <-ctx.Done():
	}
	return cmp.Or(ctx.Err(), error(&core.Error{Code: core.Unavailable, RetryAfter: time.Second,
		Message: "the hub renders other menus now: fetch this one later"}))
}
