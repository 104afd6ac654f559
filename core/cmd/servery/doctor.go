package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/servery-hub/servery/core/internal/doctor"
	"github.com/servery-hub/servery/core/internal/hub"
)

// doctorCommand checks the environment of a hub with the same configuration. It takes the flags of serve.
type doctorCommand struct {
	serveCommand
	JSON     bool `help:"Print JSON."`
	mistakes error
}

// SetMistakes receives the mistakes in the environment.
func (c *doctorCommand) SetMistakes(mistakes error) { c.mistakes = mistakes }

var errFailed = errors.New("some checks failed")

// Run makes every check and prints the results. It fails if a check failed.
func (c *doctorCommand) Run(ctx context.Context, out output) error {
	d := &doctor.Doctor{Log: slog.New(slog.DiscardHandler)}
	c.examine(ctx, d)
	err := out.show(c.JSON, d.Results, "%s", d)
	if err == nil && d.Failed() {
		err = errFailed
	}
	return err
}

func (c *doctorCommand) examine(ctx context.Context, d *doctor.Doctor) {
	d.Configuration(errors.Join(c.mistakes, c.Check()))
	d.Disk("data directory", c.DataDir, c.DatabaseURL == "" || c.SecretKey == "")
	if c.databaseFlags.Check() != nil {
		d.Add("database", doctor.Fail, "not checked", "correct its configuration first")
		return
	}
	db, err := c.openWithTimeout(ctx, d.Log)
	if err != nil {
		d.Add("database", doctor.Fail, err.Error(), doctor.ConnectionRemedy(err))
		return
	}
	defer db.CloseAll(d.Log)
	if !d.Database(ctx, db.DB) {
		d.Add("row-level security, secret key, plugins, webhooks", doctor.Warn, "not checked",
			"correct what fails above, then run `servery doctor` again")
		return
	}
	d.RowSecurity(ctx, db.DB)
	d.Secrets(ctx, db.DB)
	d.Plugins(ctx, db.DB, doctor.PluginDirs{Plugins: c.dir(), Data: c.DataDir, Hidden: db.SecretDirs()})
	options, _ := c.options()
	d.Endpoints(ctx, db.DB, options.Allow)
}

// connectTimeout bounds the wait for a database server.
const connectTimeout = 5 * time.Second

// openWithTimeout connects to the database, with a shorter timeout than a hub.
func (f databaseFlags) openWithTimeout(ctx context.Context, log *slog.Logger) (*hub.Database, error) {
	if f.DatabaseURL != "" { // a private one may have to start first
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, connectTimeout)
		defer cancel()
	}
	return hub.OpenDatabase(ctx, f.config(), log)
}
