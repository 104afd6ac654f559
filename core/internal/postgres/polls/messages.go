package polls

import (
	"crypto/sha256"
	"slices"

	"github.com/servery-hub/servery/core/internal/postgres/messages"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/poll"
	"github.com/servery-hub/servery/core/relay"
)

// digestSize is the size of the digest of a message, in bytes.
const digestSize = 16

// newMessages returns the calls that handle the messages of a run, and the digests of all of them. A message that the
// last successful run has found too is not handled again: many lists contain an order until it is accepted.
func (s Store) newMessages(end poll.End, p relay.PollPayload, seen []byte) ([]outbox.Call, []byte, error) {
	if end.Outcome.Polled == nil {
		return nil, []byte{}, nil
	}
	known, digests := map[string]bool{}, []byte{} // not null
	for digest := range slices.Chunk(seen, digestSize) {
		known[string(digest)] = true
	}
	var calls []outbox.Call
	store := messages.New(s.db)
	for _, m := range end.Outcome.Polled.Messages {
		digest := sha256.Sum256([]byte(m.PlatformOrderID + "\n" + string(m.Body)))
		digests = append(digests, digest[:digestSize]...)
		if known[string(digest[:digestSize])] {
			continue
		}
		known[string(digest[:digestSize])] = true
		call, err := store.Call(relay.InboundRequest{
			Caller: relay.Caller{Business: end.Call.Business, Platform: end.Call.Platform, Plugin: end.Call.Plugin},
			Kind:   p.Poll, Headers: map[string]string{"content-type": m.ContentType}, Body: m.Body,
			ReceivedAt: end.FinishedAt},
			relay.InboundFetchPayload{PlatformOrderID: m.PlatformOrderID, Poll: p.Poll})
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, call)
	}
	return calls, digests, nil
}
