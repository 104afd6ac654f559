package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/pluginhost"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginFlags say where plugins are.
type pluginFlags struct {
	PluginDir string `name:"plugin-dir" env:"SERVERY_PLUGIN_DIR" help:"Directory of the plugins, one directory each; plugins beside the program unless it is set."`
}

// dir is the directory of the plugins.
func (f pluginFlags) dir() string {
	if f.PluginDir != "" {
		return f.PluginDir
	}
	program, err := os.Executable()
	if err != nil {
		return "plugins"
	}
	return filepath.Join(filepath.Dir(program), "plugins")
}

const (
	pluginsReadyWithin = 5 * time.Second // how long a hub waits for its plugins before it serves without them
	pluginsLookedAfter = 2 * time.Second // how often it looks for what operators want
)

// pluginHost runs the plugins of a hub: those that are installed here and that
// operators want, as the database says.
type pluginHost struct {
	*pluginhost.Host
	dir     string
	records postgres.Plugins
	places  postgres.Platforms
	metrics *pluginMetrics
	tally   *pluginTally
	clock   core.Clock
	log     *slog.Logger
	known   map[string]*sdk.Description // of earlier starts; not changed
	same    []string                    // those of known whose program is still the one that said so
	wanted  map[string]postgres.Plugin  // as it was last looked at
	told    map[string]string
	suited  map[string]string // the manifest that platforms' settings were last held against, by plugin
	saidAt  time.Time         // when this worker last said which plugins it has

	mu       sync.Mutex
	hadAt    map[string]time.Time // when a worker last had the plugin, as the database says
	hadHere  map[string]time.Time // when this one said so
	inspects map[string]int       // under way, by plugin
}

// openPlugins starts the plugins, and waits a moment for those that no hub knows yet:
// what they say of themselves is needed to begin with. Nothing that is wrong with a
// plugin keeps the hub from starting. Plugins do not see the hidden directories.
func openPlugins(ctx context.Context, dir string, db *postgres.DB, tracer *core.Tracer, log *slog.Logger, hidden ...string) (*pluginHost, error) {
	h := &pluginHost{
		dir: dir, records: postgres.Plugins{DB: db}, places: postgres.Platforms{DB: db}, metrics: newPluginMetrics(), clock: db.Clock(), log: log,
		known: map[string]*sdk.Description{}, wanted: map[string]postgres.Plugin{}, told: map[string]string{}, suited: map[string]string{},
		hadAt: map[string]time.Time{}, hadHere: map[string]time.Time{}, inspects: map[string]int{},
	}
	h.tally = newPluginTally(h.metrics, db.Clock().Now())
	var err error
	h.Host, err = pluginhost.Open(pluginhost.Config{Dir: dir, Hidden: hidden, Clock: db.Clock(), Observer: h.tally, Tracer: tracer, Log: log})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(h.follow(ctx), h.recall(ctx)); err != nil {
		h.Close()
		return nil, err
	}
	if !slices.ContainsFunc(h.Status(), h.isNew) {
		return h, nil // run tells how they are
	}
	h.await(ctx, pluginsReadyWithin)
	if err := errors.Join(h.tell(ctx), h.measure(ctx, h.clock.Now())); err != nil {
		log.Warn("the status of plugins could not be recorded; it is tried again", "error", err)
	}
	return h, nil
}

// isNew tells whether it is not known what a plugin will say of itself.
func (h *pluginHost) isNew(s pluginhost.Status) bool { return !slices.Contains(h.same, s.ID) }

// await waits until every new plugin is ready or has a fault.
func (h *pluginHost) await(ctx context.Context, within time.Duration) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	unsettled := func(s pluginhost.Status) bool { return h.isNew(s) && s.About == nil && len(s.Faults) == 0 }
	for slices.ContainsFunc(h.Status(), unsettled) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// follow starts and stops plugins as operators want.
func (h *pluginHost) follow(ctx context.Context) error {
	installed, err := pluginhost.Installed(h.dir)
	if err != nil {
		return err
	}
	if err := h.records.Know(ctx, installed); err != nil {
		return err
	}
	list, err := h.records.List(ctx)
	if err != nil {
		return err
	}
	for id := range h.wanted {
		if !slices.ContainsFunc(list, func(p postgres.Plugin) bool { return p.ID == id }) { // it was removed
			h.Stop(id)
			delete(h.wanted, id)
		}
	}
	for _, p := range list {
		h.heard(p.ID, p.ServedAt)
		before, seen := h.wanted[p.ID]
		h.wanted[p.ID] = p
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
			delete(h.wanted, p.ID) // it may be installed later
		}
	}
	return nil
}

// recall takes over what plugins said of themselves to earlier hubs.
func (h *pluginHost) recall(ctx context.Context) error {
	list, err := h.records.List(ctx)
	for _, p := range list {
		about := &sdk.Description{}
		if err := proto.Unmarshal(p.Description, about); err != nil {
			return fmt.Errorf("the stored description of plugin %s: %w", p.ID, err)
		}
		if about.GetId() != p.ID {
			continue
		}
		h.known[p.ID] = about
		var told toldStatus
		if json.Unmarshal([]byte(p.Status), &told) == nil && told.Digest != "" && told.Digest == pluginhost.Digest(h.dir, p.ID) {
			h.same = append(h.same, p.ID)
		}
	}
	return err
}

