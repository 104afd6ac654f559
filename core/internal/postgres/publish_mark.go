package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

const publicationsChannel = "servery_publications"

// Publications keeps what is published of menus (publish.Queue).
type Publications struct{ *DB }

// UseDebounce sets how long changes gather before they are published.
func (db *DB) UseDebounce(d publish.Debounce) { db.debounce = d }

// listedOn tells whether a store s is listed on a platform f (store.Listing).
const listedOn = `CASE WHEN s.excluded_platforms IS NOT NULL THEN f.name <> ALL (s.excluded_platforms)
	ELSE f.name = ANY (coalesce(s.included_platforms, '{}')) END`

// publishedOn are the platforms of which a store may be told of: those that a
// plugin serves and on which it is listed, and those on which it was.
const publishedOn = `(f.served_by <> 'own' AND ` + listedOn + ` OR x.state NOT IN ('unlisted', 'skipped'))`

// anywhere holds where a business publishes something. It is asked once: nobody
// looks for the stores of a business that does not.
const anywhere = ` AND (EXISTS (SELECT 1 FROM platforms WHERE business_id = ? AND served_by <> 'own') OR EXISTS (SELECT 1 FROM publications WHERE business_id = ?))`

// due says what is to be published.
type due struct {
	reference core.ID
	asked     bool // somebody waits for the answer, and for nothing before
	now       bool // nobody does, but it is not to gather
	requested bool // a request changed it, and is told what came of it
	unsure    bool // nobody knows what the platform holds
	condition string
	args      []any
}

