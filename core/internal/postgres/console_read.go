package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// Businesses reads businesses by their names; with among nil all of them.
func (c Console) Businesses(ctx context.Context, among []core.BusinessID, limit int) ([]core.Business, error) {
	only := conditions{text: "true"}
	only.add(among != nil, "id = ANY (?)", array(among))
	return listOf(ctx, c.bun, "reading businesses", func(b *core.Business) []any {
		return []any{&b.ID, &b.Name, &b.Country, &b.Timezone, &b.Currency, &b.CreatedAt}
	}, `SELECT id, name, country, timezone, currency, created_at FROM businesses WHERE `+only.text+` ORDER BY lower(name), id LIMIT ?`, append(only.args, limit)...)
}

// Counts reads the attempts of businesses since a time, by spans of the grain
// in order; spans without an attempt are left out. webhook 0 is all of them.
func (c Console) Counts(ctx context.Context, businesses []core.BusinessID, webhook int64, grain time.Duration, since time.Time) ([]console.Count, error) {
	rows, err := c.bun.QueryContext(ctx, `SELECT at, sum(accepted)::bigint, sum(refused)::bigint, sum(took_us)::bigint, max(slow_us)
		FROM attempt_counts WHERE business_id = ANY (?) AND grain = ? AND at >= ? AND webhook_id = ? GROUP BY at ORDER BY at`,
		array(businesses), int(grain/time.Second), since, webhook)
	if err != nil {
		return nil, fmt.Errorf("reading counts: %w", err)
	}
	defer rows.Close()
	list := []console.Count{}
	for rows.Next() {
		var count console.Count
		var took, slow int64
		if err := rows.Scan(&count.At, &count.Accepted, &count.Refused, &took, &slow); err != nil {
			return nil, fmt.Errorf("reading counts: %w", err)
		}
		count.Took, count.Slowest = time.Duration(took)*time.Microsecond, time.Duration(slow)*time.Microsecond
		list = append(list, count)
	}
	return list, rows.Err()
}

// Figures counts what waits and what failed in businesses.
func (c Console) Figures(ctx context.Context, businesses []core.BusinessID, since time.Time) (console.Figures, error) {
	var f console.Figures
	// What is held is found by the endpoints that hold it: a queue of which nothing is
	// held is not read for that.
	err := c.bun.QueryRowContext(ctx, `WITH endpoints AS (
			SELECT w.business_id, w.id AS endpoint, w.active, u.endpoint IS NOT NULL AS probed FROM webhooks w
				LEFT JOIN unwell_endpoints u ON u.business_id = w.business_id AND u.endpoint = w.id AND u.probing_since IS NOT NULL
				WHERE w.business_id = ANY (?0)
			UNION ALL SELECT u.business_id, u.endpoint, true, true FROM unwell_endpoints u
				WHERE u.business_id = ANY (?0) AND u.endpoint < 0 AND u.probing_since IS NOT NULL),
		figures AS (SELECT
			(SELECT count(*) FROM (SELECT 1 FROM delivery_queue WHERE business_id = ANY (?0) LIMIT ?3) x) AS queued,
			(SELECT count(*) FROM (SELECT 1 FROM endpoints e JOIN LATERAL (
				SELECT 1 FROM delivery_queue d WHERE d.endpoint = e.endpoint AND d.business_id = e.business_id AND d.available_at = 'infinity'
				UNION ALL SELECT 1 FROM delivery_queue d WHERE (e.probed OR NOT e.active) AND d.endpoint = e.endpoint AND d.business_id = e.business_id
					AND d.available_at < 'infinity' AND d.owner IS NULL AND NOT (e.active AND d.asked)) d ON true LIMIT ?3) x) AS held)
		SELECT least(queued - held, ?2), least(held, ?2),
		(SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE business_id = ANY (?0) AND state = 'failed' AND id >= ?1 LIMIT ?2) x),
		(SELECT count(*) FROM (SELECT 1 FROM jobs WHERE business_id = ANY (?0) AND state = 'failed' AND id >= ?1 LIMIT ?2) x),
		(SELECT count(*) FROM (SELECT 1 FROM job_queue WHERE business_id = ANY (?0) LIMIT ?2) x)
		FROM figures`,
		array(businesses), core.FirstID(since), console.Many, 2*console.Many).Scan(&f.Waiting, &f.Held, &f.GivenUp, &f.FailedJobs, &f.OpenJobs)
	if err != nil {
		return f, fmt.Errorf("counting what waits: %w", err)
	}
	return f, nil
}

