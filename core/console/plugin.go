package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Plugin is a plugin as the hubs tell of it.
type Plugin struct {
	ID        string
	Enabled   bool
	Version   string // that runs, else that was tried last; "" before the first start
	Digest    string // SHA-256 of the program that runs
	Installed string // version in the directory of plugins; "" where this hub has none
	State     string // pluginhost.State; "" before the first start
	Since     time.Time
	Starts    int
	ToldAt    time.Time // when a hub last told of a change
	Health    string    // what is wrong with it while it is degraded
	Faults    []PluginFault
	Log       []string // its last lines, the oldest first
	Hubs      []PluginHub
	About     PluginAbout
	Serves    []Served
	Findings  int // of items at the platforms that it serves
}

// PluginFault is something that went wrong with a plugin, in plain words.
type PluginFault struct {
	At    time.Time
	Text  string
	Ended bool // its process ended by it, or did not begin
}

// PluginHub is a plugin in one of the hubs.
type PluginHub struct {
	Plugin   string
	Hub      core.ID
	At       time.Time // when it was told
	Version  string
	State    string
	InFlight int
	Memory   int64 // bytes
	Calls    []PluginCall
	Renderer string // tells apart what renders menus there; told, not read
}

// PluginCall is how calls of one kind fared since their hub was started.
type PluginCall struct {
	Name    string        `json:"name"` // such as Menu.CheckItems
	Count   int64         `json:"count"`
	Failed  int64         `json:"failed"`
	Took    time.Duration `json:"took"` // of all together
	Slowest time.Duration `json:"slowest"`
}

// Add adds the same kind of call of another hub.
func (c *PluginCall) Add(other PluginCall) {
	c.Count, c.Failed, c.Took, c.Slowest = c.Count+other.Count, c.Failed+other.Failed, c.Took+other.Took, max(c.Slowest, other.Slowest)
}

// PluginAbout is what a plugin says of itself.
type PluginAbout struct {
	Name         string
	Capabilities []string
	Actions      []string
	Groups       []string // of key-value data
	Inbound      []PluginInbound
	Schema       []byte // JSON Schema of the settings of its platforms
	Endpoints    []PluginEndpoint
	Secrets      []PluginSecret
}

// PluginEndpoint is an address of the aggregator: its name, and the hosts at
// which the manifest allows it to be.
type PluginEndpoint struct {
	Name, Description string
	Hosts             []string
}

// PluginInbound is a kind of request of the aggregator that a plugin reads, and how
// each shows that it is genuine: by a header, made of a secret of the platform.
type PluginInbound struct{ Kind, Header, Secret string }

// PluginSecret is a secret that a plugin needs of each platform.
type PluginSecret struct{ Name, Description string }

// Served is a platform of a business that a plugin serves.
type Served struct {
	Business core.BusinessID
	Name     string // of the business
	Platform string
}

// PluginWish is what an operator wants of a plugin.
type PluginWish string

// The wishes. Upgrade is to run the version that is installed now; hubs that run
// it already do nothing.
const (
	EnablePlugin  PluginWish = "enable"
	DisablePlugin PluginWish = "disable"
	RestartPlugin PluginWish = "restart"
	UpgradePlugin PluginWish = "upgrade"
)
