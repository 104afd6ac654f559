package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/hub"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

type userCommand struct {
	Create userCreate `cmd:"" help:"Create or extend a user, and print a one-time link."`
}

type userCreate struct {
	databaseFlags
	Email string `required:"" help:"E-mail address of the user."`

	Role string `enum:",viewer,support,admin" default:"" help:"Role: viewer, support (default) or admin."`

	Business []core.BusinessID `help:"Id of a business that the user may see, repeatable."`
	BaseURL  environ.BaseURL   `env:"*" default:"http://127.0.0.1:8080" help:"URL of the hub, for the link."`
	JSON     bool              `help:"Print JSON."`
}

// Run creates a user, or extends the rights of an existing one, and prints a one-time link.
func (c userCreate) Run(ctx context.Context, out output) error {
	return c.withHub(ctx, out, func(db *hub.Database) error {
		user := access.User{Email: c.Email, Role: access.Role(c.Role), Businesses: c.Business}
		invited, err := accessdb.NewAccounts(db.DB).Invite(ctx, user, "cli", "servery user create")
		if err != nil {
			return err
		}
		state := "exists already, unchanged"
		switch {
		case invited.Created:
			state = "created"
		case invited.Changed:
			state = "changed"
		}
		user = invited.User
		link := shell.WelcomeURL(string(c.BaseURL), invited.Token)
		return out.show(c.JSON, struct {
			ID         int64             `json:"id"`
			Email      string            `json:"email"`
			Role       access.Role       `json:"role"`
			Businesses []core.BusinessID `json:"businesses"`
			State      string            `json:"state"`
			Link       string            `json:"link"`
		}{user.ID, user.Email, user.Role, user.Businesses, state, link},
			"user %d: %s, %s, %s\n%s\nsign in once within three days, and set a password: %s\n",
			user.ID, user.Email, user.Role, grantedTo(user), state, link)
	})
}

// grantedTo lists the businesses that a user may see.
func grantedTo(user access.User) string {
	switch {
	case user.Role == access.Admin:
		return "all businesses"
	case len(user.Businesses) == 0:
		return "no business yet: repeat with --business ID"
	}
	return "businesses " + strings.Trim(fmt.Sprint(user.Businesses), "[]")
}