type endpointRow struct {
	BusinessID     core.BusinessID `bun:"business_id"`
	ID             int64           `bun:"id"`
	EventType      core.EventType  `bun:"event_type"`
	URL            string          `bun:"url"`
	Active         bool            `bun:"active"`
	DisabledReason string          `bun:"disabled_reason"`
	Units          string          `bun:"retrial_interval_units"`
	CreatedAt      time.Time       `bun:"created_at"`
	AcceptedAt     time.Time       `bun:"accepted_at"`
	RefusedAt      time.Time       `bun:"refused_at"`
	FailingSince   time.Time       `bun:"failing_since"`
	Status         int             `bun:"status"`
	Class          string          `bun:"error_class"`
	Error          string          `bun:"error"`
	DeliveryID     core.ID         `bun:"delivery_id,type:uuid"`
	Held           int             `bun:"held"`
	Waiting        int             `bun:"waiting"`
	GivenUp        int             `bun:"given_up"`
	ServerAnswered time.Time       `bun:"server_answered"`
	Accepted       int64           `bun:"accepted"`
	Refused        int64           `bun:"refused"`
	Took           int64           `bun:"took_us"`
	Slow           int64           `bun:"slow_us"`
	OldSecretUntil time.Time       `bun:"old_secret_until"`
	ProbedSince    time.Time       `bun:"probing_since"`
	PauseMS        int64           `bun:"pause_ms"`
}

// endpointRead reads webhooks with how they fare; ?0 is the beginning of the
// day that is counted, ?1 where counting stops, ?2 the first id of that day.
const endpointRead = `SELECT w.business_id, w.id, w.event_type, w.url, w.active, w.disabled_reason, w.retrial_interval_units, w.created_at, w.old_secret_until,
		u.probing_since, coalesce(u.pause_ms, 0) AS pause_ms,
		h.accepted_at, h.refused_at, h.failing_since, coalesce(h.status, 0) AS status, coalesce(h.error_class, '') AS error_class,
		coalesce(h.error, '') AS error, coalesce(h.delivery_id, '00000000-0000-0000-0000-000000000000') AS delivery_id, q.held, q.waiting, x.given_up, o.server_answered,
		coalesce(n.accepted, 0) AS accepted, coalesce(n.refused, 0) AS refused, coalesce(n.took_us, 0) AS took_us, coalesce(n.slow_us, 0) AS slow_us
	FROM (%s) w
	LEFT JOIN endpoint_health h ON h.business_id = w.business_id AND h.webhook_id = w.id
	LEFT JOIN unwell_endpoints u ON u.endpoint = w.id AND u.business_id = w.business_id AND u.probing_since IS NOT NULL
	LEFT JOIN LATERAL (SELECT sum(accepted)::bigint AS accepted, sum(refused)::bigint AS refused, sum(took_us)::bigint AS took_us, max(slow_us) AS slow_us
		FROM attempt_counts WHERE business_id = w.business_id AND grain = 3600 AND at >= ?0 AND webhook_id = w.id) n ON true
	LEFT JOIN LATERAL (SELECT count(*) FILTER (WHERE held) AS held, count(*) FILTER (WHERE NOT held) AS waiting
		FROM (SELECT ` + isHeld + ` AS held FROM delivery_queue d WHERE d.webhook_id = w.id LIMIT ?1) x) q ON true
	LEFT JOIN LATERAL (SELECT count(*) AS given_up FROM (SELECT FROM deliveries d WHERE d.business_id = w.business_id AND d.webhook_id = w.id
		AND d.state = 'failed' AND d.id >= ?2 LIMIT ?1) d) x ON true
	LEFT JOIN LATERAL (SELECT max(o.accepted_at) AS server_answered FROM webhooks s JOIN endpoint_health o ON o.business_id = s.business_id AND o.webhook_id = s.id
		WHERE h.failing_since IS NOT NULL AND s.business_id = w.business_id AND s.id <> w.id AND split_part(s.url, '/', 3) = split_part(w.url, '/', 3)) o ON true
	ORDER BY w.id`

