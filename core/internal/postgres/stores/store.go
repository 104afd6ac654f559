// Package stores stores the stores of a business.
package stores

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/store"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores the stores of businesses (store.Storage).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// storeColumn is a column that a request can set.
type storeColumn struct {
	name, kind, defaultValue string // defaultValue: of a new store
}

var storeColumns = []storeColumn{
	{"city", "text", ""}, {"name", "text", ""}, {"min_pickup_time", "bigint", ""}, {"min_delivery_time", "bigint", ""},
	{"contact_phone", "text", ""}, {"notification_phones", "text[]", ""}, {"notification_emails", "text[]", ""},
	{"min_order_value", "numeric", ""}, {"hide_from_ui", "boolean", "false"}, {"address", "text", ""},
	{"zip_codes", "text[]", ""},
	{"geo_longitude", "double precision", ""}, {"geo_latitude", "double precision", ""}, {"active", "boolean", "true"},
	{"ordering_enabled", "boolean", "true"}, {"translations", "jsonb", ""}, {"excluded_platforms", "text[]", ""},
	{"included_platforms", "text[]", ""}, {"platform_data", "jsonb", ""}, {"timings", "jsonb", ""},
	{"special_timings", "jsonb", ""},
}

// Statements generated from the columns: a session's staging table, one insert and one
// update for all its rows.
var storeStage, storeInsert, storeUpdate, storeStageColumns = storeStatements()

func storeStatements() (stage, insert, update, columns string) {
	var definitions, names, values, sets, oldValues, fresh []string
	for _, c := range storeColumns {
		definitions = append(definitions, c.name+" "+c.kind)
		names = append(names, c.name)
		value, set := "t."+c.name, "coalesce(t."+c.name+", s."+c.name+")"
		if c.defaultValue != "" {
			value = "coalesce(t." + c.name + ", " + c.defaultValue + ")"
		}
		switch c.name { // only one list applies: the latest
		case "excluded_platforms":
			set = "CASE WHEN t.included_platforms IS NULL THEN " + set + " END"
		case "included_platforms":
			set = "CASE WHEN t.excluded_platforms IS NULL THEN " + set + " END"
		}
		values, sets = append(values, value), append(sets, c.name+" = "+set)
		oldValues, fresh = append(oldValues, "s."+c.name), append(fresh, set)
	}
	columns = "is_new, id, ref_id, " + strings.Join(names, ", ")
	stage = "is_new boolean, id bigint, ref_id text, " + strings.Join(definitions, ", ")
	insert = "INSERT INTO stores (business_id, id, ref_id, created_at, updated_at, " + strings.Join(names, ", ") +
		") SELECT ?0, t.id, t.ref_id, ?1, ?1, " +
		strings.Join(values, ", ") + " FROM stage_stores t WHERE t.is_new"
	// Unchanged rows are not updated, so that a repeated request costs no write.
	update = "UPDATE stores s SET updated_at = ?1, " + strings.Join(sets, ", ") +
		" FROM stage_stores t WHERE s.business_id = ?0 AND s.id = t.id AND NOT t.is_new AND (" +
		strings.Join(oldValues, ", ") + ") IS DISTINCT FROM (" + strings.Join(fresh, ", ") + ")"
	return stage, insert, update, columns
}

// Ingest ends a store job in one transaction.
func (s Store) Ingest(ctx context.Context, work core.Job, request store.Request,
	decide func(store.State, func() int64) (store.IngestResult, error),
) error {
	return jobs.Run(ctx, s.db, work, func(tx bun.Conn, box *outbox.Outbox) error {
		if err := platforms.LockPlatformStores(ctx, tx, work.Business); err != nil {
			return err
		}
		known, err := s.readKnown(ctx, tx, work.Business, request)
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
		revision, err := revisions.Begin(ctx, s.db, tx)
		if err != nil {
			return err
		}
		if err := s.write(ctx, tx, work, ingested.Changes); err != nil {
			return err
		}
		if err := revision.End(ctx, s.db, tx, work); err != nil {
			return err
		}
		if err := box.Publish(ctx, tx, ingested.Event); err != nil {
			return err
		}
		return jobs.Finish(ctx, s.db, tx, work, jobs.Ended{
			Failure: ingested.Failure, Result: ingested.Result, Event: ingested.Event.ID, Objects: len(request.Stores),
		})
	})
}

func (s Store) readKnown(ctx context.Context, tx bun.Conn, business core.BusinessID,
	request store.Request) (known store.State, err error) {
	if known.Stores, err = readPresent(ctx, tx, business, request.RefIDs()); err != nil {
		return known, err
	}
	if known.Names, err = platforms.NamesOf(ctx, tx, business); err != nil {
		return known, err
	}
	if known.Default, err = defaultListing(ctx, tx, business, ""); err != nil {
		return known, err
	}
	ids := request.PlatformStoreIDs(known)
	if known.PlatformStores, err = platforms.FindPlatformStores(ctx, tx, business, ids, known.Stores); err != nil {
		return known, err
	}
	if claims := request.Claims(known); len(claims) > 0 {
		if err := platforms.LockShared(ctx, tx, business, ""); err != nil {
			return known, err
		}
		if known.TakenElsewhere, err = platforms.TakenElsewhere(ctx, tx, business, claims); err != nil {
			return known, err
		}
	}
	known.Platforms, err = platforms.PlatformsOf(ctx, tx, business)
	return known, err
}

