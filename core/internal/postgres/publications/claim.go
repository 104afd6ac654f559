package publications

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
)

var claim = claimStatement()

func claimStatement() *postgres.Query {
	parts := outbox.ClaimParts("publications")
	parts["sent_name"] = outbox.SentNameOf("publication.business_id", "publication.platform")
	return queries.Get("claim").Fill("claim_publications", parts)
}

// Claim leases due publications, the longest waiting endpoints first. The platform's state
// is unknown if a lease expired or another call changed it meanwhile.
func (p Store) Claim(ctx context.Context, owner core.ID, capacity queue.Capacity,
	until time.Time) (batch queue.Batch[publish.Work], err error) {
	now, epoch := p.db.ReadClock()
	busy := outbox.Busy{Endpoints: capacity.Busy, Plugins: capacity.BusyGroups}
	args := postgres.Args{"now": now, "epoch": epoch, "limit": capacity.Items, "share": capacity.OtherKeys,
		"owner": owner, "until": until}
	busy.Into(args)
	if err := p.db.QueryKeyed(ctx, postgres.Statement{Query: claim, Args: args}, func(rows *sql.Rows) error {
		w := publish.Work{LeasedUntil: until, Owner: owner}
		var sealed []byte
		var call uuid.NullUUID
		var sent sql.NullString
		var deadline time.Time
		err := rows.Scan(&w.Business, &w.StoreID, &w.StoreRef, &w.Platform, &w.EventPlatform, &w.Plugin, &w.Endpoint,
			&w.Version, &w.Attempts, &call, &w.Reference, pgdialect.Array(&w.PendingRequests),
			pgdialect.Array(&w.ExplicitRequests), &w.Digest, &sealed, &w.Trace, &sent, postgres.OrZero(&deadline),
			&w.Lease)
		if err != nil {
			return err
		}
		if w.Sent, err = readSent(sent.String); w.Sent != nil {
			w.Sent.Deadline = deadline // moves with the clock
		}
		w.CallID, w.Steps = call.UUID, p.openSteps(w, sealed)
		batch.Items = append(batch.Items, w)
		return err
	}); err != nil {
		return batch, fmt.Errorf("claiming publications: %w", err)
	}
	if len(batch.Items) > 0 {
		batch.More = true // each platform got only its share
		return batch, nil
	}
	batch.NextDue, err = outbox.NextDue(ctx, p.db, "publications", busy)
	return batch, err
}

// Release requeues a claimed publication with its due time unchanged.
func (p Store) Release(ctx context.Context, owner core.ID, w publish.Work) error {
	_, err := p.db.Bun().ExecContext(ctx,
		`UPDATE publications SET owner = NULL, available_at = due_at, digest = CASE WHEN state_unknown THEN NULL
			ELSE ?::bytea END
		WHERE business_id = ? AND store_id = ? AND platform = ? AND owner = ? AND lease = ?`, w.Digest,
		w.Business, w.StoreID, w.Platform, owner, w.Lease)
	if err != nil {
		return fmt.Errorf("releasing a publication: %w", err)
	}
	outbox.NotifyLater(p.db, Channel) // a replica with the plugin may be at rest
	return nil
}

// Finish records the result of a claimed publication and its events in one transaction. It
// does nothing if the owner no longer holds the lease.
func (p Store) Finish(ctx context.Context, owner core.ID, r publish.Result, events []core.Event) error {
	return outbox.Run(ctx, p.db, func(tx bun.Conn, box *outbox.Outbox) error {
		held, err := p.record(ctx, tx, owner, r)
		if err != nil || !held {
			return err
		}
		if err := p.keepExchange(ctx, tx, r); err != nil {
			return err
		}
		if err := p.endTask(ctx, tx, r); err != nil {
			return err
		}
		if r.State == publish.Pending {
			if events, err = p.register(ctx, tx, r); err != nil {
				return err
			}
		}
		return box.Publish(ctx, tx, events...)
	})
}

func (p Store) record(ctx context.Context, tx bun.Conn, owner core.ID, r publish.Result) (held bool, err error) {
	var result sql.Result
	switch r.State {
	case publish.Waiting:
		attempts := r.Attempts
		if !r.Uncounted {
			attempts++
		}
		result, err = tx.ExecContext(ctx, queries.With("retry", postgres.Args{
			"call": r.CallID, "note": postgres.CleanText(r.Message), "digest": r.Digest, "version": r.Version,
			"attempts": attempts, "retry_at": r.RetryAt, "business": r.Business, "store": r.StoreID,
			"platform": r.Platform, "owner": owner, "lease": r.Lease, "sent_stays": r.SentStays(),
			"attempted": r.Attempted,
		}))
	case publish.Pending:
		result, err = p.await(ctx, tx, owner, r)
	default:
		result, err = p.conclude(ctx, tx, r,
			bun.SafeQuery(`owner = ? AND lease = ?`, owner, r.Lease))
	}
	if err != nil {
		return false, fmt.Errorf("recording a publication: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// jsonText returns a value as JSON that can be cast to jsonb, which allows no NUL.
func jsonText(v any) (string, error) {
	text, err := json.Marshal(v)
	return strings.ReplaceAll(string(text), `\u0000`, `\ufffd`), err
}

// conclude stores an outcome, if the condition held applies. The aggregator's problems are kept until it accepts
// another menu.
func (p Store) conclude(ctx context.Context, tx bun.Conn, r publish.Result,
	held schema.QueryWithArgs) (sql.Result, error) {
	leftOut, err := jsonText(append([]publish.Problem{}, r.Omitted...))
	if err != nil {
		return nil, err
	}
	problems, err := jsonText(append([]publish.Problem{}, r.Problems...))
	if err != nil {
		return nil, err
	}
	warnings, err := jsonText(append([]publish.Problem{}, r.Warnings...))
	if err != nil {
		return nil, err
	}
	taken, platformStoreID := r.State == publish.Published && !r.Unchanged, ""
	if taken {
		platformStoreID = r.PlatformStoreID
	}
	return tx.ExecContext(ctx, queries.With("conclude", postgres.Args{
		"version": r.Version, "publish_requests": postgres.Array(r.ExplicitRequests),
		"pending_references": postgres.Array(r.PendingRequests),
		"unchanged":          r.Unchanged, "problems": problems, "state": r.State,
		"warnings": warnings,
		"message":  postgres.CleanText(r.Message), "left_out": leftOut,
		"reference": r.Reference, "digest": r.Digest, "at": r.At, "taken": taken, "platform_store_id": platformStoreID,
		"business": r.Business, "store": r.StoreID, "platform": r.Platform, "held": held,
	}))
}
