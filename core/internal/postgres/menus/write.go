package menus

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// MenuWriter writes a plan in a transaction. The number of statements does not grow with the
// size of the plan.
type MenuWriter struct {
	Ctx      context.Context
	Tx       bun.Conn
	Business core.BusinessID
	Now      time.Time
	created  map[int64]bool // the ids of new entities
}

// Write executes a plan in the order that menu.Plan requires.
func (w *MenuWriter) Write(plan *menu.Plan) error {
	for _, step := range []func(*menu.Plan) error{w.emptyStores, w.deactivate, w.entities, w.unlink, w.link, w.store,
		w.versions} {
		if err := step(plan); err != nil {
			return err
		}
	}
	return nil
}

func (w *MenuWriter) exec(what, statement string, args ...any) error {
	return postgres.Exec(w.Ctx, w.Tx, what, statement, args...)
}

// emptyStores removes the kinds of a master flush from every store.
func (w *MenuWriter) emptyStores(plan *menu.Plan) error {
	for kind, emptied := range plan.ClearedAtStores {
		if !emptied {
			continue
		}
		if err := w.exec("emptying stores", `DELETE FROM store_overrides WHERE business_id = ? AND kind = ?`,
			w.Business,
			kind); err != nil {
			return err
		}
	}
	return nil
}

func (w *MenuWriter) deactivate(plan *menu.Plan) error {
	for kind, refs := range plan.Deactivated {
		if len(refs) == 0 {
			continue
		}
		if err := w.exec("deactivating "+menu.Kind(kind).String(),
			`UPDATE catalogue_entities SET active = false, updated_at = ?
			WHERE business_id = ? AND kind = ? AND id = ANY (?)`, w.Now, w.Business, kind,
			postgres.Array(refIDs(refs))); err != nil {
			return err
		}
	}
	return nil
}

