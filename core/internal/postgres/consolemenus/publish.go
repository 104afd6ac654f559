package consolemenus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/publish"
)

// PublishNow publishes the menu of a store at once, on the named platforms or on all that
// list it, and records the audit entry. It returns NotFound for an unknown store or
// platform, and Conflict if there is no platform to publish to.
func (c Store) PublishNow(ctx context.Context, business core.BusinessID, storeRef string, platforms []string,
	change access.Change) error {
	return c.db.InTx(ctx, func(tx bun.Conn) error {
		reference := core.NewID(c.db.Clock().Now())
		count, err := publications.RequestPublish(ctx, c.db, tx, publications.PublishRequest{
			Business: business, StoreRef: storeRef, Platforms: platforms, Reference: reference,
		})
		if err != nil {
			return err
		}
		if count == 0 {
			return core.Errorf(core.Conflict,
				"the store is listed on no platform of an aggregator")
		}
		change.Object = "store/" + storeRef
		change.After = map[string]any{"reference": reference.String(), "platforms": count}
		if len(platforms) > 0 {
			change.After["platform"] = platforms[0]
		}
		return c.db.RecordAudit(ctx, tx, change)
	})
}

// Bounds of an item's rejections: the menus that are searched, and the different messages.
const (
	menusRead       = 1000
	rejectionsShown = 20
)

// itemRejections returns the problems that platforms reported for an item in accepted menus,
// one per platform and message.
func (c Store) itemRejections(ctx context.Context, business core.BusinessID,
	refID string) (list []console.ItemRejection, err error) {
	quoted, err := json.Marshal(refID) // as it appears in problems
	if err != nil {
		return nil, err
	}
	rows, err := c.db.Tenant(business).QueryContext(ctx,
		`SELECT platform, problems FROM publications WHERE business_id = ?0 AND state = 'published' AND problems LIKE ?1
			ORDER BY platform, settled_at DESC LIMIT ?2`,
		business, postgres.ContainsPattern(string(quoted)), menusRead)
	if err != nil {
		return nil, fmt.Errorf("reading where the item was rejected: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var platform string
		var raw []byte
		if err := rows.Scan(&platform, &raw); err != nil {
			return nil, fmt.Errorf("reading where the item was rejected: %w", err)
		}
		var problems []publish.Problem
		if err := json.Unmarshal(raw, &problems); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		for _, problem := range problems {
			if problem.Entity != "item" || problem.RefID != refID {
				continue
			}
			at := slices.IndexFunc(list, func(r console.ItemRejection) bool {
				return r.Platform == platform && r.Message == problem.Message
			})
			if at < 0 && len(list) < rejectionsShown {
				at, list = len(list), append(list, console.ItemRejection{Platform: platform, Message: problem.Message})
			}
			if at >= 0 {
				list[at].Stores++
			}
		}
	}
	return list, rows.Err()
}
