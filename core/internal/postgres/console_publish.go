package postgres

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// PublishNow has the menu of a store published at once, on the named platforms, or
// with none on all on which it is listed, with the change that says who wanted it.
// NotFound where there is no such store or platform, Conflict where there is nowhere
// to publish it.
func (c Console) PublishNow(ctx context.Context, business core.BusinessID, storeRef string, platforms []string, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		reference := core.NewID(c.clock.Now())
		n, err := c.askToPublish(ctx, tx, business, storeRef, platforms, reference)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.Errorf(core.Conflict, "the store is listed on no platform of an aggregator: there is nowhere to publish it")
		}
		change.Object = "store/" + storeRef
		change.After = map[string]any{"reference": reference.String(), "platforms": n}
		if len(platforms) > 0 {
			change.After["platform"] = platforms[0]
		}
		return c.record(ctx, tx, change)
	})
}
