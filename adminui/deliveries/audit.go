package deliveries

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// AuditObject returns the name of a delivery in the audit trail.
func AuditObject(id core.ID) string { return "delivery/" + id.String() }

// AuditReason returns the reason in an audit entry, or "" if it has none.
func AuditReason(e console.Entry) string {
	var said struct {
		Why string `json:"why"`
	}
	_ = json.Unmarshal(e.Detail, &said)
	return said.Why
}

// statusCause explains the state of a delivery, and who resent it.
func (p Pages) statusCause(ctx context.Context, v *shell.PageContext, d webhook.DeliveryRecord,
	attempts []webhook.AttemptRecord) (ui.Cause, error) {
	told, twice := cause.DeliveryWithAttempts(d, attempts, v.Zone)
	asked, err := p.Trail.Audit(ctx, v.Business.ID, console.EntryFilter{Objects: []string{AuditObject(d.ID)}, Limit: 1})
	if err != nil {
		return told, err
	}
	switch {
	case len(asked) > 0:
		by := fmt.Sprintf(text.ResentBy, cause.ActorName(asked[0].Actor), v.At(asked[0].At).Exact(), AuditReason(asked[0]))
		told.Detail = strings.TrimSpace(by + " " + told.Detail)
		told.SecondLink = ui.Link{Href: v.Link("audit/?object=" + AuditObject(d.ID)), Label: text.Audit}
	case twice: // no audit entry for this delivery: a bulk resend
		told.SecondLink = ui.Link{Href: v.Link("jobs/?kind=" + string(core.BulkResendJob)), Label: text.ActSeeResends}
	}
	return told, nil
}
