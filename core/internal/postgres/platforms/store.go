// Package platforms stores the platforms of a business: settings, secrets, callers and their stores.
package platforms

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/relay"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores the settings, base URLs and secrets of platforms (relay.Platforms).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// Platform is a platform with its settings. Secrets are listed by name only.
type Platform struct {
	core.Platform
	Settings  json.RawMessage   `json:"settings,omitzero"`
	Addresses map[string]string `json:"addresses"`
	Secrets   []string          `json:"secrets"` // names
	Accept    relay.Accept      `json:"accept"`
}

// SecretsAssociatedData returns the associated data of a platform's sealed secrets.
func SecretsAssociatedData(business core.BusinessID, platform string) string {
	return "platforms/" + strconv.FormatInt(int64(business), 10) + "/" + platform
}

type platformRow struct {
	Name      string
	ServedBy  string
	Settings  string
	Addresses string
	Secrets   []byte
	Accept    relay.Accept
	Currency  string // of the business
	HasValues bool
}

// Read returns a platform with its settings and secrets; lock is a locking clause.
func (p Store) Read(ctx context.Context, db bun.IDB, business core.BusinessID, name string,
	lock string) (served string, access relay.Access, err error) {
	var row platformRow
	err = db.NewRaw(`SELECT name, served_by, settings, addresses, secrets, accept,
		(SELECT currency FROM businesses WHERE id = business_id),
		EXISTS (SELECT FROM platform_values v WHERE (v.business_id, v.platform) = (p.business_id, p.name)) AS has_values
		FROM platforms p WHERE business_id = ? AND name = ?`+lock, business, name).Scan(ctx, &row)
	if err != nil {
		return "", access, postgres.NotFound(err, "business %d has no platform %q", business, name)
	}
	access, err = p.decrypt(business, row)
	return row.ServedBy, access, err
}

func (p Store) decrypt(business core.BusinessID, row platformRow) (access relay.Access, err error) {
	access = relay.Access{Settings: []byte(row.Settings), Secrets: map[string]string{}, Accept: row.Accept,
		Currency: row.Currency, HasValues: row.HasValues}
	if err = json.Unmarshal([]byte(row.Addresses), &access.BaseURLs); err != nil || row.Secrets == nil {
		return access, err
	}
	plain, err := p.db.Sealer().Open(SecretsAssociatedData(business, row.Name), row.Secrets)
	if err == nil {
		err = json.Unmarshal(plain, &access.Secrets)
	}
	if err != nil {
		err = fmt.Errorf("decrypting the secrets of platform %s: %w", row.Name, err)
	}
	return access, err
}

// Access returns the settings and secrets of a platform (relay.Platforms).
func (p Store) Access(ctx context.Context, business core.BusinessID, platform string) (relay.Access, error) {
	_, access, err := p.Read(ctx, p.db.Bun(), business, platform, "")
	return access, err
}

// Lookup also returns the id of the plugin that serves the platform, or core.ServedByMerchant.
func (p Store) Lookup(ctx context.Context, business core.BusinessID,
	platform string) (served string, access relay.Access, err error) {
	return p.Read(ctx, p.db.Bun(), business, platform, "")
}

// Served returns the platforms of a business, sorted by name, without their settings (aggregator.Platforms).
func (p Store) Served(ctx context.Context, business core.BusinessID) ([]core.Platform, error) {
	return PlatformsOf(ctx, p.db.Tenant(business), business)
}

// PlatformsOf returns the platforms of a business, sorted by name.
func PlatformsOf(ctx context.Context, in bun.IDB, business core.BusinessID) (list []core.Platform, err error) {
	if err := in.NewRaw(`SELECT name, served_by FROM platforms WHERE business_id = ? ORDER BY name`, business).Scan(ctx,
		&list); err != nil {
		return nil, fmt.Errorf("reading platforms: %w", err)
	}
	return list, nil
}

// List returns the platforms of a business, sorted by name.
func (p Store) List(ctx context.Context, business core.BusinessID) ([]Platform, error) {
	var rows []platformRow
	if err := p.db.Tenant(business).
		NewRaw(`SELECT name, served_by, settings, addresses, secrets, accept FROM platforms WHERE business_id = ?
			ORDER BY name`, business).
		Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading platforms: %w", err)
	}
	list := make([]Platform, 0, len(rows))
	for _, row := range rows {
		access, err := p.decrypt(business, row)
		if err != nil {
			return nil, err
		}
		list = append(list, Platform{
			Platform: core.Platform{Name: row.Name, ServedBy: row.ServedBy}, Settings: json.RawMessage(row.Settings),
			Addresses: access.BaseURLs, Secrets: slices.Sorted(maps.Keys(access.Secrets)), Accept: access.Accept,
		})
	}
	return list, nil
}

// Set changes the settings of a platform, and creates the platform if it does not exist. If another
// plugin served it before, change starts from empty settings. A plugin must not get the secrets of
// another. The audit trail names the command line as the actor of a change.
func (p Store) Set(ctx context.Context, business core.BusinessID, platform core.Platform,
	change func(*relay.Access) error) error {
	return p.SetWithStores(ctx, business, platform, change, nil)
}

