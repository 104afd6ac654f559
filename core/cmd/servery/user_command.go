package main

import (
	"context"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

type userCommand struct {
	Create userCreate `cmd:"" help:"Create a user, or a new one-time link for a user."`
}

type userCreate struct {
	databaseFlags
	Email    string            `required:"" help:"E-mail address of the user."`
	Role     string            `default:"support" enum:"viewer,support,admin" help:"Role: viewer, support or admin."`
	Business []core.BusinessID `help:"Id of a business of the user, repeatable."`
	BaseURL  environ.BaseURL   `env:"*" default:"http://127.0.0.1:8080" help:"URL of the hub, for the link."`
	JSON     bool              `help:"Print JSON."`
}

// Run creates or finds a user, and prints a one-time link.
func (c userCreate) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		user := access.User{Email: c.Email, Role: access.Role(c.Role), Businesses: c.Business}
		user, token, err := accessdb.NewAccounts(db).Invite(ctx, user, "cli", "servery user create")
		if err != nil {
			return err
		}
		link := shell.WelcomeURL(string(c.BaseURL), token)
		return out.show(c.JSON, struct {
			ID    int64       `json:"id"`
			Email string      `json:"email"`
			Role  access.Role `json:"role"`
			Link  string      `json:"link"`
		}{user.ID, user.Email, user.Role, link},
			"user %d: %s, %s\nsign in once within three days, and set a password: %s\n", user.ID, user.Email, user.Role,
			link)
	})
}
