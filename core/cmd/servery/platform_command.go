package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// platformCommand is about the platforms of a business.
type platformCommand struct {
	List platformList `cmd:"" help:"List the platforms of a business."`
	Set  platformSet  `cmd:"" help:"Make a platform, or give it settings, addresses and secrets."`
}

type platformList struct {
	databaseFlags
	Business int64 `required:"" help:"Id of the business."`
	JSON     bool  `help:"Print JSON."`
}

// Run lists the platforms. Secrets are named, not told.
func (c platformList) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		list, err := postgres.Platforms{DB: db}.List(ctx, core.BusinessID(c.Business))
		if err != nil {
			return err
		}
		for _, p := range list {
			if c.JSON {
				break
			}
			fmt.Fprintf(out.stdout, "%-20s served by %s\n", p.Name, p.ServedBy)
			if p.ServedBy != core.ServedByOwn {
				fmt.Fprintf(out.stdout, "%20s orders accepted by %s\n", "", p.Accept)
			}
			if len(p.Settings) > 0 {
				fmt.Fprintf(out.stdout, "%20s settings %s\n", "", p.Settings)
			}
			for _, endpoint := range slices.Sorted(maps.Keys(p.Addresses)) {
				fmt.Fprintf(out.stdout, "%20s endpoint %s at %s\n", "", endpoint, p.Addresses[endpoint])
			}
			if len(p.Secrets) > 0 {
				fmt.Fprintf(out.stdout, "%20s secrets %s\n", "", strings.Join(p.Secrets, ", "))
			}
		}
		if c.JSON {
			return printJSON(out, listedPlatforms(list), nil)
		}
		return nil
	})
}

// listedPlatforms writes the platforms with the names of the command line.
func listedPlatforms(list []postgres.Platform) []map[string]any {
	out := make([]map[string]any, len(list))
	for i, p := range list {
		out[i] = map[string]any{"name": p.Name, "served_by": p.ServedBy, "endpoints": p.Addresses, "secrets": append([]string{}, p.Secrets...), "accept": p.Accept}
		if len(p.Settings) > 0 {
			out[i]["settings"] = p.Settings
		}
	}
	return out
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

// Run sets a platform up.
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
		settings, err := valueOrFile(c.Settings)
		if err == nil && c.Settings != "" {
			err = c.checkSettings(ctx, db, served, settings)
		}
		if err == nil && c.Accept == string(relay.AcceptPOS) && !slices.Contains(about.GetCapabilities(), sdk.CapabilityOrderAcknowledge) {
			err = core.Errorf(core.Invalid, "accept: platform %s is served by %s, which tells nobody that an order is accepted", c.Name, served)
		}
		if err != nil {
			return err
		}
		var missing []string
		err = postgres.Platforms{DB: db}.SetWithStores(ctx, core.BusinessID(c.Business), core.Platform{Name: c.Name, ServedBy: served}, func(a *relay.Access) error {
			if c.Settings != "" {
				a.Settings = []byte(settings)
			}
			if c.Accept != "" {
				a.Accept = relay.Accept(c.Accept)
			}
			err := errors.Join(c.setAddresses(a, about), c.setSecrets(a, about))
			missing = lacks(a, about)
			return err
		}, c.Store)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out.stdout, "platform %s of business %d is served by %s\n", c.Name, c.Business, served)
		if err == nil && former != served && former != core.ServedByOwn {
			_, err = fmt.Fprintf(out.stdout, "the settings, endpoints and secrets it had with %s are taken away\n", former)
		}
		if err == nil && len(missing) > 0 {
			_, err = fmt.Fprintf(out.stdout, "still missing: %s\n", strings.Join(missing, ", "))
		}
		return err
	})
}

// lacks names what the plugin describes and the platform has not been given, or not rightly.
func lacks(a *relay.Access, about *sdk.Description) (missing []string) {
	for _, e := range about.GetEndpoints() {
		if a.Addresses[e.GetName()] == "" {
			missing = append(missing, "endpoint "+e.GetName())
		}
	}
	for _, s := range about.GetSecrets() {
		if a.Secrets[s.GetName()] == "" {
			missing = append(missing, "secret "+s.GetName())
		}
	}
	return append(missing, pluginhost.WrongSettings(about.GetSettingsSchema(), a.Settings)...)
}

