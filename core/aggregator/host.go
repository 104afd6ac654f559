// Package aggregator connects plugins to the capabilities: it checks menus, renders and publishes them, plans relays
// and actions, and translates orders. Plugins contain the rule sets of aggregators.
package aggregator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

const (
	// ReadyTimeout is how long a hub waits for its plugins at startup.
	ReadyTimeout  = 5 * time.Second
	applyInterval = 5 * time.Second  // how often it looks at the plugins that are installed and running here
	readInterval  = 30 * time.Second // how often it reads the desired states, in case a notification was lost
	peerInterval  = 10 * time.Second // the same while other replicas may have a plugin that cannot be called here
)

// Config configures a Host. Tracer, Watcher and Hidden are optional.
type Config struct {
	Dir          string   // of the plugins, one directory each
	Hidden       []string // directories that plugins cannot see
	NoIsolation  bool     // plugins run without namespaces, for tests
	Registry     Registry
	Reports      Reports
	Platforms    Platforms
	Availability Availability
	Observer     pluginhost.Observer
	Clock        core.Clock
	Watcher      pluginhost.Watcher
	Tracer       *core.Tracer
	Log          *slog.Logger
}

// Host runs the plugins of a hub: those that are installed here and enabled in the registry.
type Host struct {
	*pluginhost.Host
	config    Config
	counts    *callCounts
	journal   *faultJournal
	stored    storedPlugins
	unchanged []string          // plugins with a stored description and an unchanged program
	desired   map[string]Plugin // as last read
	reported  map[string]string

	installed  []string      // as last added to the registry
	absent     bool          // an enabled plugin is not installed here
	readAt     time.Time     // when the desired states were last read; zero: they may have changed
	woken      chan struct{} // buffered, one element
	recordedAt time.Time     // when this worker last recorded its plugins

	mu           sync.Mutex
	lastSeen     map[string]time.Time // when a worker last had the plugin, by the database
	lastRecorded map[string]time.Time // when this worker last recorded it
	inspecting   map[string]int       // running, by plugin
	validated    map[string]string    // the manifest that platforms' settings were last checked against, by plugin
	validating   map[string]bool      // running, by plugin
	validations  sync.WaitGroup
}

// Open starts the plugins. It waits briefly for those that no hub knows yet, because the hub needs their
// descriptions. A failing plugin does not prevent the hub's start.
func Open(ctx context.Context, config Config) (*Host, error) {
	h := &Host{
		config: config, counts: newCallCounts(config.Observer, config.Clock.Now()),
		desired: map[string]Plugin{}, reported: map[string]string{}, validated: map[string]string{},
		validating: map[string]bool{},
		stored:     storedPlugins{descriptions: map[string]storedDescription{}, ignored: map[string]string{}},
		lastSeen:   map[string]time.Time{}, lastRecorded: map[string]time.Time{},
		inspecting: map[string]int{}, woken: make(chan struct{}, 1),
		journal: &faultJournal{reports: config.Reports, counts: map[faultCause]FaultCount{}},
	}
	h.counts.entered = h.Wake
	var err error
	h.Host, err = pluginhost.Open(pluginhost.Config{Dir: config.Dir, Hidden: config.Hidden,
		NoIsolation: config.NoIsolation, Clock: config.Clock, Observer: h.counts, Journal: h.journal,
		Watcher: config.Watcher, Tracer: config.Tracer, Log: config.Log, Keep: h.keepValues})
	if err != nil {
		return nil, err
	}
	if err := h.applyDesired(ctx); err != nil {
		h.Host.Close()
		return nil, err
	}
	h.loadUnchanged()
	if !slices.ContainsFunc(h.Status(), h.isNew) {
		return h, nil // Run reports their states
	}
	h.awaitReady(ctx, ReadyTimeout)
	if err := errors.Join(h.reportStatus(ctx), h.reportCounts(ctx, config.Clock.Now())); err != nil {
		config.Log.Warn("recording plugin status failed", "error", err)
	}
	return h, nil
}

