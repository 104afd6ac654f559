package calls

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
)

// Switch stores settings of platforms, calls install, and does what SetEnabled does, in one transaction. It returns
// Conflict if settings have changed since they were read.
func (p Plugins) Switch(ctx context.Context, id string, enabled bool, filled []aggregator.FilledSettings,
	install func() error) error {
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		for _, f := range filled {
			if err := platforms.New(p.db).ReplaceSettings(ctx, tx, id, f); err != nil {
				return err
			}
		}
		if err := p.setEnabled(ctx, tx, id, enabled); err != nil {
			return err
		}
		return install()
	})
}
