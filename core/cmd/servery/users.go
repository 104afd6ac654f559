package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

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

// Check returns all mistakes in the flags.
func (c userCreate) Check() error { return errors.Join(c.databaseFlags.Check(), wrongBase(c.BaseURL)) }

// Run creates or finds a user, and prints a one-time link.
func (c userCreate) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		user := access.User{Email: c.Email, Role: access.Role(c.Role)}
		for _, id := range c.Business {
			user.Businesses = append(user.Businesses, core.BusinessID(id))
		}
		user, token, err := accessdb.NewAccounts(db).Invite(ctx, user, "cli", "servery user create")
		link := shell.WelcomeURL(c.BaseURL, token)
		if err != nil || c.JSON {
			return printJSON(out, struct {
				ID    int64       `json:"id"`
				Email string      `json:"email"`
				Role  access.Role `json:"role"`
				Link  string      `json:"link"`
			}{user.ID, user.Email, user.Role, link}, err)
		}
		_, err = fmt.Fprintf(out.stdout, "user %d: %s, %s\nsign in once within three days, and set a password: %s\n",
			user.ID, user.Email, user.Role, link)
		return err
	})
}