// closeTimeout bounds the last report of a hub.
const closeTimeout = 2 * time.Second

// Close stops every plugin after its running calls. It then reports the last faults, and that the hub has stopped.
func (h *Host) Close() {
	h.Host.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := errors.Join(h.journal.flush(ctx), h.config.Reports.RemoveHub(ctx, h.counts.hubID))
	if err != nil {
		h.config.Log.Warn("reporting the end of the plugins failed", "error", err)
	}
}

// Serves reports whether a plugin can be called at once, here or at another replica (relay.Plugins).
func (h *Host) Serves(id string) bool { return h.Plugin(id).Serves() || h.servedByPeer(id) != nil }

// Dir returns the directory of the plugins.
func (h *Host) Dir() string { return h.config.Dir }

// isNew reports whether a plugin's current description is unknown.
func (h *Host) isNew(s pluginhost.Status) bool { return !slices.Contains(h.unchanged, s.ID) }

// awaitReady waits until every new plugin is ready or has a fault.
func (h *Host) awaitReady(ctx context.Context, within time.Duration) {
	awaitSettled(ctx, h.Host, within, h.isNew)
}

// AwaitSettled waits until every plugin of a host is ready or has a fault.
func AwaitSettled(ctx context.Context, host *pluginhost.Host, within time.Duration) {
	awaitSettled(ctx, host, within, func(pluginhost.Status) bool { return true })
}

func awaitSettled(ctx context.Context, host *pluginhost.Host, within time.Duration,
	counts func(pluginhost.Status) bool) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	unsettled := func(s pluginhost.Status) bool { return counts(s) && s.Description == nil && len(s.Faults) == 0 }
	for slices.ContainsFunc(host.Status(), unsettled) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// applyDesired starts and stops plugins according to their desired states.
func (h *Host) applyDesired(ctx context.Context) error {
	installed, err := pluginhost.Installed(h.config.Dir)
	if err != nil {
		return err
	}
	if h.installed == nil || !slices.Equal(installed, h.installed) {
		if err := h.config.Registry.Add(ctx, installed); err != nil {
			return err
		}
		h.installed, h.readAt = append([]string{}, installed...), time.Time{}
	}
	if !h.mustRead() {
		return nil
	}
	list, err := h.config.Registry.List(ctx)
	if err != nil {
		return err
	}
	h.readAt = time.Now()
	h.absent = slices.ContainsFunc(list, func(p Plugin) bool { return p.Enabled && !slices.Contains(installed, p.ID) })
	removed := func(id string) bool { return !slices.ContainsFunc(list, func(p Plugin) bool { return p.ID == id }) }
	for _, s := range h.Status() {
		if removed(s.ID) && s.State != pluginhost.Stopped { // even if its files were deleted before
			h.Stop(s.ID)
		}
	}
	maps.DeleteFunc(h.desired, func(id string, _ Plugin) bool { return removed(id) })
	for _, p := range list {
		h.recordHeartbeat(p.ID, p.ServedAt)
		before, seen := h.desired[p.ID]
		h.desired[p.ID] = p
		present := slices.Contains(installed, p.ID)
		switch {
		case seen && before.Revision == p.Revision && before.Enabled == p.Enabled:
		case seen && before.Restarts != p.Restarts && p.Enabled && present:
			h.Stop(p.ID)
			h.Start(p.ID)
		case p.Enabled && present:
			h.Start(p.ID)
		case !p.Enabled:
			h.Stop(p.ID)
		}
		if !present {
			delete(h.desired, p.ID) // it may be installed later
		}
		aside, err := p.RequestsSetAside()
		if err != nil {
			return err
		}
		h.UpdateSetAside(p.ID, aside)
	}
	return h.stored.update(list)
}

