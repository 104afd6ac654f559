package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

// platformCommand manages the platforms of a business.
type platformCommand struct {
	List platformList `cmd:"" help:"List the platforms of a business."`
	Set  platformSet  `cmd:"" help:"Make a platform, or give it settings, addresses and secrets."`
}

type platformSet struct {
	databaseFlags
	pluginFlags
	Business int64             `required:"" help:"Id of the business."`
	Name     string            `arg:"" help:"Name of the platform, as the business calls it."`
	Plugin   string            `help:"Id of the plugin that serves it, or own; as it was, else the plugin of the same id. Another than before begins without settings, endpoints and secrets."`
	Settings string            `placeholder:"JSON" help:"Settings for the plugin, a JSON object, or @FILE; {} takes them away."`
	Endpoint map[string]string `placeholder:"NAME=URL" help:"Base address of an endpoint; an empty one takes it away."`
	Secret   map[string]string `placeholder:"NAME=VALUE" help:"A secret, or @FILE that holds it; an empty one takes it away."`
	Accept   string            `enum:",hub,pos" default:"" placeholder:"hub|pos" help:"Who accepts the platform's orders: hub, as soon as one is stored; pos, when the POS acknowledges it. hub at first."`
	Store    map[string]string `placeholder:"REF=PLATFORM_STORE_ID" help:"By which id of its own the platform knows a store; an empty one takes it away."`
}

// Run configures a platform.
func (c platformSet) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		served, former, err := c.servedBy(ctx, db)
		if err != nil {
			return err
		}
		var about *sdk.Description
		if served != core.ServedByOwn {
			if about, err = c.about(ctx, db, served); err != nil {
				return err
			}
		}
		change, err := c.change(about)
		if err == nil && change.Settings != nil {
			err = c.checkSettings(ctx, db, served, change.Settings)
		}
		if err != nil {
			return err
		}
		var missing []string
		err = platforms.New(db).SetWithStores(ctx, core.BusinessID(c.Business),
			core.Platform{Name: c.Name, ServedBy: served}, func(a *relay.Access) error {
				missing, err = change.Apply(a, about)
				return err
			}, c.Store)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out.stdout, "platform %s of business %d is served by %s\n", c.Name, c.Business, served)
		if err == nil && former != served && former != core.ServedByOwn {
			_, err = fmt.Fprintf(out.stdout, "the settings, endpoints and secrets it had with %s are taken away\n",
				former)
		}
		if err == nil && len(missing) > 0 {
			_, err = fmt.Fprintf(out.stdout, "still missing: %s\n", strings.Join(missing, ", "))
		}
		return err
	})
}

// change converts the flags.
func (c platformSet) change(about *sdk.Description) (change aggregator.PlatformChange, err error) {
	change = aggregator.PlatformChange{Platform: c.Name, Accept: relay.Accept(c.Accept), Endpoints: c.Endpoint,
		Secrets: map[string]string{}}
	if c.Settings != "" {
		settings, err := valueOrFile(c.Settings)
		if err != nil {
			return change, err
		}
		change.Settings = []byte(settings)
	}
	for name, value := range c.Secret {
		if change.Secrets[name], err = valueOrFile(value); err != nil {
			return change, err
		}
	}
	return change, change.Check(about)
}

// servedBy returns the new and the former plugin of the platform, which are equal for a new platform.
func (c platformSet) servedBy(ctx context.Context, db *postgres.DB) (served, former string, err error) {
	if c.Name == "" || len(c.Name) > 255 {
		return "", "", core.Errorf(core.Invalid, "the name of a platform must have 1 to 255 characters")
	}
	former, _, err = platforms.New(db).Of(ctx, core.BusinessID(c.Business), c.Name)
	if core.CodeOf(err) == core.NotFound {
		served = cmp.Or(c.Plugin, c.Name)
		return served, served, nil
	}
	return cmp.Or(c.Plugin, former), former, err
}

// about returns the plugin's description: the stored one, or that of a test start.
func (c platformSet) about(ctx context.Context, db *postgres.DB, id string) (*sdk.Description, error) {
	p, err := c.pluginFlags.find(ctx, db, id)
	if err != nil {
		return nil, err
	}
	about := &sdk.Description{}
	if len(p.Description) > 0 {
		return about, proto.Unmarshal(p.Description, about)
	}
	err = aggregator.Standalone(ctx, c.dir(), id, func(plugin pluginhost.Plugin) error {
		about = plugin.About()
		return nil
	})
	return about, err
}

func (c platformSet) checkSettings(ctx context.Context, db *postgres.DB, served string, settings []byte) error {
	if served == core.ServedByOwn {
		return core.Errorf(core.Invalid,
			"settings are only for plugins, and platform %s is served by %s", c.Name, served)
	}
	if !json.Valid(settings) {
		return core.Errorf(core.Invalid, "settings: must be a JSON object")
	}
	tenant, err := accessdb.New(db).Business(ctx, core.BusinessID(c.Business))
	if err != nil {
		return err
	}
	return aggregator.Standalone(ctx, c.dir(), served, func(plugin pluginhost.Plugin) error {
		problems, err := plugin.CheckSettings(ctx,
			pluginhost.Subject{Business: tenant.ID, Platform: c.Name, Settings: settings,
				Currency: tenant.Currency})
		if err != nil {
			return err
		}
		return aggregator.InvalidSettings(c.Name, plugin.About(), problems)
	})
}

// valueOrFile returns a value, or the content of the file after @, without the line end.
func valueOrFile(value string) (string, error) {
	file, named := strings.CutPrefix(value, "@")
	if !named {
		return value, nil
	}
	text, err := os.ReadFile(file)
	return strings.TrimRight(string(text), "\r\n"), err
}
