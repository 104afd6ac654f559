// Package audit stores the audit trail.
package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Record stores a change in the audit trail, in the transaction that makes it.
func Record(ctx context.Context, db *postgres.DB, in bun.IDB, change access.Change) error {
	detail := map[string]any{}
	if change.Why != "" {
		detail["why"] = change.Why
	}
	if change.Before != nil {
		detail["before"] = change.Before
	}
	if change.After != nil {
		detail["after"] = change.After
	}
	encoded, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("writing the audit trail: %w", err)
	}
	now := db.Clock().Now()
	return postgres.Exec(ctx, in, "writing the audit trail",
		`INSERT INTO audit (business_id, id, at, actor, action, object, detail) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		change.Business, core.NewID(now), now, change.Actor, change.Action, change.Object,
		string(encoded))
}
