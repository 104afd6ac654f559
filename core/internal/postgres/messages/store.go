// Package messages stores the requests of aggregators with only a link, until their content is fetched. They are
// calls of the relay.
package messages

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/relay"
)

// Store stores requests with only a link (callback.Requests).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// maxWaiting bounds the requests about one order that wait. Their content is fetched one by one.
const maxWaiting = 200

// errFull reports that a request was not stored.
var errFull = &core.Error{Code: core.Unavailable, RetryAfter: time.Minute,
	Message: fmt.Sprintf("%d requests about this order wait until their content is fetched: resend this one later",
		maxWaiting)}

// Add queues the fetch of a request's content, unless the same request waits. A fetch under way may have read older
// content, so the request that it handles does not count. It returns Unavailable if maxWaiting others wait.
func (s Store) Add(ctx context.Context, in relay.InboundRequest, platformOrderID string) error {
	in.Nonce = relay.Nonce{}
	call, err := s.Call(in, relay.InboundFetchPayload{PlatformOrderID: platformOrderID})
	if err != nil {
		return err
	}
	err = outbox.Run(ctx, s.db, func(tx bun.Conn, box *outbox.Outbox) error {
		waits, err := waits(ctx, tx, call)
		if err != nil || waits {
			return err
		}
		return box.QueueCalls(ctx, tx, []outbox.Call{call})
	})
	if err != nil {
		return fmt.Errorf("storing a request of an aggregator: %w", err)
	}
	return nil
}

// Call returns the call that handles a request. One without the id of an order waits for no other.
func (s Store) Call(in relay.InboundRequest, payload relay.InboundFetchPayload) (call outbox.Call, err error) {
	now := s.db.Clock().Now()
	payload.PlatformOrderID = postgres.CleanText(payload.PlatformOrderID)
	call = outbox.Call{Business: in.Business, ID: core.NewID(now), Kind: relay.InboundFetch, Platform: in.Platform,
		Actor: "platform:" + in.Platform, At: now, Digest: digest(in)}
	call.OrderingKey = relay.InboundKey(in.Platform, payload.PlatformOrderID)
	if payload.PlatformOrderID == "" {
		call.OrderingKey = relay.InboundKey(in.Platform, "/"+call.ID.String())
	}
	text, err := json.Marshal(in, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		payload.Request = s.db.Compress(text)
		call.Payload, err = json.Marshal(payload)
	}
	if err != nil {
		return call, fmt.Errorf("storing a request of an aggregator: %w", err)
	}
	return call, nil
}

// digest returns the digest of what a request and its repeats have in common. Its headers do not count, because a
// repeat has another date and signature.
func digest(in relay.InboundRequest) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", in.Kind, len(in.Query))
	for _, name := range slices.Sorted(maps.Keys(in.Query)) {
		fmt.Fprintf(h, "%q %q\n", name, in.Query[name])
	}
	h.Write(in.Body)
	return h.Sum(nil)
}

// waits reports whether the same request already waits. It reads only the digests, because the requests are large. It
// locks the ordering key in a separate statement, so that the next one sees what that waited for.
func waits(ctx context.Context, tx bun.Conn, call outbox.Call) (repeated bool, err error) {
	var running int
	err = tx.QueryRowContext(ctx, `SELECT (owner IS NOT NULL)::int FROM call_queue
		WHERE business_id = ? AND ordering_key = ? FOR UPDATE`, call.Business, call.OrderingKey).Scan(&running)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var waiting int
	err = tx.QueryRowContext(ctx, `SELECT coalesce(bool_or(request_digest = ?2), false), count(*) FROM (
			SELECT request_digest FROM calls WHERE business_id = ?0 AND ordering_key = ?1 AND state = 'waiting'
			ORDER BY sequence OFFSET ?3 LIMIT ?4
		) earlier`, call.Business, call.OrderingKey, call.Digest, running, maxWaiting).Scan(&repeated, &waiting)
	if err == nil && !repeated && waiting == maxWaiting {
		err = errFull
	}
	return repeated, err
}

// Request returns the request of a call.
func (s Store) Request(call relay.Call) (in relay.InboundRequest, err error) {
	var payload relay.InboundFetchPayload
	if err = json.Unmarshal(call.Payload, &payload); err == nil {
		var text []byte
		if text, err = s.db.Decompress(payload.Request); err == nil {
			err = json.Unmarshal(text, &in, jsontext.AllowInvalidUTF8(true))
		}
	}
	if err != nil {
		return in, &core.Error{Code: core.Invalid, Message: "the stored request cannot be read", Cause: err}
	}
	return in, nil
}

// Ended removes the requests of calls that are done, because they may contain personal data (calls.OnEnded). A failed
// call keeps its request until the retention ends, so that it can be retried.
func Ended(ctx context.Context, tx bun.Conn, ended []calls.Ended) ([]core.Event, error) {
	for _, call := range ended {
		if call.Kind != relay.InboundFetch || call.State == string(relay.Failed) {
			continue
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE calls SET payload = (payload::jsonb - 'request')::text, request_digest = NULL
				WHERE business_id = ? AND id = ?`, call.Business, call.ID); err != nil {
			return nil, fmt.Errorf("removing the request of a call: %w", err)
		}
	}
	return nil, nil
}
