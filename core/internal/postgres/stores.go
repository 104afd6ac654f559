package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/store"
)

// Stores keeps stores (store.Records).
type Stores struct{ *DB }

// storeColumn is a column that a request can set.
type storeColumn struct {
	name, kind, orElse string // orElse: the value of a new store that was sent without
}

var storeColumns = []storeColumn{
	{"city", "text", ""}, {"name", "text", ""}, {"min_pickup_time", "bigint", ""}, {"min_delivery_time", "bigint", ""},
	{"contact_phone", "text", ""}, {"notification_phones", "text[]", ""}, {"notification_emails", "text[]", ""},
	{"min_order_value", "numeric", ""}, {"hide_from_ui", "boolean", "false"}, {"address", "text", ""}, {"zip_codes", "text[]", ""},
	{"geo_longitude", "double precision", ""}, {"geo_latitude", "double precision", ""}, {"active", "boolean", "true"},
	{"ordering_enabled", "boolean", "true"}, {"translations", "jsonb", ""}, {"excluded_platforms", "text[]", ""},
	{"included_platforms", "text[]", ""}, {"platform_data", "jsonb", ""}, {"timings", "jsonb", ""},
}

// Statements made of the columns: a staging table of the session, and one
// insert and one update that take all its rows.
var storeStage, storeInsert, storeUpdate, storeStageColumns = storeStatements()

func storeStatements() (stage, insert, update, columns string) {
	var definitions, names, values, sets, old, fresh []string
	for _, c := range storeColumns {
		definitions = append(definitions, c.name+" "+c.kind)
		names = append(names, c.name)
		value, set := "t."+c.name, "coalesce(t."+c.name+", s."+c.name+")"
		if c.orElse != "" {
			value = "coalesce(t." + c.name + ", " + c.orElse + ")"
		}
		switch c.name { // one list in force: the one that came last
		case "excluded_platforms":
			set = "CASE WHEN t.included_platforms IS NULL THEN " + set + " END"
		case "included_platforms":
			set = "CASE WHEN t.excluded_platforms IS NULL THEN " + set + " END"
		}
		values, sets = append(values, value), append(sets, c.name+" = "+set)
		old, fresh = append(old, "s."+c.name), append(fresh, set)
	}
	columns = "is_new, id, ref_id, " + strings.Join(names, ", ")
	stage = "is_new boolean, id bigint, ref_id text, " + strings.Join(definitions, ", ")
	insert = "INSERT INTO stores (business_id, id, ref_id, created_at, updated_at, " + strings.Join(names, ", ") + ") SELECT ?0, t.id, t.ref_id, ?1, ?1, " +
		strings.Join(values, ", ") + " FROM stage_stores t WHERE t.is_new"
	// What is the same stays untouched: a request sent again costs no write.
	update = "UPDATE stores s SET updated_at = ?1, " + strings.Join(sets, ", ") +
		" FROM stage_stores t WHERE s.business_id = ?0 AND s.id = t.id AND NOT t.is_new AND (" +
		strings.Join(old, ", ") + ") IS DISTINCT FROM (" + strings.Join(fresh, ", ") + ")"
	return stage, insert, update, columns
}

