package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/sandbox"
)

const banner = `
Servery is ready.

  API        %[1]s
  Reference  %[1]s/docs
  Receiver   %[1]s%[2]s   (shows what the demo's webhooks got)
  Simulator  %[3]s   (aggregators A, B and C: what they were told)
  Console    %[4]s   (works once, and lets you choose a password)
  API key    Authorization: apikey %[5]s:%[6]s

Send a store, then look at the receiver for the callback:

  curl -sS '%[1]s/external/api/v1/stores/' \
    -H 'Authorization: apikey %[5]s:%[6]s' -H 'Content-Type: application/json' \
    -d '{"stores":[{"ref_id":"S-1","name":"Harbour Street","city":"Oakland","included_platforms":["web"]}]}'

The log is in %[7]s. Ctrl-C stops everything.
`

// demo prepares the demo business. It also returns the next steps, to be printed after startup.
func (c serveCommand) demo(ctx context.Context, h *hub.Hub, db *postgres.DB, base string,
	log *slog.Logger) (d sandbox.Demo, welcome string, err error) {
	plugins, err := c.running(ctx, db)
	if err != nil {
		return d, "", err
	}
	if d, err = sandbox.OpenDemo(ctx, sandbox.DemoConfig{DB: db, DataDir: c.DataDir, BaseURL: base,
		Simulator: c.Simulator, Plugins: plugins, Subscriptions: h.Subscriptions(), Log: log}); err != nil {
		return d, "", err
	}
	link := ""
	if slices.Contains(c.Roles, hub.RoleConsole) {
		if link, err = sandbox.DemoLink(ctx, db, base); err != nil {
			return d, "", err
		}
	}
	return d, fmt.Sprintf(banner, base, receiver.Path, d.SimulatorURL+"/", link, d.Username, d.APIKey,
		filepath.Join(c.DataDir, "servery.log")), nil
}

// simulate runs the demo's aggregators until the returned function is called, so that they answer while the hub
// finishes its work.
func simulate(ctx context.Context, demo sandbox.Demo) (stop func()) {
	simulating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		demo.Simulate(simulating)
	}()
	return func() {
		cancel()
		<-ended
	}
}