func refIDs(refs []menu.Ref) []int64 {
	ids := make([]int64, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	return ids
}

const stageEntityColumns = `kind smallint, id bigint, name text, active boolean, parent_id bigint, all_items boolean,` +
	` record json`

const entityColumns = "kind, id, name, active, parent_id, all_items, record"

// entities writes the changed records of all kinds. New ones are copied into the table itself.
func (w *MenuWriter) entities(plan *menu.Plan) error {
	rows := entityRows{writer: w}
	w.created = map[int64]bool{}
	addRows(&rows, menu.Categories, plan.Categories,
		func(c *menu.Category) (menu.Ref, int64, bool) { return c.Ref, c.ParentID, false })
	addRows(&rows, menu.Items, plan.Items, func(i *menu.Item) (menu.Ref, int64, bool) { return i.Ref, 0, false })
	addRows(&rows, menu.OptionGroups, plan.OptionGroups,
		func(g *menu.OptionGroup) (menu.Ref, int64, bool) { return g.Ref, 0, false })
	addRows(&rows, menu.Options, plan.Options, func(o *menu.Option) (menu.Ref, int64, bool) { return o.Ref, 0, false })
	addRows(&rows, menu.Taxes, plan.Taxes, func(t *menu.Tax) (menu.Ref, int64, bool) {
		return menu.Ref{ID: t.ID, RefID: t.Key(), Active: t.Active}, 0, t.AllItems
	})
	addRows(&rows, menu.Charges, plan.Charges, func(c *menu.Charge) (menu.Ref, int64, bool) {
		return menu.Ref{ID: c.ID, RefID: c.Key(), Active: c.Active}, 0, c.AllItems
	})
	if err := w.updateEntities(&rows.changed); err != nil {
		return err
	}
	return rows.added.CopyInto(w.Ctx, w.Tx, "catalogue_entities", "business_id, updated_at, "+entityColumns)
}

// updateEntities writes the records of stored entities.
func (w *MenuWriter) updateEntities(rows *postgres.CopyWriter) error {
	if rows.Buf.Len() == 0 {
		return nil
	}
	if err := rows.Stage(w.Ctx, w.Tx, "stage_entities", stageEntityColumns, entityColumns); err != nil {
		return err
	}
	if err := w.exec("staging the menu", "ANALYZE stage_entities (kind, id)"); err != nil {
		return err
	}
	return w.exec("updating the menu",
		`UPDATE catalogue_entities m SET active = s.active, parent_id = s.parent_id, all_items = s.all_items,
			record = s.record, updated_at = ? FROM stage_entities s
		WHERE m.business_id = ? AND m.kind = s.kind AND m.id = s.id`, w.Now, w.Business)
}

// entityRows are rows of catalogue_entities.
type entityRows struct {
	writer         *MenuWriter
	added, changed postgres.CopyWriter
}

// addRows adds the rows of one kind. key returns the other columns: reference, parent, and whether
// the record applies to all items.
func addRows[R any](to *entityRows, kind menu.Kind, changes []menu.Change[R],
	key func(*R) (menu.Ref, int64, bool)) {
	for i := range changes {
		record, rows := &changes[i].Record, &to.changed
		ref, parent, allItems := key(record)
		if changes[i].New {
			rows, to.writer.created[ref.ID] = &to.added, true
			rows.Int(int64(to.writer.Business))
			rows.Time(to.writer.Now)
		}
		rows.Int(int64(kind))
		rows.Int(ref.ID)
		rows.Text(ref.RefID)
		rows.Bool(ref.Active)
		rows.Int(parent)
		rows.Bool(allItems)
		rows.JSON(false, record)
		rows.End()
	}
}

func (w *MenuWriter) unlink(plan *menu.Plan) error {
	for relation, change := range plan.Links {
		if len(change.Remove) == 0 {
			continue
		}
		from, to := make([]int64, len(change.Remove)), make([]int64, len(change.Remove))
		for i, link := range change.Remove {
			from[i], to[i] = link.From, link.To
		}
		if err := w.exec("removing associations",
			`DELETE FROM menu_links l USING unnest(?::bigint[], ?::bigint[]) AS r (from_id, to_id)
			WHERE l.business_id = ? AND l.relation = ? AND l.from_id = r.from_id AND l.to_id = r.to_id`,
			postgres.Array(from), postgres.Array(to), w.Business, relation); err != nil {
			return err
		}
	}
	return nil
}

// link writes associations. Those of new entities are copied into the table itself.
func (w *MenuWriter) link(plan *menu.Plan) error {
	var added, changed postgres.CopyWriter
	for relation, change := range plan.Links {
		for _, link := range change.Put {
			rows := &changed
			if w.created[link.From] {
				rows = &added
			}
			rows.Int(int64(w.Business))
			rows.Int(int64(relation))
			rows.Int(link.From)
			rows.Int(link.To)
			rows.Int(int64(link.Position))
			rows.End()
		}
	}
	const columns = "business_id, relation, from_id, to_id, position"
	if err := added.CopyInto(w.Ctx, w.Tx, "menu_links", columns); err != nil {
		return err
	}
	if changed.Buf.Len() == 0 {
		return nil
	}
	if err := changed.Stage(w.Ctx, w.Tx, "stage_menu_links",
		"business_id bigint, relation smallint, from_id bigint, to_id bigint, position integer", columns); err != nil {
		return err
	}
	return w.exec("writing associations", `INSERT INTO menu_links (business_id, relation, from_id, to_id, position)
		SELECT business_id, relation, from_id, to_id, position FROM stage_menu_links
		ON CONFLICT (business_id, relation, from_id, to_id) DO UPDATE SET position = excluded.position`)
}

// store writes the values of the addressed store.
func (w *MenuWriter) store(plan *menu.Plan) error {
	if plan.Scope.StoreID == 0 {
		return nil
	}
	for kind, refs := range plan.Store.Removed {
		if len(refs) == 0 {
			continue
		}
		if err := w.exec("removing store references",
			`DELETE FROM store_overrides WHERE business_id = ? AND store_id = ? AND kind = ? AND id = ANY (?)`,
			w.Business, plan.Scope.StoreID, kind, postgres.Array(refIDs(refs))); err != nil {
			return err
		}
	}
	var rows postgres.CopyWriter
	for _, id := range plan.Store.Categories {
		stageOverride(&rows, menu.Categories, id, struct{}{})
	}
	for i := range plan.Store.Items {
		stageOverride(&rows, menu.Items, plan.Store.Items[i].Record.ID, &plan.Store.Items[i].Record.Values)
	}
	for i := range plan.Store.Options {
		stageOverride(&rows, menu.Options, plan.Store.Options[i].Record.ID, &plan.Store.Options[i].Record.Values)
	}
	if rows.Buf.Len() == 0 {
		return nil
	}
	if err := rows.Stage(w.Ctx, w.Tx, "stage_overrides", "kind smallint, id bigint, content json",
		"kind, id, content"); err != nil {
		return err
	}
	return w.exec("writing store references", `INSERT INTO store_overrides (business_id, store_id, kind, id, content)
		SELECT ?, ?, kind, id, content FROM stage_overrides
		ON CONFLICT (business_id, store_id, kind, id) DO UPDATE SET content = excluded.content`, w.Business,
		plan.Scope.StoreID)
}

func stageOverride(rows *postgres.CopyWriter, kind menu.Kind, id int64, content any) {
	rows.Int(int64(kind))
	rows.Int(id)
	rows.JSON(false, content)
	rows.End()
}

// versions increases the changed menu versions: that of the master catalogue, which all
// stores share, or that of the store.
func (w *MenuWriter) versions(plan *menu.Plan) error {
	for _, store := range plan.StaleMenus() {
		if err := w.incrementVersion(store); err != nil {
			return err
		}
	}
	return nil
}

func (w *MenuWriter) incrementVersion(store int64) error {
	return w.exec("counting the change",
		`INSERT INTO menu_versions AS v (business_id, store_id, version) VALUES (?, ?, 1)
		ON CONFLICT (business_id, store_id) DO UPDATE SET version = v.version + 1`, w.Business, store)
}
