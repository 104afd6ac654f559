package publications

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/publish"
)

// Bounds of a stored exchange, in bytes.
const (
	maxSentBody     = 4 << 20
	maxSentResponse = 4 << 10
)

// keepExchange stores the menu that was sent. It replaces the one before it.
func (p Store) keepExchange(ctx context.Context, tx bun.Conn, r publish.Result) error {
	e := r.Exchange
	if e == nil || len(e.Body) == 0 {
		return nil
	}
	var body []byte
	if len(e.Body) <= maxSentBody {
		body = p.db.Compress(e.Body)
	}
	_, err := tx.ExecContext(ctx, queries.With("keep_exchange", postgres.Args{
		"business": r.Business, "store": r.StoreID, "platform": r.Platform, "call": r.CallID, "version": r.Version,
		"at": e.At, "body": body, "size": len(e.Body), "status": e.Status,
		"response": append([]byte{}, e.Response[:min(len(e.Response), maxSentResponse)]...), "state": r.State,
		"message": postgres.CleanText(r.Message),
	}))
	if err != nil {
		return fmt.Errorf("storing the menu that was sent: %w", err)
	}
	return nil
}

// endExchange stores the outcome of the menu that was sent, which the aggregator has reported later.
func (p Store) endExchange(ctx context.Context, tx bun.Conn, r publish.Result) error {
	_, err := tx.ExecContext(ctx, queries.With("end_exchange", postgres.Args{
		"business": r.Business, "store": r.StoreID, "platform": r.Platform, "call": r.Sent.CallID, "state": r.State,
		"message": postgres.CleanText(r.Message),
	}))
	if err != nil {
		return fmt.Errorf("storing the outcome of the menu that was sent: %w", err)
	}
	return nil
}

// LastSent returns the menu of a store that was last sent to a platform, or NotFound.
func (p Store) LastSent(ctx context.Context, business core.BusinessID, store int64,
	platform string) (s publish.LastSent, err error) {
	var body []byte
	err = p.db.Tenant(business).QueryRowContext(ctx, queries.With("last_sent", postgres.Args{
		"business": business, "store": store, "platform": platform,
	})).Scan(&s.CallID, &s.Version, &s.At, &body, &s.Size, &s.Status, &s.Response, &s.State, &s.Message)
	if err != nil {
		return s, postgres.NotFound(err, "no menu of the store was sent to the platform")
	}
	if body != nil {
		s.Body, err = p.db.Decompress(body)
	}
	return s, err
}
