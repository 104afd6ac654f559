package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

const demoUsername = "demo"

// demoCredentials are kept in the data directory: a key is stored only as a
// hash, and the demo shows the same one at every start.
type demoCredentials struct {
	Business core.BusinessID `json:"business"`
	Username string          `json:"username"`
	APIKey   string          `json:"api_key"`

	welcome string // how to go on, said once requests are answered
}

// demo makes sure of the demo business.
func (c serveCommand) demo(ctx context.Context, h *hub, base string, log *slog.Logger) (demoCredentials, error) {
	credentials, err := c.demoBusiness(ctx, h.db)
	if err != nil {
		return credentials, err
	}
	if err := h.demoWebhooks(ctx, credentials.Business, base+receiver.Path); err != nil {
		return credentials, err
	}
	aggregators, err := c.demoAggregators(ctx, h, credentials.Business, base, log)
	if err != nil {
		return credentials, err
	}
	link := ""
	if h.console != nil {
		if link, err = demoLink(ctx, h.db, base); err != nil {
			return credentials, err
		}
	}
	credentials.welcome = fmt.Sprintf(banner, base, base, base, receiver.Path, aggregators, link, credentials.Username, credentials.APIKey,
		base, credentials.Username, credentials.APIKey, filepath.Join(c.DataDir, "servery.log"))
	return credentials, nil
}

const banner = `
Servery is ready.

  API        %s
  Reference  %s/docs
  Receiver   %s%s   (shows what the demo's webhooks got)
  Simulator  %s   (aggregators A, B and C: what they were told)
  Console    %s   (works once, and lets you choose a password)
  API key    Authorization: apikey %s:%s

Send a store, then look at the receiver for the callback:

  curl -sS '%s/external/api/v1/stores/' \
    -H 'Authorization: apikey %s:%s' -H 'Content-Type: application/json' \
    -d '{"stores":[{"ref_id":"S-1","name":"Harbour Street","city":"Oakland","included_platforms":["web"]}]}'

The log is in %s. Ctrl-C stops everything.
`

// demoAggregators plays the aggregators and makes the demo a customer of theirs.
func (c serveCommand) demoAggregators(ctx context.Context, h *hub, business core.BusinessID, base string, log *slog.Logger) (string, error) {
	plugins, err := enabledPlugins(ctx, c.dir(), h.db)
	if err != nil {
		return "", err
	}
	address, err := c.demoSimulator(ctx, h, base, log)
	if err != nil {
		return "", err
	}
	return address + "/", sandbox(ctx, h.db, business, plugins, address)
}

// demoBusiness finds the business of the kept credentials, or makes one.
func (c serveCommand) demoBusiness(ctx context.Context, db *postgres.DB) (demoCredentials, error) {
	accounts := access.Access{Records: postgres.Access{DB: db}, Clock: db.Clock()}
	file := filepath.Join(c.DataDir, "demo.json")
	var kept demoCredentials
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	if err == nil && json.Unmarshal(content, &kept) == nil {
		caller, err := accounts.Authenticate(ctx, "apikey "+kept.Username+":"+kept.APIKey)
		if err == nil && caller.Business == kept.Business {
			return kept, nil
		}
	}
	plugins, err := enabledPlugins(ctx, c.dir(), db)
	if err != nil {
		return kept, err
	}
	business, err := accounts.CreateBusiness(ctx,
		core.Business{Name: "Demo Kitchen", Country: "US", Timezone: "America/Los_Angeles", Currency: "USD"}, webhook.NewSecret(), plugins)
	if err != nil {
		return kept, err
	}
	key, secret, err := accounts.CreateKey(ctx, access.Key{Business: business.ID, Username: demoUsername, Scope: core.ScopePOS})
	if err != nil {
		return kept, err
	}
	kept = demoCredentials{Business: business.ID, Username: key.Username, APIKey: secret}
	if content, err = json.MarshalIndent(kept, "", "  "); err != nil {
		return kept, err
	}
	if err := os.MkdirAll(c.DataDir, 0o755); err != nil {
		return kept, err
	}
	_ = os.Remove(file) // credentials of another database
	return kept, writeNew(file, append(content, '\n'))
}

// demoWebhooks subscribes the receiver to every event type. After a start on
// another port the subscriptions move along.
func (h *hub) demoWebhooks(ctx context.Context, business core.BusinessID, url string) error {
	records := postgres.Webhooks{DB: h.db}
	subscriptions := h.subscriptions()
	existing, _, err := records.List(ctx, business, 200, 0)
	if err != nil {
		return err
	}
	subscribed := map[core.EventType]int64{}
	for _, sub := range existing {
		if strings.HasSuffix(sub.URL, receiver.Path) {
			subscribed[sub.EventType] = sub.ID
		}
	}
	units := webhook.Seconds
	for _, event := range core.EventTypes() {
		input := webhook.Input{EventType: event, URL: &url, Units: &units}
		if id, found := subscribed[event]; found {
			if err := subscriptions.Update(ctx, business, "cli", id, input); err != nil {
				return err
			}
			continue
		}
		if _, _, err := subscriptions.Create(ctx, business, "cli", input); err != nil {
			return err
		}
	}
	return nil
}