// SetWithStores also sets the platform store ids of stores, by their ref_ids, in the same
// transaction. An empty id removes one. It returns NotFound for an unknown store, Conflict if another
// store has the id, and Invalid for a malformed id.
func (p Store) SetWithStores(ctx context.Context, business core.BusinessID, platform core.Platform,
	change func(*relay.Access) error, stores map[string]string) error {
	return p.db.InTx(ctx, func(tx bun.Conn) (err error) {
		// The same lock order as store jobs: platform stores before menus.
		if err := lockPlatforms(ctx, tx, business); err != nil {
			return err
		}
		return setUp(ctx, tx, business, platform, func() error {
			if err := p.setAudited(ctx, tx, business, platform, change); err != nil || len(stores) == 0 {
				return err
			}
			return p.setPlatformStoreIDs(ctx, tx, business, platform.Name, stores)
		})
	})
}

// setAudited sets a platform and records the change in the audit trail.
func (p Store) setAudited(ctx context.Context, tx bun.Conn, business core.BusinessID, platform core.Platform,
	change func(*relay.Access) error) (err error) {
	entry := accessdb.CommandLineChange(business, "platform.change")
	entry.Object = "platform/" + platform.Name
	if entry.Before, entry.After, err = p.set(ctx, tx, business, platform, change); err != nil ||
		reflect.DeepEqual(entry.Before, entry.After) {
		return err
	}
	if entry.Before == nil {
		entry.Action = "platform.create"
	}
	return audit.Record(ctx, p.db, tx, entry)
}

// set also returns the audit entries before and after; before is nil for a new platform.
func (p Store) set(ctx context.Context, tx bun.Conn, business core.BusinessID, platform core.Platform,
	change func(*relay.Access) error) (before, after map[string]any, err error) {
	if err := checkName(ctx, tx, business, platform.Name); err != nil {
		return nil, nil, err
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, ?, ?)
		ON CONFLICT (business_id, name) DO NOTHING`, business, platform.Name, platform.ServedBy)
	if postgres.IsCode(err, "23503") {
		return nil, nil, core.Errorf(core.NotFound, "there is no business %d", business)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("storing the platform: %w", err)
	}
	served, access, err := p.Read(ctx, tx, business, platform.Name, " FOR UPDATE")
	if err != nil {
		return nil, nil, err
	}
	previous := access
	previous.BaseURLs, previous.Secrets = maps.Clone(access.BaseURLs), maps.Clone(access.Secrets)
	created, err := result.RowsAffected()
	if err != nil {
		return nil, nil, err
	}
	if created == 0 {
		before = auditEntry(served, previous, previous)
	}
	if served != platform.ServedBy {
		access = relay.Access{BaseURLs: map[string]string{}, Secrets: map[string]string{}, Accept: relay.AcceptHub,
			Currency: access.Currency}
		if err := p.dropTokens(ctx, tx, business, platform.Name); err != nil {
			return nil, nil, err
		}
		if err := dropValues(ctx, tx, business, platform.Name); err != nil {
			return nil, nil, err
		}
		if err := publications.ResetPublished(ctx, tx, business, platform.Name); err != nil {
			return nil, nil, err
		}
	}
	if err := change(&access); err != nil {
		return nil, nil, err
	}
	if err := p.store(ctx, tx, platformChange{business, platform, previous.Secrets, access}); err != nil {
		return nil, nil, err
	}
	if created > 0 || served == core.ServedByMerchant { // without a plugin, stores may share an id
		err = CheckPlatformStores(ctx, tx, business, platform.Name)
	}
	return before, auditEntry(platform.ServedBy, access, previous), err
}

// platformChange is a change of a platform.
type platformChange struct {
	business core.BusinessID
	platform core.Platform
	before   map[string]string // secrets
	access   relay.Access
}

// store writes the settings of a platform.
func (p Store) store(ctx context.Context, tx bun.Conn, c platformChange) error {
	business, platform, access := c.business, c.platform, c.access
	addresses, err := json.Marshal(access.BaseURLs)
	if err != nil {
		return err
	}
	secrets, err := json.Marshal(access.Secrets)
	if err != nil {
		return err
	}
	sealed, err := p.db.SealIn(ctx, tx, SecretsAssociatedData(business, platform.Name), secrets)
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx,
		`UPDATE platforms SET served_by = ?, settings = ?, addresses = ?, secrets = ?, accept = ? WHERE business_id = ?
			AND name = ?`,
		platform.ServedBy, string(access.Settings), string(addresses), sealed, cmp.Or(access.Accept, relay.AcceptHub),
		business, platform.Name); err != nil {
		return fmt.Errorf("storing the platform: %w", err)
	}
	if err := p.stampSecrets(ctx, tx, c); err != nil {
		return err
	}
	if err := p.dropStoreTokens(ctx, tx, c); err != nil {
		return err
	}
	return publications.RulesChanged(ctx, p.db, tx, business, platform.Name)
}

// stampSecrets records when each secret was set.
func (p Store) stampSecrets(ctx context.Context, tx bun.Conn, c platformChange) error {
	before, after := c.before, c.access.Secrets
	stamps, removed := map[string]time.Time{}, []string{}
	for name, value := range after {
		if previous, known := before[name]; !known || previous != value {
			stamps[name] = p.db.Clock().Now().UTC()
		}
	}
	for name := range before {
		if _, found := after[name]; !found {
			removed = append(removed, name)
		}
	}
	encoded, err := json.Marshal(stamps)
	if err != nil {
		return err
	}
	return postgres.Exec(ctx, tx, "storing when secrets were set",
		`UPDATE platforms SET secrets_set_at = ((secrets_set_at::jsonb - ?::text[]) || ?::jsonb)::text
			WHERE business_id = ?
			AND name = ?`,
		postgres.Array(removed), string(encoded), c.business, c.platform.Name)
}
