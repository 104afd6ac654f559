package postgres

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// Menus keeps menus (menu.Records).
type Menus struct{ *DB }

// Address finds what a menu request is about: the business, and the scope that
// the location_ref_id names; NotFound where the business has no such store.
func (m Menus) Address(ctx context.Context, business core.BusinessID, location string) (core.Business, menu.Scope, error) {
	b, err := m.Business(ctx, business)
	if err != nil {
		return b, menu.Scope{}, err
	}
	scope := menu.Scope{LocationRefID: location}
	if scope.Master() {
		return b, scope, nil
	}
	err = m.of(business).QueryRowContext(ctx, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`, business, location).Scan(&scope.StoreID)
	return b, scope, notFound(err, "there is no location with this ref_id")
}

// Foresee reads what a request depends on.
func (m Menus) Foresee(ctx context.Context, business core.BusinessID, scope menu.Scope, needs menu.Needs) (state menu.State, err error) {
	err = m.inTx(ctx, func(tx bun.Conn) error {
		loader := menuLoader{ctx: ctx, tx: tx, business: business, store: scope.StoreID}
		state, err = loader.state(needs)
		return err
	})
	return state, err
}

// Ingest ends a menu job in one transaction.
func (m Menus) Ingest(ctx context.Context, work core.Job, scope menu.Scope, needs menu.Needs, objects int,
	decide func(menu.State, func() int64) (menu.Ingested, error),
) error {
	return m.tell(ctx, func(tx bun.Conn, box *outbox) error {
		if err := m.hold(ctx, tx, work); err != nil {
			return err
		}
		if err := lockMenu(ctx, tx, work.Business); err != nil {
			return err
		}
		loader := menuLoader{ctx: ctx, tx: tx, business: work.Business, store: scope.StoreID, preview: work.DryRun}
		state, err := loader.state(needs)
		if err != nil {
			return err
		}
		if err := loader.switched(work.CreatedAt, &state); err != nil {
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
		revision, err := m.beginRevision(ctx, tx)
		if err != nil {
			return err
		}
		if ingested.Plan != nil && ingested.Plan.Changes() {
			writer := menuWriter{ctx: ctx, tx: tx, business: work.Business, now: m.clock.Now()}
			if err := writer.write(ingested.Plan); err != nil {
				return err
			}
		}
		if err := forgetTurnOns(ctx, tx, work.Business, scope.StoreID, ingested.Settled[menu.Items], ingested.Settled[menu.Options]); err != nil {
			return err
		}
		found, err := keepFindings(ctx, tx, work.Business, ingested.Inspected, ingested.Findings)
		if err != nil {
			return err
		}
		reach := menu.Reach{Items: found}
		if ingested.Plan != nil {
			reach = ingested.Plan.Reach()
			reach.Items = append(reach.Items, found...)
		}
		if err := m.publishMenus(ctx, tx, work, scope.StoreID, reach); err != nil {
			return err
		}
		for _, platform := range ingested.Missed { // after the publications, as everywhere: both are locked
			if err := m.recheck(ctx, tx, work.Business, platform); err != nil {
				return err
			}
		}
		if err := m.endRevision(ctx, tx, work, revision, nil); err != nil {
			return err
		}
		if ingested.Event != nil {
			if err := box.publish(ctx, tx, *ingested.Event); err != nil {
				return err
			}
		}
		end := jobEnd{failure: ingested.Failure, result: ingested.Result, objects: objects}
		if ingested.Event != nil {
			end.event = ingested.Event.ID
		}
		return m.end(ctx, tx, work, end)
	})
}

// idBlockSize is by how much the sequence of menu ids goes up.
const idBlockSize = 16384

// idBlock hands out ids, a block of the sequence at a time, and none where none
// are asked for.
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

// Menu reads a whole menu: the master catalogue, and with a store its references.
func (m Menus) Menu(ctx context.Context, business core.BusinessID, store int64) (whole menu.Menu, err error) {
	err = m.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
			return err
		}
		loader := menuLoader{ctx: ctx, tx: tx, business: business, store: store}
		whole, err = loader.menu()
		return err
	})
	return whole, err
}

// Versions tells what an effective menu would be made of; NotFound where the
// business has no such store or platform.
func (m Menus) Versions(ctx context.Context, business core.BusinessID, storeRef, platform string) (menu.Versions, error) {
	v := menu.Versions{Platform: core.Platform{Name: platform}}
	err := m.bun.QueryRowContext(ctx, `SELECT s.id, p.served_by,
			coalesce((SELECT version FROM menu_versions WHERE business_id = ?0 AND store_id = 0), 0),
			coalesce((SELECT version FROM menu_versions WHERE business_id = ?0 AND store_id = s.id), 0),
			s.active AND s.ordering_enabled AND NOT EXISTS (SELECT 1 FROM store_switches w WHERE w.business_id = s.business_id AND w.store_id = s.id
				AND w.platform = p.name AND NOT w.open)
		FROM stores s JOIN platforms p ON p.business_id = s.business_id AND p.name = ?2
		WHERE s.business_id = ?0 AND s.ref_id = ?1`, business, storeRef, platform).
		Scan(&v.StoreID, &v.Platform.ServedBy, &v.Catalogue, &v.Store, &v.Open)
	return v, notFound(err, "there is no such store or platform")
}
