package webhook

import (
	"context"

	"github.com/servery-hub/servery/core"
)

// Rotate gives a subscription another signing secret, which the result holds.
// The one before signs beside it for the overlap, so that no delivery is refused
// while the receiver is changed, and so does the earliest that still signs: who
// rotates again because an answer got lost verifies by that one. NotFound where the
// business has no such webhook. Actor and why are for the audit trail.
func (s Subscriptions) Rotate(ctx context.Context, business core.BusinessID, id int64, actor, why string) (Subscription, error) {
	return s.Records.Rotate(ctx, business, id, actor, why, func(sub *Subscription) {
		sub.UpdatedAt = s.Clock.Now()
		sub.Secret, sub.OldSecretUntil = NewSecret(), sub.UpdatedAt.Add(s.Overlap)
	})
}
