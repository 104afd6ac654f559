package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulatedAt is the address of a business's platform at a simulator; the path
// tells businesses apart.
func simulatedAt(address string, business core.BusinessID, platform string) string {
	return strings.TrimSuffix(address, "/") + simulatedPath(business, platform)
}

func simulatedPath(business core.BusinessID, platform string) string {
	return "/" + strconv.FormatInt(int64(business), 10) + "/" + url.PathEscape(platform)
}

// sandbox gives a business a place of its own at the simulator: for each plugin
// whose aggregator is played, a platform of the plugin's id with address and secrets.
// A platform that is reached elsewhere is left alone, and secrets that exist stay.
func sandbox(ctx context.Context, db *postgres.DB, business core.BusinessID, plugins []string, address string) error {
	platforms := postgres.Platforms{DB: db}
	for _, needs := range simulator.Played() {
		if !slices.Contains(plugins, needs.Plugin) {
			continue
		}
		platform := core.Platform{Name: needs.Plugin, ServedBy: needs.Plugin}
		served, access, err := platforms.Of(ctx, business, platform.Name)
		if err == nil && (served != needs.Plugin || reachedElsewhere(access, business, platform.Name)) {
			continue
		}
		if err != nil && core.CodeOf(err) != core.NotFound {
			return err
		}
		if err := platforms.Set(ctx, business, platform, func(a *relay.Access) error {
			a.Addresses = map[string]string{}
			for _, endpoint := range needs.Endpoints {
				a.Addresses[endpoint] = simulatedAt(address, business, platform.Name)
			}
			for _, secret := range []string{needs.Outgoing, needs.Inbound} {
				if a.Secrets[secret] == "" {
					a.Secrets[secret] = rand.Text()
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func reachedElsewhere(access relay.Access, business core.BusinessID, platform string) bool {
	for _, address := range access.Addresses {
		if !strings.HasSuffix(address, simulatedPath(business, platform)) {
			return true
		}
	}
	return false
}

// simulatedAccounts are the platforms that are reached at the simulator's address,
// and no others: the simulator must not speak for real ones (simulator.Directory).
type simulatedAccounts struct {
	platforms    postgres.Platforms
	address, hub string

	mu   sync.Mutex
	kept map[[2]string]keptAccount
}

type keptAccount struct {
	simulator.Account
	err  error
	read time.Time
}

// An account is read again after a second; so many are kept at once.
const (
	accountKept  = time.Second
	accountsKept = 256
)

// Account reads the platform of a business.
func (s *simulatedAccounts) Account(ctx context.Context, space, platform string) (simulator.Account, error) {
	key := [2]string{space, platform}
	s.mu.Lock()
	kept, found := s.kept[key]
	s.mu.Unlock()
	if found && time.Since(kept.read) < accountKept {
		return kept.Account, kept.err
	}
	account, err := s.read(ctx, space, platform)
	if err != nil && !errors.Is(err, simulator.ErrNoAccount) {
		return account, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= accountsKept {
		s.kept = map[[2]string]keptAccount{}
	}
	s.kept[key] = keptAccount{account, err, time.Now()}
	return account, err
}

func (s *simulatedAccounts) read(ctx context.Context, space, platform string) (simulator.Account, error) {
	business, err := strconv.ParseInt(space, 10, 64)
	if err != nil {
		return simulator.Account{}, simulator.ErrNoAccount
	}
	served, access, err := s.platforms.Of(ctx, core.BusinessID(business), platform)
	if core.CodeOf(err) == core.NotFound {
		return simulator.Account{}, simulator.ErrNoAccount
	}
	if err != nil {
		return simulator.Account{}, err
	}
	here := simulatedAt(s.address, core.BusinessID(business), platform)
	for _, address := range access.Addresses {
		if address == here {
			return simulator.Account{
				Space: space, Platform: platform, Plugin: served, Secrets: access.Secrets, Currency: access.Currency,
				Callback: strings.TrimSuffix(s.hub, "/") + "/channel/api/v1/" + url.PathEscape(platform) + "/callback/{kind}/?business=" + space,
			}, nil
		}
	}
	return simulator.Account{}, simulator.ErrNoAccount
}