// publishDue marks stores s on platforms f as due, all by one statement, in the
// order of their keys. What is being published meanwhile is published once more.
func (db *DB) publishDue(ctx context.Context, tx bun.IDB, d due) (int64, error) {
	now, debounce := db.clock.Now(), db.debounce.OrDefault()
	at, asked, waiting := debounce.Due(now, now), []string{}, []string{}
	switch {
	case d.asked:
		asked = []string{d.reference.String()}
	case d.requested:
		waiting = []string{d.reference.String()}
	}
	if d.asked || d.now {
		at = now
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO publications AS p (business_id, store_id, platform, endpoint, reference, waiting, asked, unsure, first_at, due_at, available_at)
		SELECT s.business_id, s.id, f.name, hashtextextended(s.business_id || '/' || f.name, 0), ?::uuid, ?::uuid[], ?::uuid[], ?::boolean, ?::timestamptz, ?::timestamptz, ?::timestamptz
		FROM stores s JOIN platforms f ON f.business_id = s.business_id
		LEFT JOIN publications x ON x.business_id = s.business_id AND x.store_id = s.id AND x.platform = f.name
		WHERE `+d.condition+` ORDER BY s.business_id, s.id, f.name
		ON CONFLICT (business_id, store_id, platform) DO UPDATE SET version = p.version + 1, attempts = 0, note = '',
			reference = excluded.reference, asked = p.asked || excluded.asked,
			waiting = CASE WHEN p.waiting @> excluded.waiting THEN p.waiting
				ELSE (p.waiting || excluded.waiting)[greatest(1, cardinality(p.waiting) + cardinality(excluded.waiting) - 99):] END,
			unsure = p.unsure OR excluded.unsure, first_at = coalesce(p.first_at, excluded.first_at), due_at = `+dueAgain+`,
			available_at = CASE WHEN p.owner IS NULL THEN `+dueAgain+` ELSE p.available_at END`,
		append(append([]any{d.reference.String(), array(waiting), array(asked), d.unsure, now, at, at}, d.args...),
			debounce.Most.Microseconds(), debounce.Most.Microseconds())...)
	if err != nil {
		return 0, fmt.Errorf("marking menus to be published: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil || n == 0 || !seldom(&db.toldPublications) {
		return n, err
	}
	return n, notify(ctx, tx, publicationsChannel)
}

// dueAgain is when a row p is due that is marked again: quiet for a while, but
// not much later than it first was, and no later where somebody waits for it
// (publish.Debounce).
const dueAgain = `least(excluded.due_at, coalesce(p.first_at, excluded.first_at) + ? * interval '1 microsecond',
	CASE WHEN cardinality(p.asked) > 0 AND p.owner IS NULL AND p.available_at < 'infinity' THEN p.available_at END)`

// publishStores marks the stores that a request has changed: those of it that were
// written at the given time. They are written out, since the planner knows too
// little of rows that have just come to join them well.
func (db *DB) publishStores(ctx context.Context, tx bun.IDB, work core.Job, stores []int64, at time.Time) error {
	_, err := db.publishDue(ctx, tx, due{
		reference: work.ID, requested: true, condition: publishedOn + ` AND s.business_id = ? AND s.updated_at = ? AND s.id = ANY (?::bigint[])`,
		args: []any{work.Business, at, array(stores)},
	})
	return err
}

// publishMenus marks the stores whose menus a request may have changed.
func (db *DB) publishMenus(ctx context.Context, tx bun.IDB, work core.Job, store int64, reach menu.Reach) error {
	if !reach.Any() {
		return nil
	}
	d := due{reference: work.ID, requested: work.Kind == core.MenuJob || work.Kind == core.TimingJob,
		condition: publishedOn + anywhere + ` AND s.business_id = ?`, args: []any{work.Business, work.Business, work.Business}}
	var some []string
	reached := func(is bool, condition string, args ...any) {
		if is && !reach.All {
			some, d.args = append(some, condition), append(d.args, args...)
		}
	}
	const sells = `EXISTS (SELECT 1 FROM menu_at_store a WHERE a.business_id = s.business_id AND a.store_id = s.id AND a.kind = ? AND a.id = ANY (?::bigint[]))`
	reached(reach.AtStore, `s.id = ?`, store)
	reached(len(reach.Items) > 0, sells, int(menu.Items), array(reach.Items))
	reached(len(reach.Options) > 0, sells, int(menu.Options), array(reach.Options))
	if len(some) > 0 {
		d.condition += ` AND (` + strings.Join(some, ` OR `) + `)`
	}
	_, err := db.publishDue(ctx, tx, d)
	return err
}

// publishPlatform marks every store on a platform of a business.
func (db *DB) publishPlatform(ctx context.Context, tx bun.IDB, business core.BusinessID, platform string) error {
	_, err := db.publishDue(ctx, tx, due{
		reference: core.NewID(db.clock.Now()), condition: publishedOn + ` AND s.business_id = ? AND f.name = ?`, args: []any{business, platform},
	})
	return err
}

// Ask marks a store due at once, on the named platforms, or with none on all on
// which it is listed; the outcome on each of them is told by an event with the
// reference, also where nothing has changed. It tells how many platforms those
// are. NotFound where the business has no such store or platform, Invalid where
// nothing is published on one that is named, Conflict where too many wait already.
func (p Publications) Ask(ctx context.Context, business core.BusinessID, storeRef string, platforms []string, reference core.ID) (n int, err error) {
	err = p.inTx(ctx, func(tx bun.Conn) error {
		if n, err = p.askToPublish(ctx, tx, business, storeRef, platforms, reference); err != nil {
			return err
		}
		return p.keepUntold(ctx, tx, business, reference, n)
	})
	return n, err
}

func (db *DB) askToPublish(ctx context.Context, tx bun.Conn, business core.BusinessID, storeRef string, platforms []string, reference core.ID) (int, error) {
	store, err := storeID(ctx, tx, business, storeRef)
	if err != nil {
		return 0, err
	}
	if err := knownPlatforms(ctx, tx, business, platforms); err != nil {
		return 0, err
	}
	if err := publishedPlatforms(ctx, tx, business, platforms); err != nil {
		return 0, err
	}
	d := due{reference: reference, asked: true, condition: publishedOn + ` AND s.business_id = ? AND s.id = ?`, args: []any{business, store}}
	if len(platforms) > 0 {
		d.condition = `s.business_id = ? AND s.id = ? AND f.name = ANY (?::text[])`
		d.args = append(d.args, array(platforms))
	}
	n, err := db.publishDue(ctx, tx, d)
	if err != nil {
		return 0, err
	}
	return int(n), fewWait(ctx, tx, business, store, storeRef)
}

// publishedPlatforms refuses platforms of the merchant's own: they read the menu
// from the hub.
func publishedPlatforms(ctx context.Context, tx bun.Conn, business core.BusinessID, names []string) error {
	var own []string
	if err := tx.NewRaw(`SELECT name FROM platforms WHERE business_id = ? AND name = ANY (?::text[]) AND served_by = ?`,
		business, array(names), core.ServedByOwn).Scan(ctx, &own); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	var v core.Violations
	for i, name := range names {
		if slices.Contains(own, name) {
			v.AddBody(fmt.Sprintf("platforms[%d]", i), "value", fmt.Sprintf("%q is your own: it reads the menu from the hub, and nothing is published there", name))
		}
	}
	return v.Err()
}

// maxAsking bounds the requests to publish that wait for one menu: each is told of
// its outcome.
const maxAsking = 100

func fewWait(ctx context.Context, tx bun.Conn, business core.BusinessID, store int64, storeRef string) error {
	var platforms []string
	if err := tx.NewRaw(`SELECT platform FROM publications WHERE business_id = ? AND store_id = ? AND cardinality(asked) > ? ORDER BY platform`,
		business, store, maxAsking).Scan(ctx, &platforms); err != nil {
		return fmt.Errorf("counting requests to publish: %w", err)
	}
	if len(platforms) > 0 {
		return core.Errorf(core.Conflict, "%d requests to publish the menu of %q on %q wait already; send this one again when one of them has been told of", maxAsking, storeRef, platforms[0])
	}
	return nil
}
