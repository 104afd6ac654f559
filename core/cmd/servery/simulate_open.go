package main

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
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulation is a scenario that is being played.
type simulation struct {
	simulateFlags
	client    *http.Client
	report    *simulateReport
	pos       string // values of the Authorization header
	channel   string
	store     store.Effective
	platforms []string
	shelves   map[string]simulator.Shelf
	accounts  map[string]string // platform -> its account's address in the simulator's admin API; own channels have none
}

// simulateKeys are the keys of a business by which customers are played. They are
// kept in the data directory, as the demo's is.
type simulateKeys struct {
	POS     string `json:"pos"` // values of the Authorization header
	Channel string `json:"channel"`
}

// open finds the business, its keys and its store's menus.
func (f simulateFlags) open(ctx context.Context, a access.Access, db *postgres.DB) (*simulation, error) {
	business, err := orDemo(f.Business, f.DataDir)
	if err != nil {
		return nil, err
	}
	f.Business = int64(business)
	f.BaseURL = strings.TrimSuffix(f.BaseURL, "/")
	s := &simulation{
		simulateFlags: f, report: &simulateReport{calls: map[string]*callTimes{}}, shelves: map[string]simulator.Shelf{}, accounts: map[string]string{},
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: maxAtOnce, IdleConnTimeout: time.Minute}},
	}
	if err := s.takeKeys(ctx, a); err != nil {
		return nil, err
	}
	if err := s.findPlatforms(ctx, db); err != nil {
		return nil, err
	}
	return s, s.readMenus(ctx)
}

// orDemo is the business that is named, else the demo's.
func orDemo(named int64, dir string) (core.BusinessID, error) {
	if named != 0 {
		return core.BusinessID(named), nil
	}
	var demo demoCredentials
	text, err := os.ReadFile(filepath.Join(dir, "demo.json"))
	if err != nil || json.Unmarshal(text, &demo) != nil {
		return 0, fmt.Errorf("--business: name the business; there is no demo in %s", dir)
	}
	return core.BusinessID(demo.Business), nil
}

// takeKeys takes the keys that are kept, or makes new ones.
func (s *simulation) takeKeys(ctx context.Context, a access.Access) error {
	business := core.BusinessID(s.Business)
	file := filepath.Join(s.DataDir, fmt.Sprintf("simulate-%d.json", s.Business))
	var keys simulateKeys
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
	return writeNew(file, append(text, '\n'))
}

// findPlatforms finds the platforms of the orders among those on which the store
// is listed, and where they are played.
func (s *simulation) findPlatforms(ctx context.Context, db *postgres.DB) error {
	all, err := postgres.Platforms{DB: db}.List(ctx, core.BusinessID(s.Business))
	if err != nil {
		return err
	}
	for name, base := range simulatedPlatforms(core.BusinessID(s.Business), all) {
		s.accounts[name] = base + "/admin" + simulatedPath(core.BusinessID(s.Business), name)
	}
	for _, p := range all {
		if p.ServedBy == core.ServedByOwn {
			s.accounts[p.Name] = ""
		}
	}
	for _, name := range s.Platform {
		if !slices.ContainsFunc(all, func(p postgres.Platform) bool { return p.Name == name }) {
			return fmt.Errorf("--platform: business %d has no platform %q", s.Business, name)
		}
		if _, played := s.accounts[name]; !played {
			return fmt.Errorf("--platform: %s is not reached at a simulator; `servery business create --sandbox` makes a business whose platforms are", name)
		}
	}
	if err := s.findStore(ctx); err != nil {
		return err
	}
	s.platforms = s.Platform
	for _, name := range s.store.Platforms {
		if _, played := s.accounts[name]; played && len(s.Platform) == 0 {
			s.platforms = append(s.platforms, name)
		}
	}
	if len(s.platforms) == 0 {
		return fmt.Errorf("store %q is listed on no platform that can be played", s.Store)
	}
	return nil
}

// findStore reads the stores as a channel does, up to the one that is meant.
func (s *simulation) findStore(ctx context.Context) error {
	for after := ""; ; {
		var page struct {
			Stores []store.Effective `json:"stores"`
			Meta   struct {
				Next string `json:"next"`
			} `json:"meta"`
		}
		if err := s.read(ctx, "/channel/api/v1/stores/?"+url.Values{"limit": {"1000"}, "after": {after}}.Encode(), &page); err != nil {
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