func readPresent(ctx context.Context, tx bun.Conn, business core.BusinessID,
	refIDs []string) (map[string]store.Existing, error) {
	rows, err := existing(ctx, tx, bun.SafeQuery(`SELECT ref_id, id, active, excluded_platforms, included_platforms,
		coalesce(platform_data, '[]') FROM stores WHERE business_id = ? AND ref_id = ANY (?)`,
		business, postgres.Array(refIDs)))
	stores := make(map[string]store.Existing, len(rows))
	for _, r := range rows {
		stores[r.ref] = r.Existing
	}
	return stores, err
}

// existingRow is a store with its ref_id.
type existingRow struct {
	store.Existing
	ref  string
	data []byte // JSON
}

// existing returns the stores that a query selects.
func existing(ctx context.Context, tx bun.Conn, query schema.QueryWithArgs) ([]existingRow, error) {
	rows, err := postgres.Collect(ctx, tx, "reading stores", func(r *existingRow) []any {
		return []any{&r.ref, &r.ID, &r.Active, pgdialect.Array(&r.Excluded), pgdialect.Array(&r.Included), &r.data}
	}, query)
	for i := range rows {
		if err := json.Unmarshal(rows[i].data, &rows[i].PlatformData); err != nil {
			return nil, fmt.Errorf("reading store %q: %w", rows[i].ref, err)
		}
	}
	return rows, err
}

// reserveIDs reserves n store ids and returns a function that hands them out.
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

// write applies the changes with one COPY, one insert and one update. Stores that differ
// afterwards are marked for publication.
func (s Store) write(ctx context.Context, tx bun.Conn, work core.Job, changes []store.Change) error {
	if len(changes) == 0 {
		return nil
	}
	var rows postgres.CopyWriter
	fresh, ids := false, make([]int64, len(changes))
	for i := range changes {
		writeStore(&rows, &changes[i])
		ids[i] = changes[i].ID
		fresh = fresh || changes[i].New
	}
	if err := rows.Stage(ctx, tx, "stage_stores", storeStage, storeStageColumns); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "ANALYZE stage_stores (is_new, id)"); err != nil {
		return fmt.Errorf("staging stores: %w", err)
	}
	now := s.db.Clock().Now()
	if _, err := tx.ExecContext(ctx, storeUpdate, work.Business, now); err != nil {
		return fmt.Errorf("updating stores: %w", err)
	}
	if fresh {
		if _, err := tx.ExecContext(ctx, storeInsert, work.Business, now); err != nil {
			return fmt.Errorf("creating stores: %w", err)
		}
	}
	if err := publications.PublishStores(ctx, s.db, tx, work,
		publications.WrittenStores{IDs: ids, At: now}); err != nil {
		return err
	}
	return publications.RecheckStores(ctx, s.db, tx, work.Business, ids)
}

func writeStore(c *postgres.CopyWriter, change *store.Change) {
	o := &change.Object
	float := func(f float64) { c.Raw(fmt.Sprint(f)) }
	c.Bool(change.New)
	c.Int(change.ID)
	c.Text(*o.RefID)
	postgres.Optional(c, o.City, c.Text)
	postgres.Optional(c, o.Name, c.Text)
	postgres.Optional(c, o.MinPickupTime, c.Int)
	postgres.Optional(c, o.MinDeliveryTime, c.Int)
	postgres.Optional(c, o.ContactPhone, c.Text)
	c.Texts(o.NotificationPhones)
	c.Texts(o.NotificationEmails)
	postgres.Optional(c, o.MinOrderValue, func(a core.Amount) { c.Raw(a.String()) })
	postgres.Optional(c, o.HideFromUI, c.Bool)
	postgres.Optional(c, o.Address, c.Text)
	c.Texts(o.ZipCodes)
	postgres.Optional(c, o.Longitude, float)
	postgres.Optional(c, o.Latitude, float)
	postgres.Optional(c, o.Active, c.Bool)
	postgres.Optional(c, o.OrderingEnabled, c.Bool)
	c.JSON(o.Translations == nil, o.Translations)
	c.Texts(o.ExcludedPlatforms)
	c.Texts(o.IncludedPlatforms)
	c.JSON(o.PlatformData == nil, o.PlatformData)
	c.JSON(o.Timings == nil, o.Timings)
	c.JSON(o.SpecialTimings == nil, o.SpecialTimings)
	c.End()
}

