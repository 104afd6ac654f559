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
	Warning                 bool
}

// ReplaceFindings replaces the findings of the inspected platforms against the same items. It
// returns the items whose findings changed, except warnings. If there are any, the menu version increases.
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
			found[findingRow{item.ID, f.Platform, f.Rule, f.Message, f.Severity == menu.FindingWarning}] = true
		}
	}
	slices.Sort(items)
	items = slices.Compact(items)
	before, err := ReadFindings(ctx, tx, `item_id = ANY (?) AND platform = ANY (?)`, business, postgres.Array(items),
		postgres.Array(inspected))
	if err != nil {
		return nil, err
	}
	different := differences(before, found)
	if len(different) == 0 {
		return nil, nil
	}
	if err := writeFindings(ctx, tx, business, items, inspected, found); err != nil {
		return nil, err
	}
	for _, row := range different {
		if !row.Warning {
			changed = append(changed, row.Item)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO menu_versions AS v (business_id, store_id, version) VALUES (?, 0, 1)
		ON CONFLICT (business_id, store_id) DO UPDATE SET version = v.version + 1`, business); err != nil {
		return nil, fmt.Errorf("counting the change: %w", err)
	}
	return changed, nil
}

// differences returns the findings that were removed or added.
func differences(before []findingRow, found map[findingRow]bool) (list []findingRow) {
	added := maps.Clone(found)
	for _, row := range before {
		if !found[row] {
			list = append(list, row)
		}
		delete(added, row)
	}
	return slices.AppendSeq(list, maps.Keys(added))
}

// writeFindings replaces the findings against items. An error replaces a warning of the same rule.
func writeFindings(ctx context.Context, tx bun.Conn, business core.BusinessID, items []int64, inspected []string,
	found map[findingRow]bool) error {
	if _, err := tx.ExecContext(ctx,
		`DELETE FROM platform_findings WHERE business_id = ? AND item_id = ANY (?) AND platform = ANY (?)`,
		business, postgres.Array(items), postgres.Array(inspected)); err != nil {
		return fmt.Errorf("removing findings: %w", err)
	}
	ids, columns := make([]int64, 0, len(found)), [3][]string{}
	warnings := make([]bool, 0, len(found))
	for row := range found {
		ids, warnings = append(ids, row.Item), append(warnings, row.Warning)
		columns[0], columns[1], columns[2] = append(columns[0], row.Platform), append(columns[1], row.Rule),
			append(columns[2], row.Message)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO platform_findings
			(business_id, item_id, platform, rule, message, warning)
		SELECT ?, * FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::boolean[]) AS f (id, p, r, m, warning)
		ORDER BY warning ON CONFLICT DO NOTHING`, business, postgres.Array(ids), postgres.Array(columns[0]),
		postgres.Array(columns[1]), postgres.Array(columns[2]), postgres.Array(warnings)); err != nil {
		return fmt.Errorf("writing findings: %w", err)
	}
	return nil
}

// ReadFindings returns the findings that a condition selects.
func ReadFindings(ctx context.Context, tx bun.IDB, condition string, business core.BusinessID,
	args ...any) (list []findingRow, err error) {
	return postgres.Collect(ctx, tx, "reading findings", func(row *findingRow) []any {
		return []any{&row.Item, &row.Platform, &row.Rule, &row.Message, &row.Warning}
	},
		bun.SafeQuery(
			`SELECT item_id, platform, rule, message, warning FROM platform_findings
			WHERE business_id = ? AND `+condition,
			append([]any{business}, args...)...))
}
