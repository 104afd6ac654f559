package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/publish"
)

// List reads what is published where, by the ref_ids of the stores, then the
// platforms; at most as many as the filter says.
func (p Publications) List(ctx context.Context, business core.BusinessID, f publish.Filter) ([]publish.Publication, error) {
	rows, err := p.of(business).QueryContext(ctx, `SELECT s.ref_id, p.platform, p.state, p.message, p.left_out, p.problems, p.outcome_of,
			p.published_at, p.settled_at, CASE WHEN p.available_at < 'infinity' THEN CASE WHEN p.owner IS NULL THEN p.available_at ELSE p.due_at END END,
			p.note, p.attempts
		FROM publications p JOIN stores s ON s.business_id = p.business_id AND s.id = p.store_id
		WHERE p.business_id = ?0 AND (?1 = '' OR s.ref_id = ?1) AND (?2 = '' OR p.platform = ?2) AND (?3 = '' OR p.state = ?3)
			AND (s.ref_id, p.platform) > (?4, ?5)
		ORDER BY s.ref_id, p.platform LIMIT ?6`,
		business, f.StoreRef, f.Platform, f.State, f.After.StoreRef, f.After.Platform, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("reading publications: %w", err)
	}
	defer rows.Close()
	list := []publish.Publication{}
	for rows.Next() {
		var one publish.Publication
		var leftOut, problems string
		var reference uuid.NullUUID
		var published, settled, due sql.NullTime
		if err := rows.Scan(&one.StoreRef, &one.Platform, &one.State, &one.Message, &leftOut, &problems, &reference,
			&published, &settled, &due, &one.Note, &one.Attempts); err != nil {
			return nil, fmt.Errorf("reading publications: %w", err)
		}
		told := publish.Result{State: one.State, Message: one.Message}
		if err := errors.Join(json.Unmarshal([]byte(leftOut), &told.LeftOut), json.Unmarshal([]byte(problems), &told.Problems)); err != nil {
			return nil, fmt.Errorf("a stored publication cannot be read: %w", err)
		}
		one.Errors, one.Reference = told.Errors(), reference.UUID
		one.PublishedAt, one.SettledAt, one.DueAt = published.Time, settled.Time, due.Time
		list = append(list, one)
	}
	return list, rows.Err()
}
