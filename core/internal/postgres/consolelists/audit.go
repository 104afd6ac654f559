package consolelists

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// AuditEntry returns an audit entry of a business, or of the hub for business 0. It returns
// NotFound if there is none with that id.
func (c Store) AuditEntry(ctx context.Context, business core.BusinessID, id core.ID) (console.Entry, error) {
	var e console.Entry
	err := c.db.Tenant(business).QueryRowContext(ctx,
		`SELECT business_id, id, at, actor, action, object, detail FROM audit WHERE business_id = ? AND id = ?`,
		business, id).
		Scan(&e.Business, &e.ID, &e.At, &e.Actor, &e.Action, &e.Object, &e.Detail)
	return e, postgres.NotFound(err, "there is no such entry")
}

// Audit returns audit entries of a business by time. Business 0 is the hub itself.
func (c Store) Audit(ctx context.Context, business core.BusinessID, f console.EntryFilter) ([]console.Entry, error) {
	var only postgres.Conditions
	only.Add(f.Actor != "", "actor = ?", f.Actor)
	only.Add(f.Action != "", "action = ?", f.Action)
	only.Add(f.Object != "", "object = ?", f.Object)
	only.Add(f.Objects != nil, "object = ANY (?)", postgres.Array(f.Objects))
	sorted, after := sortOrder(f.Oldest)
	only.Add(f.Before != core.ID{}, "id ? ?", after, f.Before)
	only.Add(!f.From.IsZero(), "id >= ?", core.FirstID(f.From))
	only.Add(!f.To.IsZero(), "id < ?", core.FirstID(f.To))
	return postgres.Collect(ctx, c.db.Tenant(business), "reading the audit trail", func(e *console.Entry) []any {
		return []any{&e.Business, &e.ID, &e.At, &e.Actor, &e.Action, &e.Object, &e.Detail}
	}, bun.SafeQuery(`SELECT business_id, id, at, actor, action, object, detail FROM audit WHERE business_id = ?`+
		only.Text+` ORDER BY id ? LIMIT ?`, slices.Concat([]any{business}, only.Args, []any{sorted, f.Limit})...))
}

// Record stores the audit entry of a change that another package made.
func (c Store) Record(ctx context.Context, change access.Change) error {
	return audit.Record(ctx, c.db, c.db.Bun(), change)
}
