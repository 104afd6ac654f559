package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/publish"
)

// Claim leases due publications, the longest waiting endpoints first. Where a
// lease ran out, or where something else was told meanwhile, nobody knows what
// the platform holds.
func (p Publications) Claim(ctx context.Context, owner core.ID, limit, share int, busy core.Busy, until time.Time) ([]publish.Work, time.Time, error) {
	now, epoch := p.reading()
	rows, err := p.bun.QueryContext(ctx, `WITH RECURSIVE `+endpointsOf("publications", waits)+`,
		heads AS (SELECT e.endpoint FROM endpoints e
			CROSS JOIN LATERAL (SELECT available_at, business_id, platform FROM publications WHERE endpoint = e.endpoint AND available_at <= ?0 AND available_at < 'infinity'
				ORDER BY available_at LIMIT 1) head
			WHERE e.endpoint <> ALL (?1) AND NOT `+ofBusyPlugin("?7")+` ORDER BY head.available_at LIMIT ?2),
		due AS (SELECT d.* FROM heads h CROSS JOIN LATERAL (
			SELECT business_id, store_id, platform FROM publications WHERE endpoint = h.endpoint AND available_at <= ?0 AND available_at < 'infinity'
			ORDER BY available_at LIMIT ?3 FOR UPDATE SKIP LOCKED) d LIMIT ?2)
		UPDATE publications p SET owner = ?4, available_at = ?5, first_at = NULL, unsure = false, digest = CASE WHEN p.owner IS NULL AND NOT p.unsure THEN p.digest END
		FROM due JOIN stores s ON s.business_id = due.business_id AND s.id = due.store_id
			LEFT JOIN platforms f ON f.business_id = due.business_id AND f.name = due.platform
		WHERE ?6`+unset+` AND p.business_id = due.business_id AND p.store_id = due.store_id AND p.platform = due.platform
		RETURNING p.business_id, p.store_id, s.ref_id, p.platform, coalesce(f.served_by, 'own'), p.endpoint, p.version, p.attempts,
			p.call_id, p.reference, p.waiting, p.asked, p.digest,
			coalesce((SELECT j.trace FROM jobs j WHERE j.business_id = p.business_id AND j.id = p.reference LIMIT 1), '')`,
		now, array(busy.Endpoints), limit, share, owner, until, epoch, array(busy.Plugins))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("claiming publications: %w", err)
	}
	defer rows.Close()
	var claimed []publish.Work
	for rows.Next() {
		w := publish.Work{LeasedTo: until}
		var call uuid.NullUUID
		if err := rows.Scan(&w.Business, &w.StoreID, &w.StoreRef, &w.Platform, &w.Plugin, &w.Endpoint, &w.Version, &w.Attempts,
			&call, &w.Reference, pgdialect.Array(&w.Waiting), pgdialect.Array(&w.Asked), &w.Digest, &w.Trace); err != nil {
			return nil, time.Time{}, fmt.Errorf("claiming publications: %w", err)
		}
		w.CallID = call.UUID
		claimed = append(claimed, w)
	}
	if err := rows.Err(); err != nil || len(claimed) > 0 {
		return claimed, time.Time{}, err
	}
	next, err := p.nextOf(ctx, "publications", busy)
	return claimed, next, err
}

// Release gives a claimed publication back, due as it was.
func (p Publications) Release(ctx context.Context, owner core.ID, w publish.Work) error {
	_, err := p.bun.ExecContext(ctx, `UPDATE publications SET owner = NULL, available_at = due_at, digest = CASE WHEN unsure THEN NULL ELSE ?::bytea END
		WHERE business_id = ? AND store_id = ? AND platform = ? AND owner = ? AND available_at = ?`, w.Digest, w.Business, w.StoreID, w.Platform, owner, w.LeasedTo)
	if err != nil {
		return fmt.Errorf("giving a publication back: %w", err)
	}
	return nil
}

// Finish records what came of a claimed publication, with the events that tell
// it, in one transaction. It does nothing where the lease is not the owner's any more.
func (p Publications) Finish(ctx context.Context, owner core.ID, r publish.Result, events []core.Event) error {
	return p.tell(ctx, func(tx bun.Conn, box *outbox) error {
		held, err := p.settle(ctx, tx, owner, r)
		if err != nil || !held {
			return err
		}
		return box.publish(ctx, tx, events...)
	})
}

func (p Publications) settle(ctx context.Context, tx bun.Conn, owner core.ID, r publish.Result) (held bool, err error) {
	const lease = ` WHERE business_id = ? AND store_id = ? AND platform = ? AND owner = ? AND available_at = ?`
	mine := []any{r.Business, r.StoreID, r.Platform, owner, r.LeasedTo}
	var result sql.Result
	if r.State == publish.Waiting {
		attempts := r.Attempts
		if !r.Untried {
			attempts++
		}
		result, err = tx.ExecContext(ctx, `UPDATE publications SET owner = NULL, call_id = ?, note = ?, digest = CASE WHEN unsure THEN NULL ELSE ?::bytea END,
			attempts = CASE WHEN version > ? THEN 0 ELSE ? END, available_at = CASE WHEN version > ? THEN due_at ELSE ? END`+lease,
			append([]any{r.CallID, clean(r.Message), r.Digest, r.Version, attempts, r.Version, r.RetryAt}, mine...)...)
	} else {
		result, err = p.conclude(ctx, tx, r, lease, mine)
	}
	if err != nil {
		return false, fmt.Errorf("recording a publication: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// conclude writes an outcome. What the aggregator said stands for as long as it
// holds what it said it of.
func (p Publications) conclude(ctx context.Context, tx bun.Conn, r publish.Result, held string, mine []any) (sql.Result, error) {
	leftOut, err := json.Marshal(append([]publish.Problem{}, r.LeftOut...))
	if err != nil {
		return nil, err
	}
	problems, err := json.Marshal(append([]publish.Problem{}, r.Problems...))
	if err != nil {
		return nil, err
	}
	taken, outlet := r.State == publish.Published && !r.Unchanged, ""
	if taken {
		outlet = r.Outlet
	}
	return tx.ExecContext(ctx, `UPDATE publications SET owner = NULL, attempts = 0, note = '', call_id = NULL,
			available_at = CASE WHEN version > ? THEN due_at ELSE 'infinity' END,
			asked = ARRAY(SELECT a FROM unnest(asked) a WHERE a <> ALL (?::uuid[])), waiting = ARRAY(SELECT w FROM unnest(waiting) w WHERE w <> ALL (?::uuid[])),
			problems = CASE WHEN ? AND state = 'published' THEN problems ELSE ? END,
			state = ?, message = ?, left_out = ?, outcome_of = ?, digest = CASE WHEN unsure THEN NULL ELSE ?::bytea END, settled_at = ?,
			published_at = CASE WHEN ? THEN ? ELSE published_at END, outlet = coalesce(nullif(?, ''), outlet)`+held,
		append([]any{r.Version, array(r.Asked), array(r.Waiting), r.Unchanged, clean(string(problems)), r.State, clean(r.Message), clean(string(leftOut)),
			r.Reference, r.Digest, r.At, taken, r.At, outlet}, mine...)...)
}
