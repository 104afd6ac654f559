package sandbox

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
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/simulator"
)

// PlatformURL returns the URL of a business's platform at a simulator. The path identifies the business.
func PlatformURL(address string, business core.BusinessID, platform string) string {
	return strings.TrimSuffix(address, "/") + platformPath(business, platform)
}

func platformPath(business core.BusinessID, platform string) string {
	return "/" + strconv.FormatInt(int64(business), 10) + "/" + url.PathEscape(platform)
}

// Setup sets up a business at the simulator. For each plugin with a simulated aggregator it creates a platform with
// the plugin's id, URLs and secrets. It keeps existing secrets, and platforms with other URLs.
func Setup(ctx context.Context, db *postgres.DB, business core.BusinessID, plugins []string, address string) error {
	platforms := platformsdb.New(db)
	for _, aggregator := range simulator.Aggregators() {
		if !slices.Contains(plugins, aggregator.Plugin) {
			continue
		}
		platform := core.Platform{Name: aggregator.Plugin, ServedBy: aggregator.Plugin}
		served, access, err := platforms.Lookup(ctx, business, platform.Name)
		if err == nil && (served != aggregator.Plugin || hasOtherURLs(access, business, platform.Name)) {
			continue
		}
		if err != nil && core.CodeOf(err) != core.NotFound {
			return err
		}
		if err := platforms.Set(ctx, business, platform, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{}
			for _, endpoint := range aggregator.Endpoints {
				a.BaseURLs[endpoint] = PlatformURL(address, business, platform.Name)
			}
			for _, secret := range []string{aggregator.Outgoing, aggregator.Inbound} {
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

func hasOtherURLs(access relay.Access, business core.BusinessID, platform string) bool {
	for _, address := range access.BaseURLs {
		if !strings.HasSuffix(address, platformPath(business, platform)) {
			return true
		}
	}
	return false
}

// Accounts are the platforms whose URLs are the simulator's. The simulator must not send requests for real
// ones (simulator.Directory).
type Accounts struct {
	platforms    platformsdb.Store
	address, hub string

	mu    sync.Mutex
	cache map[[2]string]cachedAccount
}

type cachedAccount struct {
	simulator.Account
	err  error
	read time.Time
}

// NewAccounts returns the platforms of a simulator. The parameters are the URLs of the simulator and of the hub.
func NewAccounts(db *postgres.DB, simulator, hub string) *Accounts {
	return &Accounts{platforms: platformsdb.New(db), address: simulator, hub: hub}
}

// How long an account is cached, and how many are.
const (
	accountTTL  = time.Second
	maxAccounts = 256
)

// Account reads the platform of a business.
func (s *Accounts) Account(ctx context.Context, space, platform string) (simulator.Account, error) {
	key := [2]string{space, platform}
	s.mu.Lock()
	stored, found := s.cache[key]
	s.mu.Unlock()
	if found && time.Since(stored.read) < accountTTL {
		return stored.Account, stored.err
	}
	account, err := s.read(ctx, space, platform)
	if err != nil && !errors.Is(err, simulator.ErrNoAccount) {
		return account, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache == nil || len(s.cache) >= maxAccounts {
		s.cache = map[[2]string]cachedAccount{}
	}
	s.cache[key] = cachedAccount{account, err, time.Now()}
	return account, err
}

func (s *Accounts) read(ctx context.Context, space, platform string) (simulator.Account, error) {
	business, err := strconv.ParseInt(space, 10, 64)
	if err != nil {
		return simulator.Account{}, simulator.ErrNoAccount
	}
	served, access, err := s.platforms.Lookup(ctx, core.BusinessID(business), platform)
	if core.CodeOf(err) == core.NotFound {
		return simulator.Account{}, simulator.ErrNoAccount
	}
	if err != nil {
		return simulator.Account{}, err
	}
	platformURL := PlatformURL(s.address, core.BusinessID(business), platform)
	for _, address := range access.BaseURLs {
		if address == platformURL {
			return simulator.Account{
				Space: space, Platform: platform, Plugin: served, Secrets: access.Secrets, Currency: access.Currency,
				Callback: strings.TrimSuffix(s.hub, "/") + "/channel/api/v1/" + url.PathEscape(platform) +
					"/callback/{kind}/?business=" + space,
			}, nil
		}
	}
	return simulator.Account{}, simulator.ErrNoAccount
}
