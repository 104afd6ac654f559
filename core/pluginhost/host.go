// Package pluginhost verifies, starts, supervises and calls plugins. Each plugin is a program that decides for one
// kind of aggregator (plugins/proto). Plugins are not trusted: the host checks their results and bounds their
// resources. A failing plugin does not affect the hub.
package pluginhost

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost/shim"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Observer receives the metrics of plugins.
type Observer interface {
	// PluginCalled reports a finished call, such as Menu.CheckItems. The outcome is ok, refused (invalid request),
	// absent, wrong (invalid result), down, late, failed, canceled or set_aside (not made).
	PluginCalled(plugin, call, outcome string, took time.Duration)
	// PluginEntered reports that a plugin has entered a state.
	PluginEntered(plugin string, state State)
}

// Keep stores the values that a result of a plugin keeps. If that fails, so does the call.
type Keep func(ctx context.Context, plugin string, s Subject, values []*sdk.KeptValue) error

// Config sets where plugins are and how they are supervised. Zero values take the defaults.
type Config struct {
	Dir          string        // one directory with a manifest for each plugin, which plugins cannot see
	TempDir      string        // os.TempDir(); must allow execution, and have a short path
	Hidden       []string      // other directories hidden from plugins, if the system supports that
	NoIsolation  bool          // plugins run without namespaces, as on a system that has none
	StartTimeout time.Duration // sdk.StartTimeout, from the process start until it is ready
	StartWait    time.Duration // 3 s, how long a call waits for a plugin that is starting
	Clock        core.Clock
	Observer     Observer
	Watcher      Watcher      // nil: none
	Journal      Journal      // nil: faults and requests that are set aside are only kept in memory
	Keep         Keep         // nil: values that results keep are not stored
	Tracer       *core.Tracer // nil: none
	Log          *slog.Logger
}

// A plugin is checked every healthInterval. Calls of a version that is replaced or stopped may take drainTimeout.
const (
	healthInterval = 3 * time.Second
	drainTimeout   = 30 * time.Second
)

func (c Config) withDefaults() Config {
	c.TempDir = cmp.Or(c.TempDir, os.TempDir())
	c.StartTimeout = cmp.Or(c.StartTimeout, sdk.StartTimeout)
	c.StartWait = cmp.Or(c.StartWait, 3*time.Second)
	return c
}

// Host supervises the plugins of one hub.
type Host struct {
	config          Config
	runtimeDir      *runtimeDir
	hidden          []string // absolute paths of directories hidden from plugins
	stop            context.CancelFunc
	running         context.Context
	supervisorsDone sync.WaitGroup
	warnOnce        sync.Once // plugins are not isolated

	mu          sync.Mutex
	supervisors map[string]*supervisor
}

// Open returns a host without plugins; see Start. It removes what a killed hub left behind, and hides this process's
// memory from the programs that it will start.
func Open(config Config) (*Host, error) {
	config = config.withDefaults()
	if err := shim.HideMemory(); err != nil {
		return nil, fmt.Errorf("hiding this process from plugins: %w", err)
	}
	runtimeDir, err := newRuntimeDir(config.TempDir)
	if err != nil {
		return nil, err
	}
	h := &Host{config: config, runtimeDir: runtimeDir, supervisors: map[string]*supervisor{}}
	// A plugin must not replace the manifest and the program of another. The programs that run are copies.
	for _, dir := range append([]string{runtimeDir.dir, config.Dir}, config.Hidden...) {
		if path, err := filepath.Abs(dir); err == nil { // the shim has another working directory
			h.hidden = append(h.hidden, path)
		}
	}
	h.running, h.stop = context.WithCancel(context.Background())
	return h, nil
}

// Start begins to supervise an installed plugin and returns at once. If the plugin was started before, Start ends its
// quarantine, or upgrades it to the installed version.
func (h *Host) Start(id string) {
	h.mu.Lock()
	present := h.supervisors[id]
	if present == nil {
		added := newSupervisor(h, id)
		h.supervisors[id] = added
		h.supervisorsDone.Go(func() { added.run(h.running) })
	}
	h.mu.Unlock()
	if present != nil {
		present.request(desiredState{run: true})
	}
}

// Stop stops a plugin after its running calls. Status still lists it.
func (h *Host) Stop(id string) {
	if k := h.supervisor(id); k != nil {
		k.request(desiredState{})
	}
}

// Upgrade starts the installed version and replaces the running one without losing a call. If none is running, it
// starts the plugin, even from quarantine. It returns when that is done. The error states why the version does not
// serve.
func (h *Host) Upgrade(ctx context.Context, id string) error {
	k := h.supervisor(id)
	if k == nil {
		return core.Errorf(core.NotFound, "there is no plugin %q", id)
	}
	done := make(chan error, 1)
	k.request(desiredState{run: true, result: done})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-h.running.Done():
		return core.Errorf(core.Unavailable, "the hub is stopping")
	}
}

// Close stops every plugin after its running calls, and returns when all have ended.
func (h *Host) Close() {
	h.stop()
	h.supervisorsDone.Wait()
	h.runtimeDir.close()
}

func (h *Host) supervisor(id string) *supervisor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.supervisors[id]
}

// Status returns the status of every plugin, sorted by id.
func (h *Host) Status() []Status {
	h.mu.Lock()
	list := slices.Collect(maps.Values(h.supervisors))
	h.mu.Unlock()
	statuses := make([]Status, 0, len(list))
	for _, k := range list {
		statuses = append(statuses, k.status())
	}
	slices.SortFunc(statuses, func(a, b Status) int { return strings.Compare(a.ID, b.ID) })
	return statuses
}

// Logs returns the last lines that a plugin logged, oldest first.
func (h *Host) Logs(id string) []string {
	if k := h.supervisor(id); k != nil {
		return k.log.lines()
	}
	return nil
}