func (c Console) endpoints(ctx context.Context, in bun.IDB, which string, args ...any) ([]console.Endpoint, error) {
	var rows []endpointRow
	day := c.clock.Now().Add(-24 * time.Hour)
	args = append([]any{day, console.Many, core.FirstID(day)}, args...)
	if err := in.NewRaw(fmt.Sprintf(endpointRead, which), args...).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading webhooks: %w", err)
	}
	list := make([]console.Endpoint, len(rows))
	for i, r := range rows {
		list[i] = console.Endpoint{
			Business: r.BusinessID, ID: r.ID, EventType: r.EventType, URL: r.URL, Active: r.Active, DisabledReason: r.DisabledReason,
			Units: r.Units, CreatedAt: r.CreatedAt, Held: r.Held, Waiting: r.Waiting, GivenUp: r.GivenUp, ServerAnswered: r.ServerAnswered, OldSecretUntil: r.OldSecretUntil,
			ProbedSince: r.ProbedSince, Pause: time.Duration(r.PauseMS) * time.Millisecond,
			Day: console.Count{Accepted: r.Accepted, Refused: r.Refused, Took: time.Duration(r.Took) * time.Microsecond, Slowest: time.Duration(r.Slow) * time.Microsecond},
			Health: console.Health{AcceptedAt: r.AcceptedAt, RefusedAt: r.RefusedAt, FailingSince: r.FailingSince,
				Status: r.Status, Class: r.Class, Error: r.Error, Delivery: r.DeliveryID},
		}
	}
	return list, nil
}

// Endpoints reads the webhooks of a business, those after the given id, at most limit.
func (c Console) Endpoints(ctx context.Context, business core.BusinessID, after int64, limit int) ([]console.Endpoint, error) {
	return c.endpoints(ctx, c.of(business), `SELECT * FROM webhooks WHERE business_id = ?3 AND id > ?4 ORDER BY id LIMIT ?5`, business, after, limit)
}

// Endpoint reads one webhook; NotFound where the business has none of that id.
func (c Console) Endpoint(ctx context.Context, business core.BusinessID, id int64) (console.Endpoint, error) {
	list, err := c.endpoints(ctx, c.of(business), `SELECT * FROM webhooks WHERE business_id = ?3 AND id = ?4`, business, id)
	if err == nil && len(list) == 0 {
		err = core.Errorf(core.NotFound, "there is no webhook %d", id)
	}
	if err != nil {
		return console.Endpoint{}, err
	}
	return list[0], nil
}

// Troubled reads the webhooks of businesses that fail, were switched off with
// deliveries waiting for them, or of which deliveries were given up in the last 24
// hours: at most limit, of every business as many as of others, those that fail before others.
func (c Console) Troubled(ctx context.Context, businesses []core.BusinessID, limit int) ([]console.Endpoint, error) {
	return c.endpoints(ctx, c.bun, `SELECT w.* FROM webhooks w LEFT JOIN endpoint_health f ON f.business_id = w.business_id AND f.webhook_id = w.id
		WHERE w.business_id = ANY (?3) AND (f.failing_since IS NOT NULL
			OR NOT w.active AND (w.disabled_reason <> '' OR EXISTS (SELECT 1 FROM delivery_queue d WHERE d.webhook_id = w.id))
			OR EXISTS (SELECT FROM deliveries d WHERE d.business_id = w.business_id AND d.webhook_id = w.id AND d.state = 'failed' AND d.id >= ?2))
		ORDER BY row_number() OVER (PARTITION BY w.business_id ORDER BY w.active AND f.failing_since IS NULL, w.id),
			w.active AND f.failing_since IS NULL, w.id LIMIT ?4`, array(businesses), limit)
}
