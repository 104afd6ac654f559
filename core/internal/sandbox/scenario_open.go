package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/atomicfile"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/plugins/simulator"
)

// Options select the hub, the business and the store of a scenario.
type Options struct {
	BaseURL   string   // of the hub
	DataDir   string   // of the keys, and of the demo's credentials
	Token     string   // of the simulator; "" if it asks for none
	Business  int64    // 0: the demo's
	Store     string   // ref_id
	Platforms []string // of the orders, round robin; empty: all on which the store is listed
	Seed      uint64   // the same seed places the same orders again
}

// Scenario simulates the customers of a business, and its POS.
type Scenario struct {
	Options
	Report    *Report
	client    *http.Client
	pos       string // values of the Authorization header
	channel   string
	store     store.Effective
	platforms []string
	menus     map[string]simulator.Menu
	accounts  map[string]string // platform to its account's URL in the simulator's admin API; own channels have none
}

// keys are the keys of a business for simulated customers. They are stored in the data directory, as the
// demo's is.
type keys struct {
	POS     string `json:"pos"` // values of the Authorization header
	Channel string `json:"channel"`
}

// Open reads the business, its keys and its store's menus. Its errors name the flags of `servery simulate`. It returns
// ErrNotSimulated for a business that has aggregators, but no simulated one.
func Open(ctx context.Context, o Options, a access.Access, db *postgres.DB) (*Scenario, error) {
	business, err := BusinessOrDemo(o.Business, o.DataDir)
	if err != nil {
		return nil, err
	}
	o.Business = int64(business)
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	s := &Scenario{
		Options: o, Report: &Report{calls: map[string]*callStats{}},
		menus: map[string]simulator.Menu{}, accounts: map[string]string{},
		client: &http.Client{Timeout: 30 * time.Second,
			Transport: &http.Transport{MaxIdleConnsPerHost: maxConcurrent, IdleConnTimeout: time.Minute}},
	}
	all, err := platforms.New(db).List(ctx, business)
	if err != nil {
		return nil, err
	}
	if hasAggregators(all) && len(simulatedPlatforms(business, all)) == 0 {
		return nil, ErrNotSimulated
	}
	if err := s.loadKeys(ctx, a); err != nil {
		return nil, err
	}
	if err := s.findPlatforms(ctx, all); err != nil {
		return nil, err
	}
	return s, s.readMenus(ctx)
}

// Close closes idle connections.
func (s *Scenario) Close() { s.client.CloseIdleConnections() }

// loadKeys uses the stored keys, or creates new ones.
func (s *Scenario) loadKeys(ctx context.Context, a access.Access) error {
	business := core.BusinessID(s.Business)
	file := filepath.Join(s.DataDir, fmt.Sprintf("simulate-%d.json", s.Business))
	var keys keys
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &keys) == nil {
		pos, err := a.Authenticate(ctx, keys.POS)
		channel, err2 := a.Authenticate(ctx, keys.Channel)
		if err == nil && err2 == nil && pos.Business == business && channel.Business == business {
			s.pos, s.channel = keys.POS, keys.Channel
			return nil
		}
	}
	for scope, value := range map[core.Scope]*string{core.ScopePOS: &keys.POS, core.ScopeChannel: &keys.Channel} {
		key, secret, err := a.CreateKey(ctx, access.Key{Business: business, Username: "simulate", Scope: scope})
		if err != nil {
			return err
		}
		*value = "apikey " + key.Username + ":" + secret
	}
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.DataDir, 0o755); err != nil {
		return err
	}
	_ = os.Remove(file) // keys of another database
	s.pos, s.channel = keys.POS, keys.Channel
	return atomicfile.Create(file, append(text, '\n'))
}

// findPlatforms selects the platforms of the orders from those that list the store, with their simulators.
func (s *Scenario) findPlatforms(ctx context.Context, all []platforms.Platform) error {
	for name, base := range simulatedPlatforms(core.BusinessID(s.Business), all) {
		s.accounts[name] = base + "/admin" + platformPath(core.BusinessID(s.Business), name)
	}
	for _, p := range all {
		if p.ServedBy == core.ServedByMerchant {
			s.accounts[p.Name] = ""
		}
	}
	for _, name := range s.Options.Platforms {
		if !slices.ContainsFunc(all, func(p platforms.Platform) bool { return p.Name == name }) {
			return fmt.Errorf("--platform: business %d has no platform %q", s.Business, name)
		}
		if _, simulated := s.accounts[name]; !simulated {
			return fmt.Errorf(
				"--platform: %s is not simulated: create a business with servery business create --sandbox", name)
		}
	}
	if err := s.findStore(ctx); err != nil {
		return err
	}
	s.platforms = s.Options.Platforms
	for _, name := range s.store.Platforms {
		if _, simulated := s.accounts[name]; simulated && len(s.Options.Platforms) == 0 {
			s.platforms = append(s.platforms, name)
		}
	}
	if len(s.platforms) == 0 {
		return fmt.Errorf("store %q is listed on no platform that can be simulated", s.Store)
	}
	return nil
}

// findStore reads the stores as a channel, until it finds the given one.
func (s *Scenario) findStore(ctx context.Context) error {
	for after := ""; ; {
		var page struct {
			Stores []store.Effective `json:"stores"`
			Meta   struct {
				Next string `json:"next"`
			} `json:"meta"`
		}
		if err := s.read(ctx, "/channel/api/v1/stores/?"+url.Values{"limit": {"1000"}, "after": {after}}.Encode(),
			&page); err != nil {
			return err
		}
		for _, found := range page.Stores {
			if found.RefID == s.Store {
				s.store = found
				return nil
			}
		}
		if after = page.Meta.Next; after == "" {
			return fmt.Errorf("--store: business %d has no store %q", s.Business, s.Store)
		}
	}
}
