package platforms

import (
	"bytes"
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// ReplaceSettings stores settings with added defaults, and records that in the audit trail. It returns Conflict if the
// settings or the plugin of the platform have changed.
func (p Store) ReplaceSettings(ctx context.Context, tx bun.Conn, plugin string, f aggregator.FilledSettings) error {
	served, access, err := p.Read(ctx, tx, f.Business, f.Platform, " FOR UPDATE")
	if err != nil && core.CodeOf(err) != core.NotFound {
		return err
	}
	if err != nil || served != plugin || !bytes.Equal(access.Settings, f.Before) {
		return core.Errorf(core.Conflict, "platform %q of business %d has changed meanwhile: run the command again",
			f.Platform, f.Business)
	}
	platform := core.Platform{Name: f.Platform, ServedBy: plugin}
	// Without secrets, the platform was not set up, and it stays so.
	var wasSetUp bool
	if err := tx.QueryRowContext(ctx, `SELECT secrets IS NOT NULL FROM platforms WHERE business_id = ? AND name = ?`,
		f.Business, f.Platform).Scan(&wasSetUp); err != nil {
		return fmt.Errorf("reading the platform: %w", err)
	}
	if err := p.setAudited(ctx, tx, f.Business, platform, func(access *relay.Access) error {
		access.Settings = f.After
		return nil
	}); err != nil || wasSetUp {
		return err
	}
	return postgres.Exec(ctx, tx, "storing the platform",
		`UPDATE platforms SET secrets = NULL WHERE business_id = ? AND name = ?`, f.Business, f.Platform)
}
