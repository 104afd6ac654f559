package publications

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// findingRow is a finding of one platform rule against an item.
type findingRow struct {
	Item                    int64
	Platform, Rule, Message string
}

// ReplaceFindings replaces the findings of the inspected platforms against the same items. It
// returns the items whose findings changed. If there are any, the menu version increases.
func ReplaceFindings(ctx context.Context, tx bun.Conn, business core.BusinessID, inspected []string,
	findings []menu.ItemFindings) (changed []int64, err error) {
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
	before, err := ReadFindings(ctx, tx, `item_id = ANY (?) AND platform = ANY (?)`, business, postgres.Array(items),
		postgres.Array(inspected))
	if err != nil {
		return nil, err
	}
	added := maps.Clone(found)
	for _, row := range before {
		if !found[row] {
			changed = append(changed, row.Item)
		}
		delete(added, row)
	}
	for row := range added {
		changed = append(changed, row.Item)
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := tx.ExecContext(ctx,
		`DELETE FROM platform_findings WHERE business_id = ? AND item_id = ANY (?) AND platform = ANY (?)`,
		business, postgres.Array(items), postgres.Array(inspected)); err != nil {
		return nil, fmt.Errorf("removing findings: %w", err)
	}
	ids, columns := make([]int64, 0, len(found)), [3][]string{}
	for row := range found {
		ids = append(ids, row.Item)
		columns[0], columns[1], columns[2] = append(columns[0], row.Platform), append(columns[1], row.Rule),
			append(columns[2], row.Message)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO platform_findings (business_id, item_id, platform, rule, message)
		SELECT ?, * FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[])
		ON CONFLICT DO NOTHING`, business, postgres.Array(ids), postgres.Array(columns[0]), postgres.Array(columns[1]),
		postgres.Array(columns[2])); err != nil {
		return nil, fmt.Errorf("writing findings: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO menu_versions AS v (business_id, store_id, version) VALUES (?, 0, 1)
		ON CONFLICT (business_id, store_id) DO UPDATE SET version = v.version + 1`, business); err != nil {
		return nil, fmt.Errorf("counting the change: %w", err)
	}
	return changed, nil
}

// ReadFindings returns the findings that a condition selects.
func ReadFindings(ctx context.Context, tx bun.IDB, condition string, business core.BusinessID,
	args ...any) (list []findingRow, err error) {
	return postgres.Collect(ctx, tx, "reading findings", func(row *findingRow) []any {
		return []any{&row.Item, &row.Platform, &row.Rule, &row.Message}
	},
		bun.SafeQuery(
			`SELECT item_id, platform, rule, message FROM platform_findings WHERE business_id = ? AND `+condition,
			append([]any{business}, args...)...))
}
