package webhook

import (
	"context"

	"github.com/servery-hub/servery/core"
)

// Rotate replaces the signing secret of a subscription and returns the new one in the result. The previous secret
// also signs during the overlap, so that deliveries stay valid while the receiver is updated. The earliest secret
// that still signs does too: a client that repeats a rotation after a lost response verifies with that one. Rotate
// returns NotFound for an unknown webhook. Actor and why are for the audit trail.
func (s Subscriptions) Rotate(ctx context.Context, business core.BusinessID, id int64, actor,
	why string) (Subscription, error) {
	return s.Store.Rotate(ctx, business, id, Author{actor, why}, func(sub *Subscription) {
		sub.UpdatedAt = s.Clock.Now()
		sub.Secret, sub.OldSecretUntil = NewSecret(), sub.UpdatedAt.Add(s.Overlap)
	})
}
