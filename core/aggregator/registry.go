package aggregator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
)

// Plugin is the state of a plugin that all hubs share.
type Plugin struct {
	ID          string
	Enabled     bool
	Revision    int64     // increases with each operator request
	Restarts    int64     // number of restarts that operators requested
	Description []byte    // the plugin's last description; nil if none yet
	Status      string    // JSON, from the hub that reported last; "" if none yet
	ReportedAt  time.Time // when Status was reported
	KnownAt     time.Time // when it was first seen
	ServedAt    time.Time // when a worker last reported having the plugin
	Renderer    string    // that last published all its platforms' menus; "" if several did, or unknown
	SetAside    []byte    // JSON: the requests that hubs do not call it with (pluginhost.Request)
}

// RequestsSetAside decodes the requests that hubs do not call the plugin with.
func (p Plugin) RequestsSetAside() (requests []pluginhost.Request, err error) {
	if len(p.SetAside) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(p.SetAside, &requests); err != nil {
		return nil, fmt.Errorf("reading the requests to plugin %s that are set aside: %w", p.ID, err)
	}
	return requests, nil
}

// Binding is a platform that a plugin serves, with its settings.
type Binding struct {
	Business core.BusinessID
	Platform string
	Settings []byte
	Currency string // of the business
}

// Registry stores which plugins exist, their desired states, and the platforms that they serve.
type Registry interface {
	// Add adds plugins. New ones are enabled.
	Add(ctx context.Context, ids []string) error
	// List returns every plugin.
	List(ctx context.Context) ([]Plugin, error)
	// InUse returns the platforms of all businesses that a plugin serves.
	InUse(ctx context.Context, id string) ([]Binding, error)
}

// Reports stores what hubs report about their plugins.
type Reports interface {
	// ReportStatus records a hub's status of a plugin, and its description if known.
	ReportStatus(ctx context.Context, hub core.ID, id, status string, description []byte) error
	// ReportCounts records the statistics of a hub's plugins.
	ReportCounts(ctx context.Context, list []console.PluginHub) error
	// RecordServing records that a worker has the plugins.
	RecordServing(ctx context.Context, ids []string, at time.Time) error
	// RemoveHub deletes the statistics of a hub that stops.
	RemoveHub(ctx context.Context, hub core.ID) error
	// RecordFaults adds faults to those of their causes.
	RecordFaults(ctx context.Context, list []FaultCount) error
	// SetAside stores a request that no hub may call a plugin with.
	SetAside(ctx context.Context, request pluginhost.SetAside) error
	// IsSetAside reports whether a request is set aside.
	IsSetAside(ctx context.Context, request pluginhost.Request) (bool, error)
}

// Availability reads what stores do not sell now.
type Availability interface {
	// Unavailable returns the ref_ids of the items and options of a platform that are unavailable at a store, sorted,
	// and at most limit of each.
	Unavailable(ctx context.Context, business core.BusinessID, store int64, platform string,
		limit int) (items, options []string, err error)
}

// Platforms reads the platforms of businesses.
type Platforms interface {
	// Lookup returns the plugin that serves a platform, and its settings.
	Lookup(ctx context.Context, business core.BusinessID, platform string) (string, relay.Access, error)
	// Served returns the platforms of a business.
	Served(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
	relay.Values
	// KeepValues stores values that a plugin keeps for a platform that it serves. It returns why it ignores some of
	// them.
	KeepValues(ctx context.Context, at PluginPlatform, list []relay.KeptValue) (ignored []string, err error)
}
