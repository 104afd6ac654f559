package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
)

// platformAlias manages the aliases of platforms.
type platformAlias struct {
	Add    aliasAdd    `cmd:"" default:"withargs" help:"Give a platform another name, which clients of the business have fixed in their code."`
	Set    aliasSet    `cmd:"" help:"Say whether events name the platform by an alias."`
	List   aliasList   `cmd:"" help:"List the aliases of the platforms of a business."`
	Remove aliasRemove `cmd:"" help:"Remove an alias."`
}

type aliasAdd struct {
	databaseFlags
	Business int64  `required:"" help:"Id of the business."`
	Alias    string `arg:"" help:"The alias: the name that clients send."`
	Platform string `arg:"" help:"Name of the platform."`
	Sent     *bool  `negatable:"" help:"Events name the platform by this alias; at first yes for the first alias of a platform, and no for others."`
}

// Run adds an alias.
func (c aliasAdd) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		business := core.BusinessID(c.Business)
		err := aliases.New(db).AddAlias(ctx, business, c.Alias, c.Platform, c.Sent,
			accessdb.ByCommand(business, "platform.alias"))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out.stdout, "%s is an alias of the platform %s of business %d\n", c.Alias, c.Platform,
			c.Business)
		return err
	})
}

type aliasSet struct {
	databaseFlags
	Business int64  `required:"" help:"Id of the business."`
	Alias    string `arg:"" help:"The alias."`
	Sent     *bool  `required:"" negatable:"" help:"Events name the platform by this alias, and by no other; --no-sent: by its own name."`
}

// Run sets whether events use an alias.
func (c aliasSet) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		business := core.BusinessID(c.Business)
		err := aliases.New(db).SendAlias(ctx, business, c.Alias, *c.Sent,
			accessdb.ByCommand(business, "platform.send_alias"))
		if err != nil {
			return err
		}
		state := "not sent"
		if *c.Sent {
			state = "sent"
		}
		_, err = fmt.Fprintf(out.stdout, "the alias %s of business %d is %s\n", c.Alias, c.Business, state)
		return err
	})
}

type aliasList struct {
	databaseFlags
	Business int64 `required:"" help:"Id of the business."`
	JSON     bool  `help:"Print JSON."`
}

// Run lists the aliases, sorted by platform.
func (c aliasList) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		list, err := aliases.New(db).ListAliases(ctx, core.BusinessID(c.Business))
		if err != nil || c.JSON {
			return printJSON(out, list, err)
		}
		for _, a := range list {
			fmt.Fprintf(out.stdout, "%-20s %s\n", a.Platform, aliasText(a))
		}
		return nil
	})
}

// aliasText returns an alias as lists show it.
func aliasText(a core.PlatformAlias) string {
	if a.Sent {
		return a.Alias + " (sent)"
	}
	return a.Alias
}

type aliasRemove struct {
	databaseFlags
	Business int64  `required:"" help:"Id of the business."`
	Alias    string `arg:"" help:"The alias."`
}

// Run removes an alias.
func (c aliasRemove) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		business := core.BusinessID(c.Business)
		err := aliases.New(db).RemoveAlias(ctx, business, c.Alias, accessdb.ByCommand(business, "platform.unalias"))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out.stdout, "the alias %s of business %d is removed\n", c.Alias, c.Business)
		return err
	})
}
