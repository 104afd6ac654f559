package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/hub"
)

const banner = `
Servery is ready.

  API        %[1]s
  Reference  %[1]s/docs
  Receiver   %[1]s%[2]s   (shows the webhooks of the demo)
  Simulator  %[3]s   (aggregators A, B and C, with the requests they received)
  Console    %[4]s   (works once, to choose a password)
  API key    Authorization: apikey %[5]s:%[6]s

Send a store, then look at the receiver for the callback:

  curl -sS '%[1]s/external/api/v1/stores/' \
    -H 'Authorization: apikey %[5]s:%[6]s' -H 'Content-Type: application/json' \
    -d '{"stores":[{"ref_id":"S-1","name":"Harbour Street","city":"Oakland","included_platforms":["web"]}]}'

The log is in %[7]s. Ctrl-C stops everything.
`

// Run serves until the context ends.
func (c serveCommand) Run(ctx context.Context, out output) error {
	options, _ := c.options() // see Check
	log, closeLog, err := c.logger(out)
	if err != nil {
		return err
	}
	defer closeLog()
	return hub.Serve(ctx, options, func(w hub.Welcome) {
		fmt.Fprintf(out.stdout, banner, w.URL, receiver.Path, w.SimulatorURL+"/", w.ConsoleLink, w.Username, w.APIKey,
			c.demoLog())
	}, log)
}

// Check returns all mistakes in the flags.
func (c serveCommand) Check() error {
	options, mistakes := c.options()
	err := errors.Join(append(mistakes, options.Validate(), c.databaseFlags.Check())...)
	if c.PluginDir != "" && !isDir(c.PluginDir) {
		err = errors.Join(err, fmt.Errorf("SERVERY_PLUGIN_DIR: there is no directory %s", c.PluginDir))
	}
	return errors.Join(err, environ.CheckLog(c.LogFile))
}

// logger writes JSON lines. The demo logs to a file, to keep the terminal readable.
func (c serveCommand) logger(out output) (*slog.Logger, func(), error) {
	file := c.LogFile
	if c.Demo {
		file = c.demoLog()
	}
	if file == "" {
		return slog.New(slog.NewJSONHandler(out.stderr, &slog.HandlerOptions{Level: c.LogLevel})), func() {}, nil
	}
	opened, err := environ.OpenLog(file)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewJSONHandler(opened, &slog.HandlerOptions{Level: c.LogLevel})),
		func() { _ = opened.Close() }, nil
}

func (c serveCommand) demoLog() string {
	return cmp.Or(c.LogFile, filepath.Join(c.DataDir, "servery.log"))
}
