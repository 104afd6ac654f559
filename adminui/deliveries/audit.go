package deliveries

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// AuditReason returns the reason in an audit entry, or "" if it has none. Times are in the zone.
func AuditReason(e console.Entry, zone *time.Location) string {
	var detail struct {
		Why string `json:"why"`
	}
	_ = json.Unmarshal(e.Detail, &detail)
	return cause.LocalTimes(detail.Why, zone)
}

// statusCause explains the state of a delivery, and who resent it.
func (p Pages) statusCause(ctx context.Context, v *shell.PageContext, d webhook.DeliveryRecord,
	attempts []webhook.AttemptRecord) (ui.Cause, error) {
	status, resent := cause.DeliveryWithAttempts(d, attempts, v.Zone)
	entries, err := p.Trail.Audit(ctx, v.Business.ID, console.EntryFilter{Objects: []string{AuditObject(d.ID)},
		Limit: 1})
	if err != nil {
		return status, err
	}
	switch {
	case len(entries) > 0:
		by := fmt.Sprintf(text.ResentBy, cause.ActorName(entries[0].Actor), cause.Moment(entries[0].At, v.Zone),
			strings.TrimSuffix(AuditReason(entries[0], v.Zone), "."))
		status.Detail = strings.TrimSpace(by + " " + status.Detail)
		status.SecondLink = ui.Link{Href: v.Link("audit/?object=" + AuditObject(d.ID)), Label: text.Audit}
	case resent: // no audit entry for this delivery: a bulk resend
		status.SecondLink = ui.Link{Href: v.Link("jobs/?kind=" + string(core.BulkResendJob)), Label: text.ActSeeResends}
	}
	return status, nil
}