// Ingest ends a job of stores in one transaction.
func (s Stores) Ingest(ctx context.Context, work core.Job, request store.Request,
	decide func(store.Known, func() int64) (store.Ingested, error),
) error {
	return s.tell(ctx, func(tx bun.Conn, box *outbox) error {
		if err := s.hold(ctx, tx, work); err != nil {
			return err
		}
		if err := lockOutlets(ctx, tx, work.Business); err != nil {
			return err
		}
		known, err := s.known(ctx, tx, work.Business, request)
		if err != nil {
			return err
		}
		newID, err := reserveIDs(ctx, tx, len(request.Stores)-len(known.Stores))
		if err != nil {
			return err
		}
		ingested, err := decide(known, newID)
		if err != nil {
			return err
		}
		revision, err := s.beginRevision(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.write(ctx, tx, work, ingested.Changes); err != nil {
			return err
		}
		if err := s.endRevision(ctx, tx, work, revision, nil); err != nil {
			return err
		}
		if err := box.publish(ctx, tx, ingested.Event); err != nil {
			return err
		}
		return s.end(ctx, tx, work, jobEnd{ingested.Failure, ingested.Result, ingested.Event.ID, len(request.Stores)})
	})
}

func (s Stores) known(ctx context.Context, tx bun.Conn, business core.BusinessID, request store.Request) (known store.Known, err error) {
	if known.Stores, err = readPresent(ctx, tx, business, request.RefIDs()); err != nil {
		return known, err
	}
	if known.Outlets, err = outletsBy(ctx, tx, business, request.OutletIDs(), known.Stores); err != nil {
		return known, err
	}
	known.Platforms, err = platformsOf(ctx, tx, business)
	return known, err
}

// platformsOf reads the platforms of a business by their names.
func platformsOf(ctx context.Context, in bun.IDB, business core.BusinessID) (list []core.Platform, err error) {
	if err := in.NewRaw(`SELECT name, served_by FROM platforms WHERE business_id = ? ORDER BY name`, business).Scan(ctx, &list); err != nil {
		return nil, fmt.Errorf("reading platforms: %w", err)
	}
	return list, nil
}

func readPresent(ctx context.Context, tx bun.Conn, business core.BusinessID, refIDs []string) (map[string]store.Present, error) {
	rows, err := tx.QueryContext(ctx, `SELECT ref_id, id, excluded_platforms, included_platforms, coalesce(platform_data, '[]') FROM stores WHERE business_id = ? AND ref_id = ANY (?)`,
		business, array(refIDs))
	if err != nil {
		return nil, fmt.Errorf("reading stores: %w", err)
	}
	defer rows.Close()
	stores := map[string]store.Present{}
	for rows.Next() {
		var ref string
		var data []byte
		var one store.Present
		if err := rows.Scan(&ref, &one.ID, pgdialect.Array(&one.Excluded), pgdialect.Array(&one.Included), &data); err != nil {
			return nil, fmt.Errorf("reading stores: %w", err)
		}
		if err := json.Unmarshal(data, &one.PlatformData); err != nil {
			return nil, fmt.Errorf("reading store %q: %w", ref, err)
		}
		stores[ref] = one
	}
	return stores, rows.Err()
}

// reserveIDs takes n ids for stores and hands them out one by one.
func reserveIDs(ctx context.Context, tx bun.Conn, n int) (func() int64, error) {
	var ids []int64
	if n > 0 {
		if err := tx.NewRaw(`SELECT nextval('store_ids') FROM generate_series(1, ?)`, n).Scan(ctx, &ids); err != nil {
			return nil, fmt.Errorf("reserving ids: %w", err)
		}
	}
	return func() int64 {
		id := ids[0]
		ids = ids[1:]
		return id
	}, nil
}

// write brings the changes in: one COPY, one insert, one update, however many. What
// differs afterwards is to be published.
func (s Stores) write(ctx context.Context, tx bun.Conn, work core.Job, changes []store.Change) error {
	if len(changes) == 0 {
		return nil
	}
	var rows copyRows
	fresh, ids := false, make([]int64, len(changes))
	for i := range changes {
		writeStore(&rows, &changes[i])
		ids[i] = changes[i].ID
		fresh = fresh || changes[i].New
	}
	if err := rows.stage(ctx, tx, "stage_stores", storeStage, storeStageColumns); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "ANALYZE stage_stores (is_new, id)"); err != nil {
		return fmt.Errorf("staging stores: %w", err)
	}
	now := s.clock.Now()
	if _, err := tx.ExecContext(ctx, storeUpdate, work.Business, now); err != nil {
		return fmt.Errorf("updating stores: %w", err)
	}
	if fresh {
		if _, err := tx.ExecContext(ctx, storeInsert, work.Business, now); err != nil {
			return fmt.Errorf("creating stores: %w", err)
		}
	}
	return s.publishStores(ctx, tx, work, ids, now)
}

func writeStore(c *copyRows, change *store.Change) {
	o := &change.Object
	float := func(f float64) { c.raw(fmt.Sprint(f)) }
	c.bool(change.New)
	c.int(change.ID)
	c.text(*o.RefID)
	optional(c, o.City, c.text)
	optional(c, o.Name, c.text)
	optional(c, o.MinPickupTime, c.int)
	optional(c, o.MinDeliveryTime, c.int)
	optional(c, o.ContactPhone, c.text)
	c.texts(o.NotificationPhones)
	c.texts(o.NotificationEmails)
	optional(c, o.MinOrderValue, func(a core.Amount) { c.raw(a.String()) })
	optional(c, o.HideFromUI, c.bool)
	optional(c, o.Address, c.text)
	c.texts(o.ZipCodes)
	optional(c, o.Longitude, float)
	optional(c, o.Latitude, float)
	optional(c, o.Active, c.bool)
	optional(c, o.OrderingEnabled, c.bool)
	c.json(o.Translations == nil, o.Translations)
	c.texts(o.ExcludedPlatforms)
	c.texts(o.IncludedPlatforms)
	c.json(o.PlatformData == nil, o.PlatformData)
	c.json(o.Timings == nil, o.Timings)
	c.end()
}