// loadUnchanged finds the plugins whose program is the one that an earlier hub reported.
func (h *Host) loadUnchanged() {
	for id, p := range h.desired {
		var report StatusReport
		if h.stored.description(id) != nil && json.Unmarshal([]byte(p.Status), &report) == nil && report.Digest != "" &&
			report.Digest == pluginhost.Digest(h.config.Dir, id) {
			h.unchanged = append(h.unchanged, id)
		}
	}
}

// description returns a plugin's description, current or stored, or nil if there is none yet.
func (h *Host) description(id string) *sdk.Description {
	if about := h.Plugin(id).Description(); about != nil {
		return about
	}
	return h.stored.description(id)
}

// encodeDescription returns a plugin's description in deterministic encoding, or nil if it is unknown.
func encodeDescription(s pluginhost.Status) ([]byte, error) {
	if s.Description == nil {
		return nil, nil
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(s.Description)
}

// rendererID identifies the renderer of a plugin's menus: its manifest, its description, and the hub's version of the
// rendering. It is "" if the plugin does not run.
func rendererID(s pluginhost.Status, about []byte) string {
	if s.Manifest == "" || about == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d %s %s", menu.RenderVersion, s.Manifest, about)))
}

// reportStatus records the states of plugins that have changed. It also records a renderer whose menus are not
// published yet.
func (h *Host) reportStatus(ctx context.Context) error {
	for _, s := range h.Status() {
		about, err := encodeDescription(s)
		if err != nil {
			return err
		}
		s.InFlight, s.Memory = 0, 0
		report := StatusReport{s, h.counts.hubID, rendererID(s, about), h.Logs(s.ID)}
		text, err := json.Marshal(report)
		settled := s.State != pluginhost.Ready || h.desired[s.ID].Renderer == report.Renderer
		if err != nil || settled && h.reported[s.ID] == string(text) {
			continue
		}
		if err := h.config.Reports.ReportStatus(ctx, h.counts.hubID, s.ID, string(text), about); err != nil {
			return err
		}
		h.reported[s.ID] = string(text)
		h.readAt = time.Time{} // it may have changed the renderer
	}
	return nil
}

// Run applies desired states and reports states until the context ends. A worker also records its plugins.
func (h *Host) Run(ctx context.Context, worker bool) {
	defer h.validations.Wait()
	look := time.NewTicker(applyInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.woken:
			h.readAt = time.Time{}
		case <-look.C:
		}
		if err := h.refresh(ctx, worker); err != nil && ctx.Err() == nil {
			h.config.Log.Warn("plugin maintenance failed", "error", err)
		}
	}
}

// Refresh reads and applies the desired states once, checks settings and reports. Only tests call it. Calls must not
// overlap each other or Run.
func (h *Host) Refresh(ctx context.Context, worker bool) error {
	h.readAt = time.Time{}
	err := h.refresh(ctx, worker)
	h.validations.Wait()
	return errors.Join(err, h.report(ctx))
}

// refresh applies the desired states, begins to check settings and reports. It reads the states only if they may have
// changed, or at an interval.
func (h *Host) refresh(ctx context.Context, worker bool) error {
	if err := h.applyDesired(ctx); err != nil {
		return err
	}
	h.validateSettings(ctx)
	if err := h.report(ctx); err != nil || !worker {
		return err
	}
	return h.recordServing(ctx)
}

// report reports states, counts and logs that have changed.
func (h *Host) report(ctx context.Context) error {
	return errors.Join(h.reportStatus(ctx), h.reportCounts(ctx, h.config.Clock.Now()), h.journal.flush(ctx))
}

// platformsWith returns a business's platforms whose plugins have a capability.
func (h *Host) platformsWith(ctx context.Context, business core.BusinessID,
	capability string) ([]core.Platform, error) {
	platforms, err := h.config.Platforms.Served(ctx, business)
	return slices.DeleteFunc(platforms, func(p core.Platform) bool {
		return p.ServedBy == core.ServedByMerchant || !h.hasCapability(p.ServedBy, capability)
	}), err
}
