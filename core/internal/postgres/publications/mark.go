// Package publications is the queue of menus to publish, with the findings of platforms.
package publications

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Channel notifies replicas of due publications.
const Channel = "servery_publications"

// Store stores publications (publish.Queue).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// markState holds this replica's debounce.
type markState struct{ debounce publish.Debounce }

func markStateOf(db *postgres.DB) *markState {
	return postgres.StateOf(db, func(*postgres.DB) *markState { return &markState{} })
}

// UseDebounce sets the time for which changes are collected before they are published.
func UseDebounce(db *postgres.DB, d publish.Debounce) { markStateOf(db).debounce = d }

// publishesAtAll is the condition that a business has platforms to publish to. It is evaluated
// once, and saves other businesses the search for stores.
const publishesAtAll = ` AND (EXISTS (SELECT 1 FROM platforms WHERE business_id = ? AND served_by <> 'own')
	OR EXISTS (SELECT 1 FROM publications WHERE business_id = ?))`

// Selector selects menus to publish.
type Selector struct {
	Reference    core.ID
	explicit     bool   // a request waits for this outcome: publish at once and report it
	Now          bool   // publish at once, without debounce
	fromRequest  bool   // a request made the change and gets an event with the outcome
	StateUnknown bool   // the platform's state is unknown
	Condition    string // on the rows store, platform and publication
	Args         []any
}

