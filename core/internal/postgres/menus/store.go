// Package menus stores the catalogue and the overrides of stores, and rolls them back.
package menus

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores menus (menu.Storage).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// ResolveLocation returns the business and the scope of a menu request. It returns NotFound if the
// business has no store with the location_ref_id.
func (m Store) ResolveLocation(ctx context.Context, business core.BusinessID,
	location string) (core.Business, menu.Scope, error) {
	b, err := access.New(m.db).Business(ctx, business)
	if err != nil {
		return b, menu.Scope{}, err
	}
	scope := menu.Scope{LocationRefID: location}
	if scope.Master() {
		return b, scope, nil
	}
	err = m.db.Tenant(business).QueryRowContext(ctx, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`,
		business, location).Scan(&scope.StoreID)
	return b, scope, postgres.NotFound(err, "there is no location with this ref_id")
}

// LoadState returns the part of the menu that a request depends on.
func (m Store) LoadState(ctx context.Context, business core.BusinessID, scope menu.Scope,
	needs menu.ReadSet) (state menu.State, err error) {
	err = m.db.InTx(ctx, func(tx bun.Conn) error {
		loader := MenuLoader{Ctx: ctx, Tx: tx, Business: business, Store: scope.StoreID}
		state, err = loader.State(needs)
		return err
	})
	return state, err
}

// Ingest ends a menu job in one transaction.
func (m Store) Ingest(ctx context.Context, work core.Job, needs menu.IngestNeeds,
	decide func(menu.State, func() int64) (menu.IngestResult, error)) error {
	return jobs.Run(ctx, m.db, work, func(tx bun.Conn, box *outbox.Outbox) error {
		if err := lockMenu(ctx, tx, work.Business); err != nil {
			return err
		}
		loader := MenuLoader{Ctx: ctx, Tx: tx, Business: work.Business, Store: needs.Scope.StoreID,
			preview: work.DryRun}
		state, err := loader.State(needs.Read)
		if err != nil {
			return err
		}
		if err := loader.readSwitches(work.CreatedAt, &state); err != nil {
			return err
		}
		ids := idBlock{ctx: ctx, tx: tx}
		ingested, err := decide(state, ids.next)
		if err != nil {
			return err
		}
		if ids.err != nil {
			return fmt.Errorf("reserving ids: %w", ids.err)
		}
		revision, err := revisions.Begin(ctx, m.db, tx)
		if err != nil {
			return err
		}
		if err := m.apply(ctx, tx, work, needs.Scope, &ingested); err != nil {
			return err
		}
		if err := revision.End(ctx, m.db, tx, work); err != nil {
			return err
		}
		if ingested.Event != nil {
			if err := box.Publish(ctx, tx, *ingested.Event); err != nil {
				return err
			}
		}
		end := jobs.Ended{Failure: ingested.Failure, Result: ingested.Result, Objects: needs.Objects}
		if ingested.Event != nil {
			end.Event = ingested.Event.ID
		}
		return jobs.Finish(ctx, m.db, tx, work, end)
	})
}

// apply writes the changes of a menu job and marks the affected menus for publication.
func (m Store) apply(ctx context.Context, tx bun.Conn, work core.Job, scope menu.Scope,
	ingested *menu.IngestResult) error {
	if ingested.Plan != nil && ingested.Plan.HasChanges() {
		writer := MenuWriter{Ctx: ctx, Tx: tx, Business: work.Business, Now: m.db.Clock().Now()}
		if err := writer.Write(ingested.Plan); err != nil {
			return err
		}
	}
	if err := DeleteTimers(ctx, tx, work.Business, StoreEntities{Store: scope.StoreID,
		Items: ingested.CancelledTimers[menu.Items], Options: ingested.CancelledTimers[menu.Options]}); err != nil {
		return err
	}
	var reach menu.AffectedStores
	if ingested.Plan != nil {
		reach = ingested.Plan.AffectedStores()
	}
	stores, err := m.replaceFindings(ctx, tx, work.Business, ingested, &reach)
	if err != nil {
		return err
	}
	if err := publications.PublishMenus(ctx, m.db, tx,
		publications.MenuChange{Job: work, Store: scope.StoreID, Affected: reach}); err != nil {
		return err
	}
	if err := publications.PublishChecked(ctx, m.db, tx, work, stores); err != nil {
		return err
	}
	for _, platform := range ingested.UninspectedPlatforms { // after the publications: the usual lock order
		if err := publications.Recheck(ctx, m.db, tx, work.Business, platform); err != nil {
			return err
		}
	}
	return nil
}

// replaceFindings stores the findings of a menu job. It adds the items whose findings changed to those that the job
// affects, and returns the stores.
func (m Store) replaceFindings(ctx context.Context, tx bun.Conn, business core.BusinessID,
	ingested *menu.IngestResult, reach *menu.AffectedStores) (stores []int64, err error) {
	for _, part := range []struct {
		platforms []string
		findings  []menu.ItemFindings
	}{{ingested.InspectedPlatforms, ingested.Findings}, {ingested.OtherPlatforms, ingested.OtherFindings}} {
		changed, err := publications.ReplaceFindings(ctx, tx, business, part.platforms, part.findings)
		if err != nil {
			return nil, err
		}
		reach.Items, stores = append(reach.Items, changed.Items...), append(stores, changed.Stores...)
	}
	return stores, nil
}

// idBlockSize is the increment of the sequence of menu ids.
const idBlockSize = 16384

// idBlock hands out ids from blocks of the sequence. It reserves a block only when needed.
type idBlock struct {
	ctx        context.Context
	tx         bun.Conn
	last, left int64
	err        error
}

func (b *idBlock) next() int64 {
	if b.left == 0 && b.err == nil {
		b.err = b.tx.QueryRowContext(b.ctx, `SELECT nextval('menu_id_blocks')`).Scan(&b.last)
		b.left, b.last = idBlockSize, b.last-1
	}
	b.left--
	b.last++
	return b.last
}

// Menu returns a whole menu: the master catalogue and, with a store, the store's values. Requests call UseMenu instead:
// callers of Menu must be few, because a large menu remains in memory while they use it.
func (m Store) Menu(ctx context.Context, business core.BusinessID, store int64) (full menu.Menu, err error) {
	err = m.UseMenu(ctx, business, store, func(read menu.Menu) error {
		full = read
		return nil
	})
	return full, err
}

// UseMenu calls use with a whole menu, as Menu returns it. No other large menu is read until use returns.
func (m Store) UseMenu(ctx context.Context, business core.BusinessID, store int64,
	use func(menu.Menu) error) error {
	large := largeMenusOf(m.db)
	return large.do(ctx, business, func(maxBytes int) (err error) {
		var full menu.Menu
		if err := m.db.InTx(ctx, func(tx bun.Conn) error {
			if _, err := tx.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
				return err
			}
			loader := MenuLoader{Ctx: ctx, Tx: tx, Business: business, Store: store}
			full, err = loader.menu(large, maxBytes)
			return err
		}); err != nil {
			return err
		}
		return use(full)
	})
}

// Versions returns the versions that determine an effective menu. It accepts an alias of the
// platform. It returns NotFound if the business has no such store or platform.
func (m Store) Versions(ctx context.Context, business core.BusinessID, storeRef,
	platform string) (menu.Versions, error) {
	var v menu.Versions
	err := m.db.Bun().QueryRowContext(ctx, queries.With("versions", postgres.Args{
		"business": business, "ref": storeRef, "platform": platform,
	})).
		Scan(&v.Epoch, &v.StoreID, &v.Platform.Name, &v.Platform.ServedBy, &v.Catalogue, &v.Store, &v.Open)
	if !errors.Is(err, sql.ErrNoRows) {
		return v, err
	}
	var found bool
	err = m.db.Tenant(business).QueryRowContext(ctx,
		`SELECT true FROM stores WHERE business_id = ? AND ref_id = ?`, business, storeRef).Scan(&found)
	if err != nil {
		return v, postgres.NotFound(err, "there is no store with this ref_id")
	}
	return v, core.NoSuch("platform", postgres.Quoted(platform), "there is no platform with this name")
}
