package menus

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/menu"
)

// Rename replaces an alias in the menus of a business by its platform, and reports whether any
// record named it. The caller holds the menu lock.
func Rename(ctx context.Context, db *postgres.DB, tx bun.Conn, business core.BusinessID,
	alias core.PlatformAlias) (bool, error) {
	quoted, err := jsontext.AppendQuote(nil, alias.Alias)
	if err != nil {
		return false, err
	}
	r := aliasRenaming{
		loader:  MenuLoader{Ctx: ctx, Tx: tx, Business: business},
		writer:  MenuWriter{Ctx: ctx, Tx: tx, Business: business, Now: db.Clock().Now()},
		quoted:  string(quoted),
		resolve: core.NewPlatformNames([]string{alias.Platform}, alias).Resolve,
	}
	masters, err := r.entities()
	if err != nil {
		return false, err
	}
	values, err := r.values()
	return masters || values, err
}

// renameAll replaces all aliases in the menus of a business, because a restored menu is older
// than some of them.
func renameAll(ctx context.Context, db *postgres.DB, tx bun.Conn, business core.BusinessID) error {
	aliases, err := platforms.AliasesOf(ctx, tx, business)
	if err != nil {
		return err
	}
	for _, alias := range aliases {
		if _, err := Rename(ctx, db, tx, business, alias); err != nil {
			return err
		}
	}
	return nil
}

// aliasRenaming replaces one name in the records of a menu.
type aliasRenaming struct {
	loader  MenuLoader
	writer  MenuWriter
	quoted  string // the name, as records contain it
	resolve func(string) string
}

func (r *aliasRenaming) entities() (bool, error) {
	const named = "position(? IN record::text) > 0"
	var items []menu.Item
	var options []menu.Option
	var charges []menu.Charge
	if err := load(&r.loader, &items, itemRecords, named, r.quoted); err != nil {
		return false, err
	}
	if err := load(&r.loader, &options, optionRecords, named, r.quoted); err != nil {
		return false, err
	}
	if err := load(&r.loader, &charges, chargeRecords, named, r.quoted); err != nil {
		return false, err
	}
	plan := menu.Plan{Scope: menu.MasterScope(),
		Items:   changedRecords(items, func(i *menu.Item) bool { return i.RenamePlatforms(r.resolve) }),
		Options: changedRecords(options, func(o *menu.Option) bool { return o.RenamePlatforms(r.resolve) }),
		Charges: changedRecords(charges, func(c *menu.Charge) bool { return c.RenamePlatforms(r.resolve) })}
	if !plan.HasChanges() {
		return false, nil
	}
	return true, r.writer.Write(&plan)
}

// changedRecords returns the records that a renaming changes.
func changedRecords[R any](records []R, rename func(*R) bool) (changes []menu.Change[R]) {
	for i := range records {
		if rename(&records[i]) {
			changes = append(changes, menu.Change[R]{Record: records[i]})
		}
	}
	return changes
}

// values replaces the name in the values of items at all stores.
func (r *aliasRenaming) values() (bool, error) {
	var stores, ids []int64
	var contents []string
	var failure error
	err := r.loader.rows("the stores' items", `SELECT store_id, id, content FROM store_overrides
		WHERE business_id = ? AND kind = ? AND position(? IN content::text) > 0 ORDER BY store_id, id`,
		[]any{r.loader.Business, int(menu.Items), r.quoted}, func(row postgres.CopyRow) {
			var values menu.ItemValues
			if err := menu.DecodeStored(row.Text(2), &values); err != nil {
				failure = fmt.Errorf("the stored values of item %d cannot be read: %w", row.Int(1), err)
			} else if values.RenamePlatforms(r.resolve) {
				encoded, err := json.Marshal(&values, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
				failure = cmp.Or(failure, err)
				stores, ids, contents = append(stores, row.Int(0)), append(ids, row.Int(1)),
					append(contents, string(encoded))
			}
		})
	if err = cmp.Or(err, failure); err != nil || len(ids) == 0 {
		return false, err
	}
	if err := r.writer.exec("resolving an alias at stores", queries.With("rename_values", postgres.Args{
		"business": r.writer.Business, "stores": postgres.Array(stores), "ids": postgres.Array(ids),
		"contents": postgres.Array(contents), "kind": int(menu.Items),
	})); err != nil {
		return false, err
	}
	for _, store := range slices.Compact(stores) { // they are sorted
		if err := r.writer.incrementVersion(store); err != nil {
			return false, err
		}
	}
	return true, nil
}
