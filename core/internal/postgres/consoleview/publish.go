package consoleview

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
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

// menusRead bounds the menus that are searched for a rejected item.
const menusRead = 1000

// itemRejections returns the problems that platforms reported for an item in accepted menus,
// one per platform. If store, a ref_id, is set, it reads that store only.
func (c Store) itemRejections(ctx context.Context, business core.BusinessID, refID,
	store string) (list []console.ItemRejection, err error) {
	quoted, err := json.Marshal(refID) // as it appears in problems
	if err != nil {
		return nil, err
	}
	rows, err := c.db.Tenant(business).QueryContext(ctx,
		`SELECT platform, problems FROM publications WHERE business_id = ?0 AND state = 'published' AND problems LIKE ?1
		AND (?2 = '' OR store_id = (SELECT id FROM stores WHERE business_id = ?0 AND ref_id = ?2))
			ORDER BY platform, settled_at DESC LIMIT ?3`,
		business, containsPattern(string(quoted)), store, menusRead)
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
		at := slices.IndexFunc(problems, func(p publish.Problem) bool { return p.Entity == "item" && p.RefID == refID })
		switch last := len(list) - 1; {
		case at < 0:
		case last >= 0 && list[last].Platform == platform:
			list[last].Stores++
		default:
			list = append(list, console.ItemRejection{Platform: platform, Message: problems[at].Message, Stores: 1})
		}
	}
	return list, rows.Err()
}
