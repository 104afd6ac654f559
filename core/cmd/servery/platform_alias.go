package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hub"
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
	alias := core.NewPlatformAlias{Alias: c.Alias, Platform: c.Platform, InEvents: c.Sent}
	return c.changeAlias(ctx, out, "platform.alias", func(db aliases.Store, change access.Change) (string, error) {
		return fmt.Sprintf("%s is an alias of the platform %s of business %d\n", c.Alias, c.Platform, c.Business),
			db.AddAlias(ctx, c.Business, alias, change)
	})
}

// changeAlias opens the database, calls do with the entry for the audit trail, and prints the text that do returns.
func (f businessFlags) changeAlias(ctx context.Context, out output, action string,
	do func(aliases.Store, access.Change) (string, error)) error {
	return f.withHub(ctx, out, func(db *hub.Database) error {
		text, err := do(aliases.New(db.DB), accessdb.CommandLineChange(f.Business, action))
		if err != nil {
			return err
		}
		return out.show(false, nil, "%s", text)
	})
}

type aliasSet struct {
	businessFlags
	Alias string `arg:"" help:"The alias."`
	Sent  *bool  `required:"" negatable:"" help:"Events contain this alias instead of the name."`
}

// Run sets whether events use an alias.
func (c aliasSet) Run(ctx context.Context, out output) error {
	state := map[bool]string{true: "sent", false: "not sent"}[*c.Sent]
	return c.changeAlias(ctx, out, "platform.send_alias", func(db aliases.Store, change access.Change) (string, error) {
		return fmt.Sprintf("the alias %s of business %d is %s\n", c.Alias, c.Business, state),
			db.SendAlias(ctx, c.Business, c.Alias, *c.Sent, change)
	})
}

type aliasList struct {
	businessFlags
	JSON bool `help:"Print JSON."`
}

// Run lists the aliases, sorted by platform.
func (c aliasList) Run(ctx context.Context, out output) error {
	return c.withBusiness(ctx, out, func(db *hub.Database) error {
		list, err := aliases.New(db.DB).ListAliases(ctx, c.Business)
		if err != nil {
			return err
		}
		text := ""
		for _, a := range list {
			text += fmt.Sprintf("%-20s %s\n", a.Platform, a)
		}
		return out.show(c.JSON, list, "%s", text)
	})
}

type aliasRemove struct {
	businessFlags
	Alias string `arg:"" help:"The alias."`
}

// Run removes an alias.
func (c aliasRemove) Run(ctx context.Context, out output) error {
	return c.changeAlias(ctx, out, "platform.unalias", func(db aliases.Store, change access.Change) (string, error) {
		return fmt.Sprintf("the alias %s of business %d is removed\n", c.Alias, c.Business),
			db.RemoveAlias(ctx, c.Business, c.Alias, change)
	})
}