// servedBy is what serves the platform from now on, and what has until now; a new
// one is served by what it will be.
func (c platformSet) servedBy(ctx context.Context, db *postgres.DB) (served, former string, err error) {
	if c.Name == "" || len(c.Name) > 255 {
		return "", "", core.Errorf(core.Invalid, "the name of a platform has 1 to 255 characters")
	}
	former, _, err = postgres.Platforms{DB: db}.Of(ctx, core.BusinessID(c.Business), c.Name)
	if core.CodeOf(err) == core.NotFound {
		served = cmp.Or(c.Plugin, c.Name)
		return served, served, nil
	}
	return cmp.Or(c.Plugin, former), former, err
}

// about is what the plugin says of itself: to a hub, or now, to us.
func (c platformSet) about(ctx context.Context, db *postgres.DB, id string) (*sdk.Description, error) {
	p, err := known(ctx, c.dir(), db, id)
	if err != nil {
		return nil, err
	}
	about := &sdk.Description{}
	if len(p.Description) > 0 {
		return about, proto.Unmarshal(p.Description, about)
	}
	err = alone(ctx, c.dir(), id, func(plugin pluginhost.Plugin) error {
		about = plugin.About()
		return nil
	})
	return about, err
}

func (c platformSet) checkSettings(ctx context.Context, db *postgres.DB, served, settings string) error {
	if served == core.ServedByOwn {
		return core.Errorf(core.Invalid, "settings are for plugins; platform %s is served by %s", c.Name, served)
	}
	if !json.Valid([]byte(settings)) {
		return core.Errorf(core.Invalid, "settings: must be a JSON object")
	}
	tenant, err := db.Business(ctx, core.BusinessID(c.Business))
	if err != nil {
		return err
	}
	return alone(ctx, c.dir(), served, func(plugin pluginhost.Plugin) error {
		problems, err := plugin.CheckSettings(ctx, pluginhost.Subject{Business: tenant.ID, Platform: c.Name, Settings: []byte(settings), Currency: tenant.Currency})
		if err != nil {
			return err
		}
		return wrongSettings(c.Name, plugin.About(), problems)
	})
}

// wrongSettings is what a plugin has against settings of a platform, and which it knows.
func wrongSettings(platform string, about *sdk.Description, problems []*sdk.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	found := make([]string, len(problems))
	for i, p := range problems {
		found[i] = fmt.Sprintf("platform %q: %s", platform, pluginhost.InWords(p))
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if json.Unmarshal(about.GetSettingsSchema(), &schema) == nil && len(schema.Properties) > 0 {
		found = append(found, "its plugin has the settings: "+strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", "))
	}
	return core.Errorf(core.Invalid, "%s", strings.Join(found, "\n"))
}

func (c platformSet) setAddresses(a *relay.Access, about *sdk.Description) error {
	if a.Addresses == nil {
		a.Addresses = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Endpoint)) {
		address := c.Endpoint[name]
		if address == "" {
			delete(a.Addresses, name)
			continue
		}
		if err := pluginhost.CheckAddress(about, name, address); err != nil {
			return err
		}
		a.Addresses[name] = strings.TrimSuffix(address, "/")
	}
	return nil
}

func (c platformSet) setSecrets(a *relay.Access, about *sdk.Description) error {
	if a.Secrets == nil {
		a.Secrets = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secret)) {
		declared := func(s *pb.Secret) bool { return s.GetName() == name }
		if !slices.ContainsFunc(about.GetSecrets(), declared) {
			return core.Errorf(core.Invalid, "secret %q: plugin %s has none of that name", name, about.GetId())
		}
		value, err := valueOrFile(c.Secret[name])
		if err != nil {
			return err
		}
		if value == "" {
			delete(a.Secrets, name)
			continue
		}
		a.Secrets[name] = value
	}
	return nil
}

// valueOrFile is a value, or what is in the file that @ names, without the line end.
func valueOrFile(value string) (string, error) {
	file, named := strings.CutPrefix(value, "@")
	if !named {
		return value, nil
	}
	text, err := os.ReadFile(file)
	return strings.TrimRight(string(text), "\r\n"), err
}