type storeRow struct {
	ID                 int64           `bun:"id"`
	RefID              string          `bun:"ref_id"`
	City               string          `bun:"city"`
	Name               string          `bun:"name"`
	MinPickupTime      *int64          `bun:"min_pickup_time"`
	MinDeliveryTime    *int64          `bun:"min_delivery_time"`
	ContactPhone       *string         `bun:"contact_phone"`
	NotificationPhones []string        `bun:"notification_phones,array"`
	NotificationEmails []string        `bun:"notification_emails,array"`
	MinOrderValue      *string         `bun:"min_order_value"`
	HideFromUI         bool            `bun:"hide_from_ui"`
	Address            *string         `bun:"address"`
	ZipCodes           []string        `bun:"zip_codes,array"`
	Longitude          *float64        `bun:"geo_longitude"`
	Latitude           *float64        `bun:"geo_latitude"`
	Active             bool            `bun:"active"`
	OrderingEnabled    bool            `bun:"ordering_enabled"`
	Translations       json.RawMessage `bun:"translations"`
	ExcludedPlatforms  []string        `bun:"excluded_platforms,array"`
	IncludedPlatforms  []string        `bun:"included_platforms,array"`
	PlatformData       json.RawMessage `bun:"platform_data"`
	Timings            json.RawMessage `bun:"timings"`
	ClosedOn           json.RawMessage `bun:"closed_on"`
}

const storeReadColumns = `id, ref_id, city, name, min_pickup_time, min_delivery_time, contact_phone, notification_phones, notification_emails,
	min_order_value::text AS min_order_value, hide_from_ui, address, zip_codes, geo_longitude, geo_latitude, active, ordering_enabled,
	translations, excluded_platforms, included_platforms, platform_data, timings, ` + closedOn + ` AS closed_on`

// closedOn tells where stores are closed (store.Closing).
const closedOn = `(SELECT json_agg(json_build_object('platform', w.platform, 'action_src', w.source, 'actor', w.actor, 'reason', w.reason,
			'since', floor(extract(epoch FROM w.at) * 1000), 'turn_on_at', coalesce(floor(extract(epoch FROM w.turn_on_at) * 1000), 0)) ORDER BY w.platform)
		FROM store_switches w WHERE w.business_id = stores.business_id AND w.store_id = stores.id AND NOT w.open)`

func (r storeRow) stored() (store.Stored, error) {
	s := store.Stored{ID: r.ID, Object: store.Object{
		RefID: &r.RefID, City: &r.City, Name: &r.Name, MinPickupTime: r.MinPickupTime, MinDeliveryTime: r.MinDeliveryTime,
		ContactPhone: r.ContactPhone, NotificationPhones: r.NotificationPhones, NotificationEmails: r.NotificationEmails,
		HideFromUI: &r.HideFromUI, Address: r.Address, ZipCodes: r.ZipCodes, Longitude: r.Longitude, Latitude: r.Latitude,
		Active: &r.Active, OrderingEnabled: &r.OrderingEnabled, ExcludedPlatforms: r.ExcludedPlatforms, IncludedPlatforms: r.IncludedPlatforms,
	}}
	if r.MinOrderValue != nil {
		amount, err := core.ParseAmount(*r.MinOrderValue)
		if err != nil {
			return s, fmt.Errorf("min_order_value of store %d: %w", r.ID, err)
		}
		s.MinOrderValue = &amount
	}
	for _, column := range []struct {
		raw  json.RawMessage
		into any
	}{{r.Translations, &s.Translations}, {r.PlatformData, &s.PlatformData}, {r.Timings, &s.Timings}, {r.ClosedOn, &s.ClosedOn}} {
		if column.raw == nil {
			continue
		}
		if err := json.Unmarshal(column.raw, column.into); err != nil {
			return s, fmt.Errorf("reading store %d: %w", r.ID, err)
		}
	}
	return s, nil
}

// Get reads one store.
func (s Stores) Get(ctx context.Context, business core.BusinessID, refID string) (store.Stored, error) {
	var row storeRow
	err := s.of(business).NewRaw(`SELECT `+storeReadColumns+` FROM stores WHERE business_id = ? AND ref_id = ?`, business, refID).Scan(ctx, &row)
	if err != nil {
		return store.Stored{}, notFound(err, "there is no store with this ref_id")
	}
	return row.stored()
}

// Page reads the stores whose ref_id sorts after the given one, at most limit.
func (s Stores) Page(ctx context.Context, business core.BusinessID, after string, limit int) ([]store.Stored, error) {
	var rows []storeRow
	if err := s.of(business).NewRaw(`SELECT `+storeReadColumns+` FROM stores WHERE business_id = ? AND ref_id > ? ORDER BY ref_id LIMIT ?`,
		business, after, limit).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading stores: %w", err)
	}
	list := make([]store.Stored, len(rows))
	for i, row := range rows {
		var err error
		if list[i], err = row.stored(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Premises reads what the effective stores of a business depend on beside the stores.
func (s Stores) Premises(ctx context.Context, business core.BusinessID) (p store.Premises, err error) {
	err = s.of(business).QueryRowContext(ctx, `SELECT timezone, EXISTS (SELECT 1 FROM stores WHERE business_id = b.id AND cardinality(zip_codes) > 0)
		FROM businesses b WHERE id = ?`, business).Scan(&p.Timezone, &p.ZipCodes)
	if err != nil {
		return p, fmt.Errorf("reading the business: %w", err)
	}
	p.Platforms, err = platformsOf(ctx, s.of(business), business)
	return p, err
}
