package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
)

// Plugin is a plugin as the hubs report it.
type Plugin struct {
	ID         string
	Enabled    bool
	Version    string // the running one, or else the last one tried; "" before the first start
	Digest     string // SHA-256 of the running program
	Installed  string // version in the directory of plugins; "" if this hub has none
	State      string // pluginhost.State; "" before the first start
	Since      time.Time
	Starts     int
	ReportedAt time.Time // when a hub last reported a change
	Health     string    // the problem while it is degraded
	Reason     string    // the problem in this state; "": none
	Faults     []PluginFault
	SetAside   int      // requests that it is not called with
	Log        []string // its last lines, oldest first
	Hubs       []PluginHub
	About      PluginAbout
	Serves     []Served
	Findings   int // for items, on the platforms that it serves
}

// PluginFault is a fault of a plugin, in plain words.
type PluginFault struct {
	At    time.Time
	Text  string
	Ended bool // the process ended or failed to start
}

// PluginFaults are the faults of a plugin that the database keeps, the latest first.
type PluginFaults struct {
	Causes   []PluginCause `json:"faults"`
	SetAside []SetAside    `json:"set_aside"`
}

// PluginCause is a cause of faults, with its latest fault.
type PluginCause struct {
	Kind     string          `json:"kind"` // pluginhost.FaultKind
	Call     string          `json:"call,omitzero"`
	Text     string          `json:"text"`
	Stack    string          `json:"stack,omitzero"`
	Ended    bool            `json:"ended"` // it ended the process
	Count    int64           `json:"count"`
	First    time.Time       `json:"first_at"`
	Last     time.Time       `json:"last_at"`
	Version  string          `json:"version"`
	Business core.BusinessID `json:"business,omitzero"` // 0: none, or several
	Platform string          `json:"platform,omitzero"`
	About    string          `json:"about,omitzero"` // such as order 12
}

// SetAside is a request that crashed a plugin twice. The plugin is not called with it again, until an operator retries
// it or another build runs.
type SetAside struct {
	ID       int64           `json:"id"`
	Call     string          `json:"call"` // such as Menu.Render
	Business core.BusinessID `json:"business"`
	Platform string          `json:"platform"`
	About    string          `json:"about"`
	Version  string          `json:"version"`
	Fault    string          `json:"fault"`
	At       time.Time       `json:"at"`
}

// PluginHub is a plugin in one of the hubs.
type PluginHub struct {
	Plugin   string       `json:"-"`
	Hub      core.ID      `json:"hub"`
	Version  string       `json:"version"`
	State    string       `json:"state"`
	Since    time.Time    `json:"since"`           // when it entered the state
	Reason   string       `json:"reason,omitzero"` // the problem in this state; "": none
	At       time.Time    `json:"reported_at"`
	Build    string       `json:"-"` // SHA-256 of the last manifest that was ready; "": none
	InFlight int          `json:"-"`
	Memory   int64        `json:"-"` // bytes
	Calls    []PluginCall `json:"-"`
	Renderer string       `json:"-"` // identifies the renderer of menus there; only reported
}

// PluginHubGroup is the hubs that run a plugin in the same version and state, for the same reason.
type PluginHubGroup struct {
	Version, State, Reason string
	Since                  time.Time // the earliest
	Hubs                   int
}

// GroupPluginHubs groups the hubs of a plugin by version, state and reason, sorted by these.
func GroupPluginHubs(hubs []PluginHub) (groups []PluginHubGroup) {
	for _, h := range hubs {
		n := slices.IndexFunc(groups, func(g PluginHubGroup) bool {
			return g.Version == h.Version && g.State == h.State && g.Reason == h.Reason
		})
		if n < 0 {
			n = len(groups)
			groups = append(groups, PluginHubGroup{h.Version, h.State, h.Reason, h.Since, 0})
		}
		groups[n].Hubs++
		if h.Since.Before(groups[n].Since) {
			groups[n].Since = h.Since
		}
	}
	slices.SortFunc(groups, func(a, b PluginHubGroup) int {
		return cmp.Or(strings.Compare(a.Version, b.Version), strings.Compare(a.State, b.State),
			strings.Compare(a.Reason, b.Reason))
	})
	return groups
}

// PluginCall is the statistics of one kind of call since the hub's start.
type PluginCall struct {
	Name      string        `json:"name"` // such as Menu.CheckItems
	Count     int64         `json:"count"`
	Failed    int64         `json:"failed"`
	TotalTime time.Duration `json:"took"` // total duration
	Slowest   time.Duration `json:"slowest"`
}

// Add adds the statistics of the same kind of call from another hub.
func (c *PluginCall) Add(other PluginCall) {
	c.Count, c.Failed, c.TotalTime, c.Slowest = c.Count+other.Count, c.Failed+other.Failed, c.TotalTime+other.TotalTime,
		max(c.Slowest, other.Slowest)
}

// PluginAbout is the manifest of a plugin.
type PluginAbout struct {
	Name         string
	Capabilities []string
	Actions      []action.Offer
	Groups       []string // of key-value data
	Inbound      []PluginInbound
	Schema       []byte // JSON Schema of the settings of its platforms
	Endpoints    []PluginEndpoint
	Secrets      []PluginSecret
	Tokens       []string // names of the credentials that are access tokens
	Logins       []string // those of them whose refresh token comes from a login at the aggregator
}

// PluginEndpoint is an endpoint of the aggregator: its name, and the hosts that the manifest allows for it.
type PluginEndpoint struct {
	Name, Description string
	Hosts             []string
}

// PluginInbound is a kind of aggregator request that a plugin handles. The proof says for people how the request is
// authenticated, by a secret of the platform or else by the key set of an endpoint.
type PluginInbound struct {
	Kind, Proof, Secret, Endpoint string
	Shared                        bool // also received at the shared URL of the plugin
}

// SharedInbound is the state of the shared URL of a plugin.
type SharedInbound struct {
	Secrets    []string // names of the installation's secrets
	RejectedAt time.Time
	Rejection  string // the reason
	Unrouted   int64  // authentic requests that named no store of one business
}

// PluginSecret is a secret that a plugin needs for each platform.
type PluginSecret struct{ Name, Description string }

// Served is a platform of a business that a plugin serves.
type Served struct {
	Business core.BusinessID
	Name     string // of the business
	Platform string
}

// PluginAction is the state that an operator requests for a plugin.
type PluginAction string

// The requests. Upgrade runs the installed version; hubs that already run it do nothing.
const (
	EnablePlugin  PluginAction = "enable"
	DisablePlugin PluginAction = "disable"
	RestartPlugin PluginAction = "restart"
	UpgradePlugin PluginAction = "upgrade"
)
