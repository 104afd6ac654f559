package main

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core/internal/hub"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/webhook"
)

type businessSecret struct {
	businessFlags
	overlapFlag
	JSON bool `help:"Print JSON."`
}

// overlapFlag is how long the previous signing secret also signs.
type overlapFlag struct {
	SecretOverlap time.Duration `env:"*" default:"24h" help:"How long a replaced signing secret also signs."`
}

// Run replaces the callback secret of a business and prints the new one.
func (c businessSecret) Run(ctx context.Context, out output) error {
	if err := hub.CheckOverlap(c.SecretOverlap); err != nil {
		return err
	}
	return c.withHub(ctx, out, func(db *hub.Database) error {
		secret, until := webhook.NewSecret(), db.Clock().Now().Add(c.SecretOverlap)
		if err := accessdb.New(db.DB).ReplaceCallbackSecret(ctx, c.Business, secret, until); err != nil {
			return err
		}
		return out.show(c.JSON, struct {
			Secret string `json:"callback_secret"`
			Until  int64  `json:"old_secret_until"` // epoch milliseconds
		}{secret, until.UnixMilli()},
			"callback secret of business %d (signs deliveries to a callback_url; shown once): %s\n"+
				"the earlier one signs too until %s\n", c.Business, secret, until.UTC().Format(time.RFC3339))
	})
}
