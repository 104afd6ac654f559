package publications

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// findingRow is a finding of one platform rule against an item or a store.
type findingRow struct {
	Item, Store             int64
	Platform, Rule, Message string
	Warning                 bool
	Entity, RefID           string // what it is about, if the item belongs to that
}

// ChangedFindings are the items and stores whose findings changed, except warnings.
type ChangedFindings struct{ Items, Stores []int64 }

// ReplaceFindings replaces the findings of the inspected platforms against the same items and stores. If any changed,
// except warnings, the menu version increases.
func ReplaceFindings(ctx context.Context, tx bun.Conn, business core.BusinessID, inspected []string,
	findings []menu.ItemFindings) (changed ChangedFindings, err error) {
	if len(inspected) == 0 || len(findings) == 0 {
		return changed, nil
	}
	var items, stores []int64
	var found []findingRow
	for _, of := range findings {
		if of.Store != 0 {
			stores = append(stores, of.Store)
		} else {
			items = append(items, of.ID)
		}
		for _, f := range of.Findings {
			found = append(found, findingRow{of.ID, of.Store, f.Platform, f.Rule, f.Message,
				f.Severity == menu.FindingWarning, f.Entity, f.RefID})
		}
	}
	of := findingTargets{postgres.Array(distinct(items)), postgres.Array(distinct(stores)), postgres.Array(inspected)}
	before, err := ReadFindings(ctx, tx, findingsOf, business, of.args()...)
	if err != nil {
		return changed, err
	}
	before, found = distinctFindings(before), distinctFindings(found)
	if slices.Equal(before, found) {
		return changed, nil
	}
	if err := writeFindings(ctx, tx, business, of, found); err != nil {
		return changed, err
	}
	changed.addMissing(before, found)
	changed.addMissing(found, before)
	if len(changed.Items) == 0 {
		return changed, nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO menu_versions AS v (business_id, store_id, version) VALUES (?, 0, 1)
		ON CONFLICT (business_id, store_id) DO UPDATE SET version = v.version + 1`, business); err != nil {
		return changed, fmt.Errorf("counting the change: %w", err)
	}
	return changed, nil
}

// findingTargets are the arrays of items, stores and platforms whose findings are replaced.
type findingTargets struct{ items, stores, platforms any }

// findingsOf is the condition that selects the findings of the targets.
const findingsOf = `(item_id = ANY (?) AND store_id = 0 OR item_id = 0 AND store_id = ANY (?)) AND platform = ANY (?)`

func (t findingTargets) args() []any { return []any{t.items, t.stores, t.platforms} }

func distinct(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// compareFindings orders findings by item and store, and then by all else.
func compareFindings(a, b findingRow) int {
	return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Store, b.Store), cmp.Compare(a.Platform, b.Platform),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.RefID, b.RefID),
		cmp.Compare(a.Message, b.Message), cmp.Compare(strconv.FormatBool(a.Warning), strconv.FormatBool(b.Warning)))
}

// distinctFindings sorts findings and removes those that occur twice. It changes the list.
func distinctFindings(list []findingRow) []findingRow {
	slices.SortFunc(list, compareFindings)
	return slices.Compact(list)
}

// addMissing adds what the findings of one sorted list are about that another lacks, except warnings.
func (c *ChangedFindings) addMissing(list, other []findingRow) {
	for _, row := range list {
		if _, ok := slices.BinarySearchFunc(other, row, compareFindings); ok || row.Warning {
			continue
		}
		if row.Store != 0 {
			c.Stores = append(c.Stores, row.Store)
		} else {
			c.Items = append(c.Items, row.Item)
		}
	}
}

// writeFindings replaces the findings of the targets. An error replaces a warning of the same rule.
func writeFindings(ctx context.Context, tx bun.Conn, business core.BusinessID, of findingTargets,
	found []findingRow) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM platform_findings WHERE business_id = ? AND `+findingsOf,
		append([]any{business}, of.args()...)...); err != nil {
		return fmt.Errorf("removing findings: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	items, stores, columns := make([]int64, len(found)), make([]int64, len(found)), [5][]string{}
	for i := range columns {
		columns[i] = make([]string, len(found))
	}
	warnings := make([]bool, len(found))
	for at, row := range found {
		items[at], stores[at], warnings[at] = row.Item, row.Store, row.Warning
		for i, text := range [...]string{row.Platform, row.Rule, row.Message, row.Entity, row.RefID} {
			columns[i][at] = text
		}
	}
	return postgres.Exec(ctx, tx, "writing findings", queries.With("write_findings", postgres.Args{
		"business": business, "items": postgres.Array(items), "stores": postgres.Array(stores),
		"warnings": postgres.Array(warnings), "platforms": postgres.Array(columns[0]),
		"rules": postgres.Array(columns[1]), "messages": postgres.Array(columns[2]),
		"entities": postgres.Array(columns[3]), "refs": postgres.Array(columns[4]),
	}))
}

// ReadFindings returns the findings that a condition selects.
func ReadFindings(ctx context.Context, tx bun.IDB, condition string, business core.BusinessID,
	args ...any) (list []findingRow, err error) {
	return postgres.Collect(ctx, tx, "reading findings", func(row *findingRow) []any {
		return []any{&row.Item, &row.Store, &row.Platform, &row.Rule, &row.Message, &row.Warning, &row.Entity,
			&row.RefID}
	},
		bun.SafeQuery(
			`SELECT item_id, store_id, platform, rule, message, warning, entity, ref_id FROM platform_findings
			WHERE business_id = ? AND `+condition,
			append([]any{business}, args...)...))
}

// PublishChecked marks the stores whose findings changed for publication. A platform lists or delists them.
func PublishChecked(ctx context.Context, db *postgres.DB, tx bun.IDB, work core.Job, stores []int64) error {
	if len(stores) == 0 {
		return nil
	}
	_, err := MarkDue(ctx, db, tx, Selector{
		Reference: work.ID, fromRequest: work.Kind == core.MenuJob,
		Condition: PublishedOn + ` AND store.business_id = ? AND store.id = ANY (?::bigint[])`,
		Args:      []any{work.Business, postgres.Array(stores)},
	})
	return err
}

// RecheckStores queues a recheck of each platform that has a finding against one of the stores.
func RecheckStores(ctx context.Context, db *postgres.DB, tx bun.Conn, business core.BusinessID, ids []int64) error {
	found, err := ReadFindings(ctx, tx, `item_id = 0 AND store_id = ANY (?)`, business, postgres.Array(ids))
	if err != nil {
		return err
	}
	platforms := make([]string, len(found))
	for i, f := range found {
		platforms[i] = f.Platform
	}
	slices.Sort(platforms)
	for _, platform := range slices.Compact(platforms) {
		if err := Recheck(ctx, db, tx, business, platform); err != nil {
			return err
		}
	}
	return nil
}
