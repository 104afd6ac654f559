package menus

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
)

// MenuSource reads menus for publication. It caches the last few catalogues while their versions
// are current, because a catalogue change is published for all stores.
type MenuSource struct {
	db      *postgres.DB
	loading keyedMutex // one catalogue of a business is read at a time: concurrent callers usually need the same
	mu      sync.Mutex
	cache   []catalogue // the most recently used is last
}

// The bounds of the cached catalogues: their number, and the bytes of their rows if there are several.
const (
	maxCatalogues     = 4
	maxCatalogueBytes = 4 * largeMenu
)

// catalogue is the master catalogue of a business. A server that lost transactions uses versions again, in another
// epoch.
type catalogue struct {
	business core.BusinessID
	version  int64
	epoch    string
	menu     menu.Menu
	bytes    int
}

// NewMenuSource returns a MenuSource that uses db.
func NewMenuSource(db *postgres.DB) *MenuSource {
	return &MenuSource{db: db, loading: keyedMutex{busy: &core.Error{Code: core.Unavailable,
		Message: "many others read the menu of the business: resend the request", RetryAfter: time.Second}}}
}

// Read returns a store's menu on a platform (aggregator.MenuSource). It returns NotFound if the business has no such
// store or platform.
func (m *MenuSource) Read(ctx context.Context, business core.BusinessID, storeID int64,
	platform string) (s aggregator.StoreMenu, err error) {
	s, err = m.read(ctx, business, storeID, platform, m.cached)
	if !errors.Is(err, errNotCached) {
		return s, err
	}
	// In another transaction, because one that waits for others would be ended.
	err = m.loading.Do(ctx, business, func() error {
		s, err = m.read(ctx, business, storeID, platform, m.cached)
		if !errors.Is(err, errNotCached) { // another caller has read the catalogue
			return err
		}
		if _, err := m.db.Bun().ExecContext(ctx, `SELECT begin_cache_epoch()`); err != nil {
			return fmt.Errorf("beginning an epoch of caches: %w", err)
		}
		return largeMenusOf(m.db).do(ctx, business, func(maxBytes int) error {
			load := func(ctx context.Context, tx bun.Conn, business core.BusinessID) (menu.Menu, error) {
				return m.load(ctx, tx, business, maxBytes)
			}
			s, err = m.read(ctx, business, storeID, platform, load)
			return err
		})
	})
	return s, err
}

// errNotCached reports that a catalogue must be read.
var errNotCached = errors.New("the catalogue is not cached")

// catalogueReader returns the master catalogue as a transaction sees it.
type catalogueReader func(ctx context.Context, tx bun.Conn, business core.BusinessID) (menu.Menu, error)

// read returns a store's menu with the catalogue of a reader.
func (m *MenuSource) read(ctx context.Context, business core.BusinessID, storeID int64, platform string,
	catalogue catalogueReader) (s aggregator.StoreMenu, err error) {
	err = m.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
			return err
		}
		s.Platform.Name = platform
		if err := m.readStore(ctx, tx, business, storeID, &s); err != nil || !s.Listed ||
			s.Platform.ServedBy == core.ServedByMerchant {
			return err
		}
		if s.Menu, err = catalogue(ctx, tx, business); err != nil {
			return err
		}
		loader := MenuLoader{Ctx: ctx, Tx: tx, Business: business, Store: storeID}
		if err := loader.storeValues(&s.Menu.Store, allRows, allRows); err != nil {
			return err
		}
		if len(s.Menu.Blocked[platform]) > 0 {
			s.LeftOut, err = itemFindings(ctx, tx, business, storeID, platform)
		}
		return err
	})
	return s, err
}

// readStore reads the store for the platform that s names.
func (m *MenuSource) readStore(ctx context.Context, tx bun.Conn, business core.BusinessID, storeID int64,
	s *aggregator.StoreMenu) error {
	platform := s.Platform.Name
	var row stores.StoreRow
	if err := tx.NewRaw(`SELECT ? FROM stores WHERE business_id = ? AND id = ?`, stores.StoreReadColumns, business,
		storeID).Scan(ctx, &row); err != nil {
		return postgres.NotFound(err, "there is no store %d", storeID)
	}
	var err error
	if s.Store, err = row.Stored(); err != nil {
		return err
	}
	if s.Platform.ServedBy, s.Access, err = platforms.New(m.db).Read(ctx, tx, business, platform, ""); err != nil {
		return err
	}
	for _, data := range s.Store.PlatformData {
		if data.Name == platform {
			s.PlatformStoreID = data.PlatformStoreID
		}
	}
	if s.Listed, err = m.listed(ctx, tx, business, s); err != nil {
		return err
	}
	*s.Store.OrderingEnabled = s.Store.TakesOrdersOn(platform)
	if err := readPublished(ctx, tx, business, s); err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, `SELECT currency, timezone FROM businesses WHERE id = ?`,
		business).Scan(&s.Currency, &s.Timezone); err != nil {
		return fmt.Errorf("reading the business: %w", err)
	}
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		return err
	}
	s.Store.SpecialTimings = s.Store.OpeningHours().DatesFrom(m.db.Clock().Now().In(zone).AddDate(0, 0, -1))
	return nil
}

