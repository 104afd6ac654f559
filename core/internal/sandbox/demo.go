package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/atomicfile"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/plugins/simulator"
)

const (
	demoUsername = "demo"
	demoFile     = "demo.json"
	demoAdmin    = "admin@demo.example"
)

// Credentials are stored in the data directory, so that the demo shows the same key at every start. The database
// stores only the key's hash.
type Credentials struct {
	Business core.BusinessID `json:"business"`
	Username string          `json:"username"`
	APIKey   string          `json:"api_key"`
}

// DemoConfig configures a demo.
type DemoConfig struct {
	DB            *postgres.DB
	DataDir       string
	BaseURL       string   // of the hub
	Simulator     string   // the URL to simulate aggregators at, if its port is free
	Token         string   // of the simulator's API and pages; "": they are open
	Plugins       []string // that run
	Subscriptions webhook.Subscriptions
	Log           *slog.Logger
}

// Demo is a business with webhooks to the hub's receiver and simulated aggregators.
type Demo struct {
	Credentials
	SimulatorURL string
	Simulate     func(context.Context) // simulates the aggregators until the context ends
}

// OpenDemo prepares the demo business. The caller must call Simulate.
func OpenDemo(ctx context.Context, config DemoConfig) (d Demo, err error) {
	if d.Credentials, err = demoBusiness(ctx, config); err != nil {
		return d, err
	}
	if err := demoWebhooks(ctx, config, d.Business); err != nil {
		return d, err
	}
	if d.SimulatorURL, d.Simulate, err = demoSimulator(ctx, config); err != nil {
		return d, err
	}
	return d, Setup(ctx, config.DB, d.Business, config.Plugins, d.SimulatorURL)
}

// DemoLink returns a new one-time link for the demo's user of the console, who is created on the first start.
func DemoLink(ctx context.Context, db *postgres.DB, base string) (string, error) {
	user := access.User{Email: demoAdmin, Role: access.Admin}
	invited, err := accessdb.NewAccounts(db).Invite(ctx, user, "hub", "the demo")
	return shell.WelcomeURL(base, invited.Token), err
}

// demoBusiness returns the business of the stored credentials, or creates one.
func demoBusiness(ctx context.Context, config DemoConfig) (stored Credentials, err error) {
	accounts := access.Access{Keys: accessdb.New(config.DB), Clock: config.DB.Clock()}
	file := filepath.Join(config.DataDir, demoFile)
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	if err == nil && json.Unmarshal(content, &stored) == nil {
		caller, err := accounts.Authenticate(ctx, "apikey "+stored.Username+":"+stored.APIKey)
		if err == nil && caller.Business == stored.Business {
			return stored, nil
		}
	}
	business, err := accounts.CreateBusiness(ctx,
		core.Business{Name: "Demo Kitchen", Country: "US", Timezone: "America/Los_Angeles", Currency: "USD"},
		webhook.NewSecret(), config.Plugins)
	if err != nil {
		return stored, err
	}
	key, secret, err := accounts.CreateKey(ctx,
		access.Key{Business: business.ID, Username: demoUsername, Scope: core.ScopePOS})
	if err != nil {
		return stored, err
	}
	stored = Credentials{Business: business.ID, Username: key.Username, APIKey: secret}
	if content, err = json.MarshalIndent(stored, "", "  "); err != nil {
		return stored, err
	}
	if err := os.MkdirAll(config.DataDir, 0o755); err != nil {
		return stored, err
	}
	_ = os.Remove(file) // credentials of another database
	return stored, atomicfile.Create(file, append(content, '\n'))
}

// BusinessOrDemo returns the given business, or else that of the demo in a data directory.
func BusinessOrDemo(id int64, dir string) (core.BusinessID, error) {
	if id != 0 {
		return core.BusinessID(id), nil
	}
	var demo Credentials
	text, err := os.ReadFile(filepath.Join(dir, demoFile))
	if err != nil || json.Unmarshal(text, &demo) != nil {
		return 0, fmt.Errorf("--business is required, because there is no demo in %s", dir)
	}
	return demo.Business, nil
}

// demoWebhooks subscribes the receiver to every event type. After a start on another port it updates the
// subscriptions.
func demoWebhooks(ctx context.Context, config DemoConfig, business core.BusinessID) error {
	existing, _, err := webhooksdb.New(config.DB).List(ctx, business, 200, 0)
	if err != nil {
		return err
	}
	subscribed := map[core.EventType]int64{}
	for _, sub := range existing {
		if strings.HasSuffix(sub.URL, receiver.Path) {
			subscribed[sub.EventType] = sub.ID
		}
	}
	to, units := config.BaseURL+receiver.Path, webhook.Seconds
	for _, event := range core.EventTypes() {
		input := webhook.Input{EventType: event, URL: &to, Units: &units}
		if id, found := subscribed[event]; found {
			if err := config.Subscriptions.Update(ctx, business, "cli", id, input); err != nil {
				return err
			}
			continue
		}
		if _, err := config.Subscriptions.Create(ctx, business, "cli", input); err != nil {
			return err
		}
	}
	return nil
}

// demoSimulator prepares simulated aggregators at the configured URL, or else at a free port.
func demoSimulator(ctx context.Context, config DemoConfig) (address string, run func(context.Context), err error) {
	preferred, err := url.Parse(config.Simulator)
	if err != nil {
		return "", nil, fmt.Errorf("SERVERY_SIMULATOR: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", preferred.Host)
	if err != nil {
		config.Log.Info("simulator uses another port", "wanted", preferred.Host, "error", err)
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return "", nil, err
		}
	}
	address = "http://" + listener.Addr().String()
	s, err := simulator.New(simulator.Config{Directory: NewAccounts(config.DB, address, config.BaseURL),
		Token: config.Token})
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	return address, func(ctx context.Context) {
		if err := s.Serve(ctx, listener); err != nil {
			config.Log.Error("simulator stopped", "error", err)
		}
	}, nil
}