// about is what a plugin says of itself, now or to an earlier hub; nil: nothing yet.
func (h *pluginHost) about(id string) *sdk.Description {
	if about := h.Plugin(id).About(); about != nil {
		return about
	}
	return h.known[id]
}

// described is what a plugin says of itself, written the same each time; nil where
// that is not known yet.
func described(s pluginhost.Status) ([]byte, error) {
	if s.About == nil {
		return nil, nil
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(s.About)
}

// rendererOf tells apart what renders a plugin's menus: its program, by its manifest
// and what it says of itself, and the hub's part in it; "" where it does not run.
func rendererOf(s pluginhost.Status, about []byte) string {
	if s.Manifest == "" || about == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d %s %s", menu.Form, s.Manifest, about)))
}

// tell records how the plugins are, where that has changed, or where menus are still to
// be published as they are rendered here.
func (h *pluginHost) tell(ctx context.Context) error {
	for _, s := range h.Status() {
		about, err := described(s)
		if err != nil {
			return err
		}
		s.InFlight, s.Memory = 0, 0
		told := toldStatus{s, rendererOf(s, about), h.Logs(s.ID)}
		text, err := json.Marshal(told)
		settled := s.State != pluginhost.Ready || h.wanted[s.ID].Renderer == told.Renderer
		if err != nil || settled && h.told[s.ID] == string(text) {
			continue
		}
		if err := h.records.Tell(ctx, h.tally.hub, s.ID, string(text), about); err != nil {
			return err
		}
		h.told[s.ID] = string(text)
	}
	return nil
}

// toldStatus is what hubs tell of a plugin, for the command line and the console.
type toldStatus struct {
	pluginhost.Status
	Renderer string   `json:"renderer"`
	Log      []string `json:"log,omitzero"` // its last lines
}

// run follows and tells until the context ends; a worker also says which plugins it has.
func (h *pluginHost) run(ctx context.Context, worker bool) {
	look := time.NewTicker(pluginsLookedAfter)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		err := h.follow(ctx)
		if err == nil {
			err = errors.Join(h.suit(ctx), h.tell(ctx), h.measure(ctx, h.clock.Now()))
		}
		if err == nil && worker {
			err = h.serve(ctx)
		}
		if err != nil && ctx.Err() == nil {
			h.log.Warn("looking after the plugins failed; it is tried again", "error", err)
		}
	}
}

// vocabulary is core's and that of the plugins. The words of one that contradicts
// another that was known before it, and of one that has never been ready, are missing until the next start.
func (h *pluginHost) vocabulary() (*menu.Vocabulary, error) {
	var declared []menu.Declaration
	vocabulary, err := menu.NewVocabulary()
	first := func(a, b string) int {
		return cmp.Or(h.wanted[a].KnownAt.Compare(h.wanted[b].KnownAt), cmp.Compare(a, b))
	}
	for _, id := range slices.SortedFunc(maps.Keys(h.wanted), first) {
		about := h.about(id)
		if !h.wanted[id].Enabled {
			continue
		}
		if about == nil {
			h.log.Warn("a plugin was never ready; its key-value groups are unknown until the hub is started again", "plugin", id)
			continue
		}
		more := append(slices.Clone(declared), declarations(id, about)...)
		wider, err := menu.NewVocabulary(more...)
		if err != nil {
			h.Plugin(id).Blame(fmt.Errorf("its key-value groups are left out: %w", err))
			h.log.Warn("the key-value groups of a plugin were left out", "plugin", id, "error", err)
			continue
		}
		declared, vocabulary = more, wider
	}
	return vocabulary, err
}

func declarations(id string, about *sdk.Description) (list []menu.Declaration) {
	rules := map[pb.ValueRule]menu.ValueRule{
		pb.ValueRule_VALUE_RULE_WHOLE_NUMBER: menu.WholeNumber, pb.ValueRule_VALUE_RULE_ONE_OF: menu.OneOf, pb.ValueRule_VALUE_RULE_ANY_TEXT: menu.AnyText,
	}
	for _, group := range about.GetVocabulary() {
		d := menu.Declaration{Group: group.GetGroup(), Platform: id}
		if group.GetOnItem() {
			d.On |= menu.OnItem
		}
		if group.GetOnOption() {
			d.On |= menu.OnOption
		}
		for _, key := range group.GetKeys() {
			d.Keys = append(d.Keys, menu.Key{Name: key.GetName(), Rule: rules[key.GetRule()], Allowed: key.GetAllowed()})
		}
		list = append(list, d)
	}
	return list
}

// served finds the plugins that serve a business's platforms and can do something.
func (h *pluginHost) served(ctx context.Context, business core.BusinessID, capability string) ([]postgres.Platform, error) {
	platforms, err := h.places.List(ctx, business)
	return slices.DeleteFunc(platforms, func(p postgres.Platform) bool {
		return p.ServedBy == core.ServedByOwn || !h.can(p.ServedBy, capability)
	}), err
}

// can tells whether a plugin has a capability, as far as it is known.
func (h *pluginHost) can(id, capability string) bool {
	return slices.Contains(h.about(id).GetCapabilities(), capability)
}
