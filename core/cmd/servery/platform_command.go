package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/relay"
)

// platformCommand manages the platforms of a business.
type platformCommand struct {
	List  platformList  `cmd:"" help:"List the platforms of a business."`
	Set   platformSet   `cmd:"" help:"Create a platform, or change its plugin, settings and secrets."`
	Alias platformAlias `cmd:"" help:"Manage further names of platforms."`
}

type platformSet struct {
	businessFlags
	pluginFlags
	Name     string            `arg:"" help:"Name of the platform."`
	Plugin   string            `help:"Id of its plugin, or own. Another plugin drops settings, endpoints and secrets."`
	Settings string            `placeholder:"JSON" help:"Settings of the plugin, as JSON or @FILE."`
	Endpoint map[string]string `placeholder:"NAME=URL" help:"Base URL of an endpoint, or empty."`
	Secret   map[string]string `placeholder:"NAME[@REF]=VALUE" help:"Secret (of store REF), @FILE or empty."`
	Accept   string            `enum:",hub,pos" default:"" placeholder:"hub|pos" help:"Acceptor of orders."`
	Store    map[string]string `placeholder:"REF=ID" help:"The platform's id of a store, or empty."`
}

// Run configures a platform.
func (c platformSet) Run(ctx context.Context, out output) error {
	change, err := c.change()
	if err != nil {
		return err
	}
	return c.withHub(ctx, out, func(db *hub.Database) error {
		set, err := c.pluginDir(db).SetPlatform(ctx, c.Business, c.Plugin, change, c.Store)
		if err != nil {
			return err
		}
		fmt.Fprintf(out.stdout, "platform %s of business %d is served by %s\n", c.Name, c.Business, set.ServedBy)
		if set.Previous != set.ServedBy && set.Previous != core.ServedByMerchant {
			fmt.Fprintf(out.stdout, "its settings, endpoints and secrets of %s are removed\n", set.Previous)
		}
		if len(set.Missing) > 0 {
			fmt.Fprintf(out.stdout, "still missing: %s\n", strings.Join(set.Missing, ", "))
		}
		return nil
	})
}

// change converts the flags.
func (c platformSet) change() (change aggregator.PlatformChange, err error) {
	change = aggregator.PlatformChange{Platform: c.Name, Accept: relay.Accept(c.Accept), Endpoints: c.Endpoint}
	settings, err := valueOrFile(c.Settings)
	if err != nil {
		return change, err
	}
	if settings != "" {
		change.Settings = []byte(settings)
	}
	change.Secrets, err = valuesOrFiles(c.Secret)
	return change, err
}

// valuesOrFiles returns each value, or the content of its file.
func valuesOrFiles(given map[string]string) (map[string]string, error) {
	values := map[string]string{}
	for name, value := range given {
		var err error
		if values[name], err = valueOrFile(value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// valueOrFile returns a value, or the content of the file after @, without the line end. An empty file is an error,
// because an empty value removes what is stored.
func valueOrFile(value string) (string, error) {
	file, named := strings.CutPrefix(value, "@")
	if !named {
		return value, nil
	}
	content, err := os.ReadFile(file)
	text := strings.TrimRight(string(content), "\r\n")
	if err == nil && text == "" {
		err = fmt.Errorf("%s is empty", file)
	}
	return text, err
}
