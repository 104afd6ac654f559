package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// migrateCommand changes the schema by hand; serve does it by itself.
type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply every missing migration."`
	Down   migrateDown   `cmd:"" help:"Take the last group of migrations back. Data of the dropped tables is lost."`
	Status migrateStatus `cmd:"" help:"List the migrations."`
}

type migrateUp struct{ databaseFlags }

// Run applies what is missing.
func (c migrateUp) Run(ctx context.Context, out output) error {
	c.begins = true
	return c.with(ctx, out, func(db *postgres.DB) error {
		names, err := db.MigrateUp(ctx)
		return report(out, "applied", names, err)
	})
}

type migrateDown struct {
	databaseFlags
	Yes bool `help:"Yes, also where businesses lose their data."`
}

// Run takes the last group back.
func (c migrateDown) Run(ctx context.Context, out output) error {
	return c.with(ctx, out, func(db *postgres.DB) error {
		if used, err := db.Used(ctx); err != nil || used && !c.Yes && c.DatabaseURL != "" {
			return cmp.Or(err, errors.New("there are businesses, whose data would be lost; earlier programs work on the schema as it is: add --yes if it is to be lost all the same"))
		}
		names, err := db.MigrateDown(ctx)
		return report(out, "taken back", names, err)
	})
}

func report(out output, what string, names []string, err error) error {
	for _, name := range names {
		fmt.Fprintln(out.stdout, what, name)
	}
	if err == nil && len(names) == 0 {
		fmt.Fprintln(out.stdout, "nothing to do")
	}
	return err
}

type migrateStatus struct {
	databaseFlags
	JSON bool `help:"Print JSON."`
}

// Run lists the migrations.
func (c migrateStatus) Run(ctx context.Context, out output) error {
	return c.with(ctx, out, func(db *postgres.DB) error {
		list, err := db.Migrations(ctx)
		if err != nil || c.JSON {
			return printJSON(out, list, err)
		}
		for _, m := range list {
			state := "missing"
			if m.Applied {
				state = "applied"
			}
			fmt.Fprintln(out.stdout, state, m.Name)
		}
		return nil
	})
}

// with opens the database for one command and closes it again.
func (f databaseFlags) with(ctx context.Context, out output, do func(*postgres.DB) error) error {
	log := slog.New(slog.NewTextHandler(out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := f.open(ctx, log)
	if err != nil {
		return err
	}
	defer db.close(log)
	return do(db.DB)
}

// withSchema opens the database for a command that needs the schema and seals.
func (f databaseFlags) withSchema(ctx context.Context, out output, do func(access.Access, *postgres.DB) error) error {
	return f.with(ctx, out, func(db *postgres.DB) error {
		if _, err := db.MigrateUp(ctx); err != nil {
			return err
		}
		if err := db.CheckSeal(ctx); err != nil {
			return err
		}
		return do(access.Access{Records: postgres.Access{DB: db}, Clock: db.Clock()}, db)
	})
}

type businessCommand struct {
	Create businessCreate `cmd:"" help:"Make a business."`
	Set    businessSet    `cmd:"" help:"Say, or show, how a business is watched over: orders that wait, POSes that are silent."`
	Secret businessSecret `cmd:"" name:"callback-secret" help:"Make another callback secret, which signs deliveries to a callback_url; it is shown once."`
}

type businessCreate struct {
	databaseFlags
	pluginFlags
	simulatorFlags
	Name     string `required:"" help:"Name of the business."`
	Country  string `required:"" help:"ISO 3166 code, such as US."`
	Timezone string `required:"" help:"IANA name, such as America/Los_Angeles."`
	Currency string `required:"" help:"ISO 4217 code, such as USD."`
	Sandbox  bool   `help:"Connect its platforms to the simulated aggregators, for trying things out."`
	JSON     bool   `help:"Print JSON."`
}

// check finds what is wrong with the flags of the database and the sandbox.
func (c businessCreate) check() error {
	return errors.Join(c.databaseFlags.check(), c.simulatorFlags.wrong())
}

// Run makes a business and prints its id.
func (c businessCreate) Run(ctx context.Context, out output) error {
	c.begins = true
	return c.withSchema(ctx, out, func(a access.Access, db *postgres.DB) error {
		plugins, err := enabledPlugins(ctx, c.dir(), db)
		if err != nil {
			return err
		}
		secret := webhook.NewSecret()
		b, err := a.CreateBusiness(ctx, core.Business{Name: c.Name, Country: c.Country, Timezone: c.Timezone, Currency: c.Currency}, secret, plugins)
		if err == nil && c.Sandbox {
			err = sandbox(ctx, db, b.ID, plugins, c.Simulator)
		}
		if err != nil || c.JSON {
			return printJSON(out, struct {
				core.Business
				CallbackSecret string `json:"callback_secret"`
			}{b, secret}, err)
		}
		_, err = fmt.Fprintf(out.stdout, "business %d: %s\ncallback secret (signs deliveries to a callback_url; shown once): %s\n", b.ID, b.Name, secret)
		return err
	})
}

type keyCommand struct {
	Create  keyCreate  `cmd:"" help:"Make an API key; it is shown once."`
	Disable keyDisable `cmd:"" help:"Make an API key useless from now on."`
}

type keyCreate struct {
	databaseFlags
	Business int64  `required:"" help:"Id of the business."`
	Username string `required:"" help:"Name under which the key is used. Several keys may share one, for rotation."`
	Scope    string `default:"pos" enum:"pos,channel" help:"What the key may do: pos or channel."`
	Platform string `help:"Of a channel key: the platform whose orders it brings."`
	JSON     bool   `help:"Print JSON."`
}

// Run makes a key and prints it.
func (c keyCreate) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(a access.Access, _ *postgres.DB) error {
		key, secret, err := a.CreateKey(ctx, access.Key{
			Business: core.BusinessID(c.Business), Username: c.Username, Scope: core.Scope(c.Scope), Platform: c.Platform,
		})
		if err != nil || c.JSON {
			return printJSON(out, struct {
				ID       int64  `json:"id"`
				Username string `json:"username"`
				APIKey   string `json:"api_key"`
			}{key.ID, key.Username, secret}, err)
		}
		_, err = fmt.Fprintf(out.stdout, "key %d (shown once)\nAuthorization: apikey %s:%s\n", key.ID, key.Username, secret)
		return err
	})
}

type keyDisable struct {
	databaseFlags
	Business int64 `required:"" help:"Id of the business."`
	ID       int64 `arg:"" help:"Id of the key."`
}

// Run disables a key.
func (c keyDisable) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(a access.Access, db *postgres.DB) error {
		if err := (postgres.Access{DB: db}).DisableKey(ctx, core.BusinessID(c.Business), c.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out.stdout, "key %d is disabled\n", c.ID)
		return err
	})
}

func printJSON(out output, value any, err error) error {
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