// MarkDue marks stores on platforms as due, in one statement and in key order. A
// publication that is running is repeated afterwards.
func MarkDue(ctx context.Context, db *postgres.DB, tx bun.IDB, d Selector) (int64, error) {
	now, debounce := db.Clock().Now(), markStateOf(db).debounce.OrDefault()
	at, requests, waiting := debounce.Due(now, now), []string{}, []string{}
	switch {
	case d.explicit:
		requests = []string{d.Reference.String()}
	case d.fromRequest:
		waiting = []string{d.Reference.String()}
	}
	if d.explicit || d.Now {
		at = now
	}
	result, err := tx.ExecContext(ctx, queries.With("mark_due", postgres.Args{
		"reference": d.Reference.String(), "pending_references": postgres.Array(waiting),
		"publish_requests": postgres.Array(requests),
		"state_unknown":    d.StateUnknown, "now": now, "due": at, "selected": bun.SafeQuery(d.Condition, d.Args...),
		"due_again": bun.Safe(queries.With("due_again", postgres.Args{
			"most_microseconds": debounce.Max.Microseconds(),
		})),
	}))
	if err != nil {
		return 0, fmt.Errorf("marking menus for publication: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil || n == 0 {
		return n, err
	}
	return n, outbox.Notify(ctx, db, tx, Channel)
}

// WrittenStores are the stores that a request has written, and the time when.
type WrittenStores struct {
	IDs []int64
	At  time.Time
}

// PublishStores marks the stores that a request has changed. Their ids are passed as an array,
// because the planner has no statistics for new rows.
func PublishStores(ctx context.Context, db *postgres.DB, tx bun.IDB, work core.Job, stores WrittenStores) error {
	_, err := MarkDue(ctx, db, tx, Selector{
		Reference: work.ID, fromRequest: true,
		Condition: PublishedOn + ` AND store.business_id = ? AND store.updated_at = ? AND store.id = ANY (?::bigint[])`,
		Args:      []any{work.Business, stores.At, postgres.Array(stores.IDs)},
	})
	return err
}

// MenuChange is a change of menus.
type MenuChange struct {
	Job      core.Job
	Store    int64 // the addressed store; 0: the master catalogue
	Affected menu.AffectedStores
}

// PublishMenus marks the stores whose menus a job may have changed.
func PublishMenus(ctx context.Context, db *postgres.DB, tx bun.IDB, change MenuChange) error {
	work, reach := change.Job, change.Affected
	if !reach.Any() {
		return nil
	}
	d := Selector{Reference: work.ID, fromRequest: work.Kind == core.MenuJob || work.Kind == core.TimingJob,
		Condition: PublishedOn + publishesAtAll + ` AND store.business_id = ?`,
		Args:      []any{work.Business, work.Business, work.Business}}
	var conditions []string
	reached := func(is bool, condition string, args ...any) {
		if is && !reach.All {
			conditions, d.Args = append(conditions, condition), append(d.Args, args...)
		}
	}
	const sells = `EXISTS (SELECT 1 FROM store_overrides override WHERE override.business_id = store.business_id
		AND override.store_id = store.id AND override.kind = ? AND override.id = ANY (?::bigint[]))`
	reached(reach.AtStore, `store.id = ?`, change.Store)
	reached(len(reach.Items) > 0, sells, int(menu.Items), postgres.Array(reach.Items))
	reached(len(reach.Options) > 0, sells, int(menu.Options), postgres.Array(reach.Options))
	if len(conditions) > 0 {
		d.Condition += ` AND (` + strings.Join(conditions, ` OR `) + `)`
	}
	_, err := MarkDue(ctx, db, tx, d)
	return err
}

// publishPlatform marks every store on a platform of a business.
func publishPlatform(ctx context.Context, db *postgres.DB, tx bun.IDB, business core.BusinessID,
	platform string) error {
	_, err := MarkDue(ctx, db, tx, Selector{
		Reference: core.NewID(db.Clock().Now()),
		Condition: PublishedOn + ` AND store.business_id = ? AND platform.name = ?`,
		Args:      []any{business, platform},
	})
	return err
}

// Request marks a store due at once on the named platforms, or on all platforms that list it. An
// event with the reference reports the outcome on each platform, even if nothing changed. Request
// returns the number of platforms.
//
// It returns NotFound for an unknown store or platform. It returns Invalid for a platform
// that the hub does not publish to, and Conflict if too many requests already wait.
func (p Store) Request(ctx context.Context, business core.BusinessID, storeRef string, platforms []string,
	reference core.ID) (n int, err error) {
	err = p.db.InTx(ctx, func(tx bun.Conn) error {
		if n, err = RequestPublish(ctx, p.db, tx, PublishRequest{business, storeRef, platforms,
			reference}); err != nil {
			return err
		}
		return StoreUnnotified(ctx, tx, business, reference, n)
	})
	return n, err
}

// PublishRequest is a request to publish the menu of a store.
type PublishRequest struct {
	Business  core.BusinessID
	StoreRef  string
	Platforms []string // names or aliases; empty: all platforms that list the store
	Reference core.ID
}

// RequestPublish marks a store due at once for a request and returns the number of platforms.
func RequestPublish(ctx context.Context, db *postgres.DB, tx bun.Conn, r PublishRequest) (int, error) {
	business := r.Business
	store, err := StoreID(ctx, tx, business, r.StoreRef)
	if err != nil {
		return 0, err
	}
	platforms, err := ResolvePlatforms(ctx, tx, business, r.Platforms)
	if err != nil {
		return 0, err
	}
	if err := rejectOwnPlatforms(ctx, tx, business, platforms, r.Platforms); err != nil {
		return 0, err
	}
	d := Selector{Reference: r.Reference, explicit: true,
		Condition: PublishedOn + ` AND store.business_id = ? AND store.id = ?`, Args: []any{business, store}}
	if len(platforms) > 0 {
		d.Condition = `store.business_id = ? AND store.id = ? AND platform.name = ANY (?::text[])`
		d.Args = append(d.Args, postgres.Array(platforms))
	}
	n, err := MarkDue(ctx, db, tx, d)
	if err != nil {
		return 0, err
	}
	return int(n), checkPendingRequests(ctx, tx, business, store, r.StoreRef)
}

// rejectOwnPlatforms rejects the merchant's own platforms, because they read the menu from
// the hub. Errors name them as they were sent.
func rejectOwnPlatforms(ctx context.Context, tx bun.Conn, business core.BusinessID, names, sent []string) error {
	var own []string
	if err := tx.NewRaw(`SELECT name FROM platforms WHERE business_id = ? AND name = ANY (?::text[]) AND served_by = ?`,
		business, postgres.Array(names), core.ServedByMerchant).Scan(ctx, &own); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	var v core.Violations
	for i, name := range names {
		if slices.Contains(own, name) {
			v.AddBody(fmt.Sprintf("platforms[%d]", i), "value",
				fmt.Sprintf("%q is your own: it reads the menu from the hub, and nothing is published there", sent[i]))
		}
	}
	return v.Err()
}

// maxPendingRequests bounds the publish requests that wait for one menu. Each of them gets an event
// with the outcome.
const maxPendingRequests = 100

func checkPendingRequests(ctx context.Context, tx bun.Conn, business core.BusinessID, store int64,
	storeRef string) error {
	var platforms []string
	if err :=
		tx.NewRaw(`SELECT platform FROM publications WHERE business_id = ? AND store_id = ?
			AND cardinality(publish_requests) > ?
			ORDER BY platform`,
			business, store, maxPendingRequests).Scan(ctx, &platforms); err != nil {
		return fmt.Errorf("counting requests to publish: %w", err)
	}
	if len(platforms) > 0 {
		return core.Errorf(core.Conflict,
			"%d requests to publish the menu of %q on "+
				"%q are pending: resend this one when one has finished", maxPendingRequests, storeRef, platforms[0])
	}
	return nil
}
