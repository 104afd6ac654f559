package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
)

// platformAlias manages the aliases of platforms.
type platformAlias struct {
	Add    aliasAdd    `cmd:"" default:"withargs" help:"Add an alias of a platform."`
	Set    aliasSet    `cmd:"" help:"Set whether events contain an alias."`
	List   aliasList   `cmd:"" help:"List the aliases of the platforms of a business."`
	Remove aliasRemove `cmd:"" help:"Remove an alias."`
}

type aliasAdd struct {
	businessFlags
	Alias    string `arg:"" help:"The name that clients send."`
	Platform string `arg:"" help:"Name of the platform."`
	Sent     *bool  `negatable:"" help:"Events contain this alias. Default: yes for the first alias of a platform."`
}

// Run adds an alias.
func (c aliasAdd) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		err := aliases.New(db).AddAlias(ctx, c.Business,
			core.NewPlatformAlias{Alias: c.Alias, Platform: c.Platform, InEvents: c.Sent},
			accessdb.CommandLineChange(c.Business, "platform.alias"))
		if err != nil {
			return err
		}
		return out.show(false, nil, "%s is an alias of the platform %s of business %d\n", c.Alias, c.Platform,
			c.Business)
	})
}

type aliasSet struct {
	businessFlags
	Alias string `arg:"" help:"The alias."`
	Sent  *bool  `required:"" negatable:"" help:"Events contain this alias instead of the name."`
}

// Run sets whether events use an alias.
func (c aliasSet) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		err := aliases.New(db).SendAlias(ctx, c.Business, c.Alias, *c.Sent,
			accessdb.CommandLineChange(c.Business, "platform.send_alias"))
		if err != nil {
			return err
		}
		state := "not sent"
		if *c.Sent {
			state = "sent"
		}
		return out.show(false, nil, "the alias %s of business %d is %s\n", c.Alias, c.Business, state)
	})
}

type aliasList struct {
	businessFlags
	JSON bool `help:"Print JSON."`
}

// Run lists the aliases, sorted by platform.
func (c aliasList) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		list, err := aliases.New(db).ListAliases(ctx, c.Business)
		if err != nil {
			return err
		}
		if c.JSON {
			return out.show(true, list, "")
		}
		for _, a := range list {
			fmt.Fprintf(out.stdout, "%-20s %s\n", a.Platform, a)
		}
		return nil
	})
}

type aliasRemove struct {
	businessFlags
	Alias string `arg:"" help:"The alias."`
}

// Run removes an alias.
func (c aliasRemove) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		err := aliases.New(db).RemoveAlias(ctx, c.Business, c.Alias,
			accessdb.CommandLineChange(c.Business, "platform.unalias"))
		if err != nil {
			return err
		}
		return out.show(false, nil, "the alias %s of business %d is removed\n", c.Alias, c.Business)
	})
}
