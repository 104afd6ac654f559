// Package pluginhost verifies, starts, supervises and calls plugins: programs
// that decide for one kind of aggregator each (plugins/proto). A plugin is not
// trusted: what it says is checked, what it takes is bounded, and whatever
// becomes of it, the hub goes on.
package pluginhost

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Observer is told what the plugins do, for metrics.
type Observer interface {
	// PluginCalled is told of an ended call, such as Menu.CheckItems. The outcome
	// is ok, refused (the question was wrong), absent, wrong (the answer was), down,
	// late, failed or canceled.
	PluginCalled(plugin, call, outcome string, took time.Duration)
	// PluginEntered is told that a plugin has entered a state.
	PluginEntered(plugin string, state State)
}

// Config says where plugins are and how they are looked after. Zero values take
// the defaults.
type Config struct {
	Dir         string        // one directory with a manifest for each plugin
	TempDir     string        // os.TempDir(); must allow programs to be run, and be short
	Hidden      []string      // directories that no plugin may see, where the system allows to hide them
	Plain       bool          // plugins get no namespaces of their own, as where the system allows none
	StartWithin time.Duration // sdk.StartWithin, from the start of the process until it is ready
	HealthEvery time.Duration // 3 s
	DrainWithin time.Duration // 30 s, for the calls under way in a version that is replaced or stopped
	Patience    time.Duration // 3 s, how long a call waits for a plugin that is being started
	Clock       core.Clock
	Observer    Observer
	Tracer      *core.Tracer // nil: none
	Log         *slog.Logger
}

func (c Config) withDefaults() Config {
	c.TempDir = cmp.Or(c.TempDir, os.TempDir())
	c.StartWithin = cmp.Or(c.StartWithin, sdk.StartWithin)
	c.HealthEvery = cmp.Or(c.HealthEvery, 3*time.Second)
	c.DrainWithin = cmp.Or(c.DrainWithin, 30*time.Second)
	c.Patience = cmp.Or(c.Patience, 3*time.Second)
	return c
}

// Host looks after the plugins of one hub.
type Host struct {
	config  Config
	den     *den
	stop    context.CancelFunc
	running context.Context
	keepers sync.WaitGroup
	warned  sync.Once // that plugins are not isolated

	mu      sync.Mutex
	keeping map[string]*keeper
}

// Open makes a host without plugins; see Start. It removes what a hub that was
// killed left behind, and hides this process's memory from the programs it will start.
func Open(config Config) (*Host, error) {
	config = config.withDefaults()
	if err := hide(); err != nil {
		return nil, fmt.Errorf("keeping this process from plugins: %w", err)
	}
	den, err := newDen(config.TempDir)
	if err != nil {
		return nil, err
	}
	h := &Host{config: config, den: den, keeping: map[string]*keeper{}}
	h.running, h.stop = context.WithCancel(context.Background())
	return h, nil
}

// Start begins to look after an installed plugin and returns at once. One that
// was started before is told to go on: it leaves quarantine, or looks for
// another version of itself.
func (h *Host) Start(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := h.keeping[id]; k != nil {
		k.want(wish{run: true})
		return
	}
	k := newKeeper(h, id)
	h.keeping[id] = k
	h.keepers.Add(1)
	go func() {
		defer h.keepers.Done()
		k.keep(h.running)
	}()
}

// Stop ends a plugin after its calls under way. It stays known, as stopped.
func (h *Host) Stop(id string) {
	if k := h.keeper(id); k != nil {
		k.want(wish{})
	}
}

// Upgrade starts the version that is installed now, and puts it in the place of
// the running one without a call being lost; where none is running it is started,
// out of quarantine too. It returns when that is done; an error says why the
// version does not serve.
func (h *Host) Upgrade(ctx context.Context, id string) error {
	k := h.keeper(id)
	if k == nil {
		return core.Errorf(core.NotFound, "there is no plugin %q", id)
	}
	done := make(chan error, 1)
	k.want(wish{run: true, upgraded: done})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-h.running.Done():
		return core.Errorf(core.Unavailable, "the hub is stopping")
	}
}

// Close ends every plugin after its calls under way, and returns when nothing is left.
func (h *Host) Close() {
	h.stop()
	h.keepers.Wait()
	h.den.close()
}

func (h *Host) keeper(id string) *keeper {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.keeping[id]
}

// Status tells how every plugin is, by id.
func (h *Host) Status() []Status {
	h.mu.Lock()
	keepers := slices.Collect(maps.Values(h.keeping))
	h.mu.Unlock()
	list := make([]Status, 0, len(keepers))
	for _, k := range keepers {
		list = append(list, k.status())
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Logs are the last lines that a plugin logged, oldest first.
func (h *Host) Logs(id string) []string {
	if k := h.keeper(id); k != nil {
		return k.log.lines()
	}
	return nil
}