// listed reports whether the platform lists the store. Its rules can keep the store off.
func (m *MenuSource) listed(ctx context.Context, tx bun.Conn, business core.BusinessID,
	s *aggregator.StoreMenu) (bool, error) {
	listing := store.Listing{Excluded: s.Store.ExcludedPlatforms, Included: s.Store.IncludedPlatforms}
	if !listing.ListedOn(s.Platform.Name) {
		return false, nil
	}
	found, err := publications.ReadFindings(ctx, tx,
		`item_id = 0 AND store_id = ? AND platform = ? AND NOT warning ORDER BY rule LIMIT 1`, business, s.Store.ID,
		s.Platform.Name)
	if err != nil || len(found) == 0 {
		return true, err
	}
	s.Blocked = found[0].Message
	return false, nil
}

// ReadStore returns a store on a platform, without its menu (aggregator.StoreSource).
func (m *MenuSource) ReadStore(ctx context.Context, business core.BusinessID, storeID int64,
	platform string) (s aggregator.StoreMenu, err error) {
	s.Platform.Name = platform
	err = m.db.InTx(ctx, func(tx bun.Conn) error { return m.readStore(ctx, tx, business, storeID, &s) })
	return s, err
}

// readPublished reads the requests that wait for this publication, and the published id of the
// store. The platform may have the store as soon as it has accepted a menu.
func readPublished(ctx context.Context, tx bun.Conn, business core.BusinessID, s *aggregator.StoreMenu) error {
	now := cmp.Or(s.PlatformStoreID, *s.Store.RefID)
	err := tx.QueryRowContext(ctx, queries.With("published_store", postgres.Args{
		"listed": s.Listed, "now": now, "business": business, "store": s.Store.ID, "platform": s.Platform.Name,
	})).Scan(pgdialect.Array(&s.Waiting), &s.PublishedStoreID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading a publication: %w", err)
	}
	if s.PublishedStoreID == "" || s.Listed && s.PublishedStoreID == now {
		return nil
	}
	var others bool
	if err := tx.QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM (?) platform_store WHERE platform = ? AND listed AND store_id <> ?)`,
		platforms.PlatformStores(business, []string{s.PublishedStoreID}), s.Platform.Name,
		s.Store.ID).Scan(&others); err != nil {
		return fmt.Errorf("reading platform stores: %w", err)
	}
	if others {
		s.PublishedStoreID = ""
	}
	return nil
}

// cached returns the cached catalogue of a business if it is current, or errNotCached.
func (m *MenuSource) cached(ctx context.Context, tx bun.Conn, business core.BusinessID) (menu.Menu, error) {
	version, epoch, err := catalogueVersion(ctx, tx, business)
	if err != nil {
		return menu.Menu{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.cache, func(c catalogue) bool { return c.business == business })
	if at < 0 || m.cache[at].version != version || m.cache[at].epoch != epoch || epoch == "" {
		return menu.Menu{}, errNotCached
	}
	c := m.cache[at]
	m.cache = append(slices.Delete(m.cache, at, at+1), c)
	return c.menu, nil
}

// load returns the catalogue of a business with category timings, and caches it. It does not set whether a category is
// open now. It returns errLarge if the catalogue has more than maxBytes.
func (m *MenuSource) load(ctx context.Context, tx bun.Conn, business core.BusinessID,
	maxBytes int) (menu.Menu, error) {
	version, epoch, err := catalogueVersion(ctx, tx, business)
	if err != nil {
		return menu.Menu{}, err
	}
	loader := MenuLoader{Ctx: ctx, Tx: tx, Business: business}
	read, err := loader.menu(largeMenusOf(m.db), maxBytes)
	if err != nil {
		return read, err
	}
	if read.Timings, _, err = ReadTimings(ctx, tx, business, revisions.TimingsTable.Current()); err != nil {
		return read, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cache = slices.DeleteFunc(m.cache, func(c catalogue) bool { return c.business == business })
	m.cache = append(m.cache, catalogue{business, version, epoch, read, loader.bound.bytes})
	bytes := 0
	for i, c := range slices.Backward(m.cache) {
		if bytes += c.bytes; i < len(m.cache)-1 && bytes > maxCatalogueBytes || i < len(m.cache)-maxCatalogues {
			m.cache = slices.Delete(m.cache, 0, i+1)
			break
		}
	}
	return read, nil
}

// catalogueVersion returns the version of a master catalogue and the epoch of caches, which is empty if none has begun.
func catalogueVersion(ctx context.Context, tx bun.Conn, business core.BusinessID) (version int64, epoch string,
	err error) {
	if err := tx.QueryRowContext(ctx,
		`SELECT coalesce((SELECT version FROM menu_versions WHERE business_id = ? AND store_id = 0), 0),
			coalesce(cache_epoch(), '')`, business).Scan(&version, &epoch); err != nil {
		return 0, "", fmt.Errorf("reading the version of the menu: %w", err)
	}
	return version, epoch, nil
}

func itemFindings(ctx context.Context, tx bun.Conn, business core.BusinessID, storeID int64,
	platform string) ([]publish.Problem, error) {
	return postgres.Collect(ctx, tx, "reading findings", func(p *publish.Problem) []any {
		return []any{&p.Entity, &p.RefID, &p.Code, &p.Message}
	}, bun.SafeQuery(queries.With("left_out", postgres.Args{"business": business, "store": storeID,
		"platform": platform})))
}
