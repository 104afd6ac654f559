package calls

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// hubTimeout is how long a hub's plugin status stays valid. A hub reports every 30 s and after every change.
const hubTimeout = time.Minute

// ReportCounts records the plugin status of a hub, and deletes that of killed hubs. If no hub runs the build any more
// that a request is set aside for, the request is retried.
func (p Plugins) ReportCounts(ctx context.Context, list []console.PluginHub) error {
	now, n := p.db.Clock().Now(), len(list)
	ids, hubs, versions, states := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	since, reasons, builds := make([]string, n), make([]string, n), make([]string, n)
	inFlight, memory, digests, calls := make([]int64, n), make([]int64, n), make([]string, n), make([]string, n)
	for i, h := range list {
		made, err := json.Marshal(h.Calls)
		if err != nil {
			return err
		}
		ids[i], hubs[i], versions[i], states[i] = h.Plugin, h.Hub.String(), h.Version, h.State
		since[i], reasons[i], builds[i] = h.Since.UTC().Format(time.RFC3339Nano), postgres.CleanText(h.Reason), h.Build
		inFlight[i], memory[i], digests[i], calls[i] = int64(h.InFlight), h.Memory, h.Renderer, string(made)
	}
	if _, err := p.db.Bun().ExecContext(ctx, queries.With("record_hubs", postgres.Args{
		"now": now, "stopped": now.Add(-hubTimeout), "plugins": postgres.Array(ids), "hubs": postgres.Array(hubs),
		"versions": postgres.Array(versions), "states": postgres.Array(states), "since": postgres.Array(since),
		"reasons": postgres.Array(reasons), "builds": postgres.Array(builds),
		"in_flight": postgres.Array(inFlight), "memory": postgres.Array(memory), "calls": postgres.Array(calls),
		"description_digests": postgres.Array(digests),
	})); err != nil {
		return fmt.Errorf("recording the status of plugins: %w", err)
	}
	return p.retryOutdated(ctx, now.Add(-hubTimeout))
}

// RemoveHub deletes the plugin status of a hub that stops.
func (p Plugins) RemoveHub(ctx context.Context, hub core.ID) error {
	return postgres.Exec(ctx, p.db.Bun(), "deleting the status of plugins",
		`DELETE FROM plugin_hubs WHERE hub = ?`, hub)
}

// Hubs returns the plugin status of the running hubs.
func (p Plugins) Hubs(ctx context.Context) ([]console.PluginHub, error) {
	return postgres.Collect(ctx, p.db.Bun(), "reading the status of plugins", func(h *console.PluginHub) []any {
		return []any{&h.Plugin, &h.Hub, &h.At, &h.Version, &h.State, &h.Since, &h.Reason, &h.Build,
			&h.InFlight, &h.Memory, (*callCounts)(&h.Calls)}
	},
		bun.SafeQuery(`SELECT plugin_id, hub, reported_at, version, state, since, reason, build, in_flight, memory,
			calls
		FROM plugin_hubs
		WHERE reported_at >= ? ORDER BY plugin_id, hub`, p.db.Clock().Now().Add(-hubTimeout)))
}

// callCounts reads the column calls.
type callCounts []console.PluginCall

// Scan decodes JSON (sql.Scanner).
func (c *callCounts) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text.String), (*[]console.PluginCall)(c))
}
