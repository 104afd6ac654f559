package polls

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/poll"
	"github.com/servery-hub/servery/core/relay"
)

// scheduleBatch bounds the polls that one transaction queues.
const scheduleBatch = 1000

// scheduled are new polls, in columns.
type scheduled struct {
	businesses, endpoints, stores        []int64
	keys, platforms, polls, payloads, at []string
	ids                                  []string
}

// Schedule queues the polls of a plugin that are not in the queue. Any replica may call it.
func (s Store) Schedule(ctx context.Context, plugin string, declared []poll.Declaration) error {
	for {
		list, err := s.missing(ctx, plugin, declared)
		if err == nil && len(list.keys) > 0 {
			err = s.add(ctx, list)
		}
		if err != nil {
			return fmt.Errorf("scheduling the polls of plugin %s: %w", plugin, err)
		}
		if len(list.keys) < scheduleBatch {
			return nil
		}
	}
}

func (s Store) missing(ctx context.Context, plugin string, declared []poll.Declaration) (list scheduled, err error) {
	var names []string
	var periods []int64
	var perStore []bool
	for _, d := range declared {
		names, periods, perStore = append(names, d.Name), append(periods, int64(d.Period)), append(perStore, d.PerStore)
	}
	rows, err := s.db.Bun().QueryContext(ctx, queries.With("missing", postgres.Args{"plugin": plugin,
		"names": postgres.Array(names), "periods": postgres.Array(periods), "per_store": postgres.Array(perStore),
		"listed_on": bun.Safe(publications.ListedOn), "limit": scheduleBatch}))
	if err != nil {
		return list, err
	}
	defer rows.Close()
	now := s.db.Clock().Now()
	for rows.Next() {
		var business core.BusinessID
		var platform string
		var period int64
		var p relay.PollPayload
		if err := rows.Scan(&business, &platform, &p.Poll, &period, &p.StoreID, &p.StoreRefID); err != nil {
			return list, err
		}
		payload, err := json.Marshal(p)
		if err != nil {
			return list, err
		}
		list.businesses, list.platforms = append(list.businesses, int64(business)), append(list.platforms, platform)
		list.polls, list.stores = append(list.polls, p.Poll), append(list.stores, p.StoreID)
		list.keys = append(list.keys, relay.PollKey(platform, p.Poll, p.StoreID))
		list.endpoints = append(list.endpoints, outbox.PlatformEndpoint(business, platform))
		list.payloads, list.ids = append(list.payloads, string(payload)), append(list.ids, core.NewID(now).String())
		list.at = append(list.at, poll.FirstDue(time.Duration(period), now).UTC().Format(time.RFC3339Nano))
	}
	return list, rows.Err()
}

func (s Store) add(ctx context.Context, list scheduled) error {
	return outbox.Run(ctx, s.db, func(tx bun.Conn, box *outbox.Outbox) error {
		if _, err := tx.ExecContext(ctx, queries.With("add", postgres.Args{
			"businesses": postgres.Array(list.businesses), "platforms": postgres.Array(list.platforms),
			"polls": postgres.Array(list.polls), "stores": postgres.Array(list.stores)})); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, queries.With("queue", postgres.Args{
			"businesses": postgres.Array(list.businesses), "ordering_keys": postgres.Array(list.keys),
			"platforms": postgres.Array(list.platforms), "endpoints": postgres.Array(list.endpoints),
			"payloads": postgres.Array(list.payloads), "ids": postgres.Array(list.ids),
			"due": postgres.Array(list.at)})); err != nil {
			return err
		}
		return box.WakeRelays(ctx, tx)
	})
}

// State is the state of a poll of a platform.
type State struct {
	Platform string
	console.PlatformPoll
}

// maxListed bounds the polls of a business that the console shows.
const maxListed = 500

// List returns the polls of a business, by platform.
func (s Store) List(ctx context.Context, business core.BusinessID) ([]State, error) {
	return postgres.Collect(ctx, s.db.Tenant(business), "reading polls", func(p *State) []any {
		return []any{&p.Platform, &p.Poll, &p.Store, postgres.OrZero(&p.AttemptedAt), &p.Failed, &p.Message,
			postgres.OrZero(&p.DueAt), &p.Running}
	}, bun.SafeQuery(queries.With("list", postgres.Args{"business": business, "limit": maxListed})))
}
