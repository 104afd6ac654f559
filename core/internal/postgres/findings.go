package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// findingRow is what one rule of a platform has against an item.
type findingRow struct {
	Item                    int64
	Platform, Rule, Message string
}

// keepFindings puts what an inspection found in the place of what the same
// platforms had against the same items. Where that is something else than
// before, readers of menus see a new version; changed are the items of which it is.
func keepFindings(ctx context.Context, tx bun.Conn, business core.BusinessID, inspected []string, findings []menu.ItemFindings) (changed []int64, err error) {
	if len(inspected) == 0 || len(findings) == 0 {
		return nil, nil
	}
	var items []int64
	found := map[findingRow]bool{}
	for _, item := range findings {
		items = append(items, item.ID)
		for _, f := range item.Findings {
			found[findingRow{item.ID, f.Platform, f.Rule, f.Message}] = true
		}
	}
	slices.Sort(items)
	items = slices.Compact(items)
	before, err := readFindings(ctx, tx, `item_id = ANY (?) AND platform = ANY (?)`, business, array(items), array(inspected))
	if err != nil {
		return nil, err
	}
	fresh := maps.Clone(found)
	for _, row := range before {
		if !found[row] {
			changed = append(changed, row.Item)
		}
		delete(fresh, row)
	}
	for row := range fresh {
		changed = append(changed, row.Item)
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM platform_findings WHERE business_id = ? AND item_id = ANY (?) AND platform = ANY (?)`,
		business, array(items), array(inspected)); err != nil {
		return nil, fmt.Errorf("removing findings: %w", err)
	}
	ids, columns := make([]int64, 0, len(found)), [3][]string{}
	for row := range found {
		ids = append(ids, row.Item)
		columns[0], columns[1], columns[2] = append(columns[0], row.Platform), append(columns[1], row.Rule), append(columns[2], row.Message)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO platform_findings (business_id, item_id, platform, rule, message)
		SELECT ?, * FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[])
		ON CONFLICT DO NOTHING`, business, array(ids), array(columns[0]), array(columns[1]), array(columns[2])); err != nil {
		return nil, fmt.Errorf("writing findings: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO menu_versions AS v (business_id, store_id, version) VALUES (?, 0, 1)
		ON CONFLICT (business_id, store_id) DO UPDATE SET version = v.version + 1`, business); err != nil {
		return nil, fmt.Errorf("counting the change: %w", err)
	}
	return changed, nil
}

func readFindings(ctx context.Context, tx bun.IDB, condition string, business core.BusinessID, args ...any) (list []findingRow, err error) {
	return listOf(ctx, tx, "reading findings", func(row *findingRow) []any {
		return []any{&row.Item, &row.Platform, &row.Rule, &row.Message}
	}, `SELECT item_id, platform, rule, message FROM platform_findings WHERE business_id = ? AND `+condition,
		append([]any{business}, args...)...)
}

// blocked reads which items the rules of platforms refuse; nil where none is.
func (l *menuLoader) blocked() (blocked map[string]map[int64]bool, err error) {
	list, err := readFindings(l.ctx, l.tx, "true", l.business)
	for _, row := range list {
		if blocked == nil {
			blocked = map[string]map[int64]bool{}
		}
		if blocked[row.Platform] == nil {
			blocked[row.Platform] = map[int64]bool{}
		}
		blocked[row.Platform][row.Item] = true
	}
	return blocked, err
}
