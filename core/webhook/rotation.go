package webhook

import (
	"context"

	"github.com/servery-hub/servery/core"
)

// Rotate gives a subscription another signing secret, which the result holds.
// The one before signs beside it for the overlap, so that no delivery is refused
// while the receiver is changed; one that an earlier rotation left signs no
// longer. NotFound where the business has no such webhook. Actor and why are for
// the audit trail.
func (s Subscriptions) Rotate(ctx context.Context, business core.BusinessID, id int64, actor, why string) (Subscription, error) {
	return s.Records.Rotate(ctx, business, id, actor, why, func(sub *Subscription) {
		sub.UpdatedAt = s.Clock.Now()
		sub.OldSecret, sub.OldSecretUntil = sub.Secret, sub.UpdatedAt.Add(s.Overlap)
		sub.Secret = NewSecret()
	})
}
