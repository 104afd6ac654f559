package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

// MenuSource reads what is published. It keeps the last few catalogues for as
// long as their versions stand: a change of one is published for all its stores.
type MenuSource struct {
	db   *DB
	mu   sync.Mutex
	kept []catalogue // the one that was asked for last stands last
}

// keptCatalogues is how many catalogues are kept, at most some tens of megabytes each.
const keptCatalogues = 4

// catalogue is a business's master catalogue.
type catalogue struct {
	business core.BusinessID
	version  int64
	menu     menu.Menu
}

// NewMenuSource makes a source.
func NewMenuSource(db *DB) *MenuSource { return &MenuSource{db: db} }

// MenuSubject is all that a store's menu on a platform is made of, at one moment.
type MenuSubject struct {
	Store    store.Stored
	Listed   bool
	Currency string
	Timezone string // IANA
	Platform core.Platform
	Access   relay.Access
	Menu     menu.Menu
	Waiting  []core.ID         // of the requests whose changes are in it, those that were not told its outcome yet
	LeftOut  []publish.Problem // what the rules of the platform refuse of what the store sells

	PlatformStoreID string // by which the platform knows the store now; empty: by its ref_id
	OnSale          string // by which it was on sale there last; empty where it was not, or where another store is on sale by that now
}

// Read reads a subject. NotFound where the business has no such store or platform.
func (m *MenuSource) Read(ctx context.Context, business core.BusinessID, storeID int64, platform string) (s MenuSubject, err error) {
	err = m.db.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
			return err
		}
		if err := m.readStore(ctx, tx, business, storeID, platform, &s); err != nil || !s.Listed || s.Platform.ServedBy == core.ServedByOwn {
			return err
		}
		if s.Menu, err = m.catalogue(ctx, tx, business); err != nil {
			return err
		}
		loader := menuLoader{ctx: ctx, tx: tx, business: business, store: storeID}
		if err := loader.storeValues(&s.Menu.Store, everything, everything); err != nil {
			return err
		}
		if len(s.Menu.Blocked[platform]) > 0 {
			s.LeftOut, err = leftOut(ctx, tx, business, storeID, platform)
		}
		return err
	})
	return s, err
}

func (m *MenuSource) readStore(ctx context.Context, tx bun.Conn, business core.BusinessID, storeID int64, platform string, s *MenuSubject) error {
	var row storeRow
	if err := tx.NewRaw(`SELECT `+storeReadColumns+` FROM stores WHERE business_id = ? AND id = ?`, business, storeID).Scan(ctx, &row); err != nil {
		return notFound(err, "there is no store %d", storeID)
	}
	var err error
	if s.Store, err = row.stored(); err != nil {
		return err
	}
	s.Platform.Name = platform
	if s.Platform.ServedBy, s.Access, err = (Platforms{m.db}).read(ctx, tx, business, platform, ""); err != nil {
		return err
	}
	for _, data := range s.Store.PlatformData {
		if data.Name == platform {
			s.PlatformStoreID = data.PlatformStoreID
		}
	}
	*s.Store.OrderingEnabled = s.Store.TakesOrdersOn(platform)
	s.Listed = store.Listing{Excluded: s.Store.ExcludedPlatforms, Included: s.Store.IncludedPlatforms}.On(platform)
	if err := readPublished(ctx, tx, business, s); err != nil {
		return err
	}
	return tx.QueryRowContext(ctx, `SELECT currency, timezone FROM businesses WHERE id = ?`, business).Scan(&s.Currency, &s.Timezone)
}

// readPublished reads whose changes the transaction sees of those that wait for
// what comes of their publication, and by what the store is on sale.
func readPublished(ctx context.Context, tx bun.Conn, business core.BusinessID, s *MenuSubject) error {
	now := cmp.Or(s.PlatformStoreID, *s.Store.RefID)
	err := tx.QueryRowContext(ctx, `SELECT waiting, CASE WHEN published_at IS NULL OR state = 'unlisted' AND ? THEN '' ELSE coalesce(outlet, ?) END
		FROM publications WHERE business_id = ? AND store_id = ? AND platform = ?`, s.Listed, now, business, s.Store.ID, s.Platform.Name).Scan(pgdialect.Array(&s.Waiting), &s.OnSale)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading a publication: %w", err)
	}
	if s.OnSale == "" || s.Listed && s.OnSale == now {
		return nil
	}
	var others bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+outlets+` o WHERE platform = ?2 AND listed AND store_id <> ?3)`,
		business, array([]string{s.OnSale}), s.Platform.Name, s.Store.ID).Scan(&others); err != nil {
		return fmt.Errorf("reading the outlets of stores: %w", err)
	}
	if others {
		s.OnSale = ""
	}
	return nil
}

// catalogue is the master catalogue as the transaction sees it, with category
// timings, of which is not noted what is open now: that is no content. One at a time is
// read: what comes meanwhile is as a rule of the same business.
func (m *MenuSource) catalogue(ctx context.Context, tx bun.Conn, business core.BusinessID) (menu.Menu, error) {
	var version int64
	if err := tx.QueryRowContext(ctx, `SELECT coalesce((SELECT version FROM menu_versions WHERE business_id = ? AND store_id = 0), 0)`, business).Scan(&version); err != nil {
		return menu.Menu{}, fmt.Errorf("reading the version of the menu: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var c catalogue
	if at := slices.IndexFunc(m.kept, func(c catalogue) bool { return c.business == business }); at >= 0 {
		c = m.kept[at]
		m.kept = slices.Delete(m.kept, at, at+1)
	}
	if c.business == 0 || c.version != version {
		loader := menuLoader{ctx: ctx, tx: tx, business: business}
		read, err := loader.menu()
		if err != nil {
			return read, err
		}
		if read.Timings, _, err = readTimings(ctx, tx, business, keptTimings.present()); err != nil {
			return read, err
		}
		c = catalogue{business, version, read}
	}
	if len(m.kept) == keptCatalogues {
		m.kept = slices.Delete(m.kept, 0, 1)
	}
	m.kept = append(m.kept, c)
	return c.menu, nil
}

func leftOut(ctx context.Context, tx bun.Conn, business core.BusinessID, storeID int64, platform string) ([]publish.Problem, error) {
	return listOf(ctx, tx, "reading findings", func(p *publish.Problem) []any {
		p.Entity = "item"
		return []any{&p.RefID, &p.Code, &p.Message}
	}, `SELECT m.name, f.rule, f.message FROM platform_findings f
		JOIN menu_at_store a ON a.business_id = f.business_id AND a.store_id = ? AND a.kind = 1 AND a.id = f.item_id
		JOIN menu_masters m ON m.business_id = f.business_id AND m.kind = 1 AND m.id = f.item_id
		WHERE f.business_id = ? AND f.platform = ? ORDER BY m.name, f.rule`, storeID, business, platform)
}