// StoreRow is a row of StoreReadColumns.
type StoreRow struct {
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
	SpecialTimings     json.RawMessage `bun:"special_timings"`
	ClosedOn           json.RawMessage `bun:"closed_on"`
	BusyOn             json.RawMessage `bun:"busy_on"`
	PlatformStatus     json.RawMessage `bun:"platform_status"`
}

// ClosedOn is the column of the platforms on which a store is closed (store.PlatformClosure). PlatformStatus is that of
// the reports of platforms (store.PlatformStatus). StoreReadColumns are all columns that are read.
var (
	ClosedOn         = bun.Safe(queries.With("closed_on", nil))
	PlatformStatus   = bun.Safe(queries.With("platform_status", nil))
	StoreReadColumns = bun.Safe(queries.With("columns", postgres.Args{"closed_on": ClosedOn,
		"busy_on": bun.Safe(queries.With("busy_on", nil)), "platform_status": PlatformStatus}))
)

// Stored converts a row to a store.
func (r StoreRow) Stored() (store.Stored, error) {
	s := store.Stored{ID: r.ID, Object: store.Object{
		RefID: &r.RefID, City: &r.City, Name: &r.Name, MinPickupTime: r.MinPickupTime,
		MinDeliveryTime: r.MinDeliveryTime,
		ContactPhone:    r.ContactPhone, NotificationPhones: r.NotificationPhones,
		NotificationEmails: r.NotificationEmails,
		HideFromUI:         &r.HideFromUI, Address: r.Address, ZipCodes: r.ZipCodes, Longitude: r.Longitude,
		Latitude: r.Latitude,
		Active:   &r.Active, OrderingEnabled: &r.OrderingEnabled, ExcludedPlatforms: r.ExcludedPlatforms,
		IncludedPlatforms: r.IncludedPlatforms,
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
	}{{r.Translations, &s.Translations}, {r.PlatformData, &s.PlatformData}, {r.Timings, &s.Timings},
		{r.SpecialTimings, &s.SpecialTimings}, {r.ClosedOn, &s.ClosedOn}, {r.BusyOn, &s.BusyOn},
		{r.PlatformStatus, &s.PlatformStatus}} {
		if column.raw == nil {
			continue
		}
		if err := json.Unmarshal(column.raw, column.into); err != nil {
			return s, fmt.Errorf("reading store %d: %w", r.ID, err)
		}
	}
	return s, nil
}

// Get returns one store.
func (s Store) Get(ctx context.Context, business core.BusinessID, refID string) (store.Stored, error) {
	var row StoreRow
	err := s.db.Tenant(business).NewRaw(`SELECT ? FROM stores WHERE business_id = ? AND ref_id = ?`,
		StoreReadColumns, business, refID).Scan(ctx, &row)
	if err != nil {
		return store.Stored{}, postgres.NotFound(err, "there is no store with this ref_id")
	}
	return row.Stored()
}

// pageRow is a row of a page.
type pageRow struct {
	StoreRow
	Size int64 `bun:"size"` // of the page, in bytes
	More bool  `bun:"more"` // stores follow the page
}

// Page returns at most limit stores whose ref_id sorts after the given one. A page of large stores has fewer of them,
// but at least one if there is one.
func (s Store) Page(ctx context.Context, business core.BusinessID, after string, limit int) (store.Page, error) {
	var rows []pageRow
	if err := s.db.Tenant(business).NewRaw(queries.With("page", postgres.Args{
		"columns": StoreReadColumns, "business": business, "after": after, "limit": limit,
		"bytes": store.MaxPageBytes,
	})).Scan(ctx, &rows); err != nil {
		return store.Page{}, fmt.Errorf("reading stores: %w", err)
	}
	page := store.Page{Stores: make([]store.Stored, len(rows))}
	for i := range page.Stores {
		var err error
		if page.Stores[i], err = rows[i].Stored(); err != nil {
			return store.Page{}, err
		}
		page.Bytes, page.More = rows[i].Size, rows[i].More
	}
	return page, nil
}

// StoreContext returns the timezone, platforms and zip code use of a business, for its effective
// stores.
func (s Store) StoreContext(ctx context.Context, business core.BusinessID) (p store.StoreContext, err error) {
	err = s.db.Tenant(business).QueryRowContext(ctx,
		`SELECT timezone, EXISTS (SELECT 1 FROM stores WHERE business_id = b.id AND cardinality(zip_codes) > 0)
		FROM businesses b WHERE id = ?`, business).Scan(&p.Timezone, &p.ZipCodes)
	if err != nil {
		return p, fmt.Errorf("reading the business: %w", err)
	}
	if p.Platforms, err = platforms.PlatformsOf(ctx, s.db.Tenant(business), business); err != nil {
		return p, err
	}
	p.Names, err = platforms.NamesOf(ctx, s.db.Tenant(business), business)
	return p, err
}
