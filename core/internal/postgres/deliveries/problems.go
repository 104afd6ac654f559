package deliveries

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// problemKey identifies the cause of failed deliveries.
type problemKey struct {
	BusinessID core.BusinessID `bun:"business_id"`
	Server     string          `bun:"server"`
	ErrorClass string          `bun:"error_class"`
	Status     int             `bun:"status"`
}

// recordProblems records the problems of failed deliveries that the owner still holds, because others do not count. It
// locks these deliveries. It returns the problem of each result, 0 for a delivered one.
func (q Store) recordProblems(ctx context.Context, tx bun.Conn, owner core.ID,
	results []webhook.Result) ([]int64, error) {
	ids, keys := make([]int64, len(results)), make([]problemKey, len(results))
	var failed []webhook.Delivery
	var statuses []int64
	var servers, classes []string
	for i, r := range results {
		if r.State != webhook.Failed {
			continue
		}
		key := problemKey{r.Delivery.Business, webhook.Host(r.Attempt.URL), string(r.Attempt.ErrorClass),
			r.Attempt.Status}
		keys[i] = key
		failed, servers = append(failed, r.Delivery), append(servers, key.Server)
		classes, statuses = append(classes, key.ErrorClass), append(statuses, int64(key.Status))
	}
	if len(failed) == 0 {
		return ids, nil
	}
	now, args := q.db.Clock().Now(), leaseArgs(owner, failed)
	args["servers"], args["classes"], args["statuses"] = postgres.Array(servers), postgres.Array(classes),
		postgres.Array(statuses)
	args["now"], args["recent"] = now, now.Add(-webhooks.ProblemInterval)
	var rows []struct {
		problemKey `bun:",extend"`
		ID         int64 `bun:"id"`
	}
	if err := tx.NewRaw(queries.With("record_problems", args)).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("recording the problems of failed deliveries: %w", err)
	}
	byKey := make(map[problemKey]int64, len(rows))
	for _, row := range rows {
		byKey[row.problemKey] = row.ID
	}
	for i, key := range keys {
		ids[i] = byKey[key]
	}
	return ids, nil
}
