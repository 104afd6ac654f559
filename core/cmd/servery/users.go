package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// accounts joins what signing in to the console needs.
func accounts(db *postgres.DB) access.Accounts {
	c := postgres.Console{DB: db}
	return access.Accounts{Users: c, Sessions: c, Attempts: c, Clock: db.Clock()}
}

// welcome makes a user, or finds the one there is, and a one-time link at the address of the hub.
func welcome(ctx context.Context, db *postgres.DB, wanted access.User, base, actor, why string) (access.User, string, error) {
	a := accounts(db)
	user, token, err := a.CreateUser(ctx, wanted, actor, why)
	if core.CodeOf(err) == core.Conflict {
		if user, err = a.Users.UserByEmail(ctx, strings.ToLower(wanted.Email)); err == nil {
			token, err = a.Link(ctx, user.ID)
		}
	}
	return user, strings.TrimSuffix(base, "/") + shell.WelcomePath + "?link=" + token, err
}

type userCommand struct {
	Create userCreate `cmd:"" help:"Make a user of the console, or a new link for one; prints a link that works once."`
}

type userCreate struct {
	databaseFlags
	Email    string  `required:"" help:"Address, by which the user signs in."`
	Role     string  `default:"support" enum:"viewer,support,admin" help:"viewer reads, support also acts, admin does everything everywhere."`
	Business []int64 `help:"Id of a business that a viewer or supporter may see; repeatable."`
	BaseURL  string  `name:"base-url" env:"SERVERY_BASE_URL" default:"http://127.0.0.1:8080" help:"Address of the hub as people reach it, for the link."`
	JSON     bool    `help:"Print JSON."`
}

// check finds what is wrong with the flags, all of it.
func (c userCreate) check() error { return errors.Join(c.databaseFlags.check(), wrongBase(c.BaseURL)) }

// Run makes a user, or finds the one there is, and prints a one-time link.
func (c userCreate) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		user := access.User{Email: c.Email, Role: access.Role(c.Role)}
		for _, id := range c.Business {
			user.Businesses = append(user.Businesses, core.BusinessID(id))
		}
		user, link, err := welcome(ctx, db, user, c.BaseURL, "cli", "servery user create")
		if err != nil || c.JSON {
			return printJSON(out, struct {
				ID    int64       `json:"id"`
				Email string      `json:"email"`
				Role  access.Role `json:"role"`
				Link  string      `json:"link"`
			}{user.ID, user.Email, user.Role, link}, err)
		}
		_, err = fmt.Fprintf(out.stdout, "user %d: %s, %s\nsign in once within three days, and set a password: %s\n", user.ID, user.Email, user.Role, link)
		return err
	})
}

// demoAdmin is the address of the demo's user.
const demoAdmin = "admin@demo.example"

// demoLink is a fresh link for the demo's user, who is made on the first start.
func demoLink(ctx context.Context, db *postgres.DB, base string) (string, error) {
	_, link, err := welcome(ctx, db, access.User{Email: demoAdmin, Role: access.Admin}, base, "hub", "the demo")
	return link, err
}
