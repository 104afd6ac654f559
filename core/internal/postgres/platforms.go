package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// Platforms keeps what the plugins of platforms need: settings, addresses and
// secrets, of one business and platform each (relay.Platforms).
type Platforms struct{ *DB }

// Platform is a platform as it is set up. Secrets are named, never told.
type Platform struct {
	core.Platform
	Settings  json.RawMessage   `json:"settings,omitzero"`
	Addresses map[string]string `json:"addresses"`
	Secrets   []string          `json:"secrets"` // names
	Accept    relay.Accept      `json:"accept"`
}

// secretsPlace is what the sealed secrets of a platform are bound to.
func secretsPlace(business core.BusinessID, platform string) string {
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
}

func (p Platforms) read(ctx context.Context, db bun.IDB, business core.BusinessID, name string, lock string) (served string, access relay.Access, err error) {
	var row platformRow
	err = db.NewRaw(`SELECT name, served_by, settings, addresses, secrets, accept,
		(SELECT currency FROM businesses WHERE id = business_id) AS currency FROM platforms WHERE business_id = ? AND name = ?`+lock, business, name).Scan(ctx, &row)
	if err != nil {
		return "", access, notFound(err, "business %d has no platform %q", business, name)
	}
	access, err = p.opened(business, row)
	return row.ServedBy, access, err
}

func (p Platforms) opened(business core.BusinessID, row platformRow) (access relay.Access, err error) {
	access = relay.Access{Settings: []byte(row.Settings), Secrets: map[string]string{}, Accept: row.Accept, Currency: row.Currency}
	if err = json.Unmarshal([]byte(row.Addresses), &access.Addresses); err != nil || row.Secrets == nil {
		return access, err
	}
	plain, err := p.seal.open(secretsPlace(business, row.Name), row.Secrets)
	if err == nil {
		err = json.Unmarshal(plain, &access.Secrets)
	}
	if err != nil {
		err = fmt.Errorf("the secrets of platform %s: %w", row.Name, err)
	}
	return access, err
}

// Access is what a platform of a business needs to be reached (relay.Platforms).
func (p Platforms) Access(ctx context.Context, business core.BusinessID, platform string) (relay.Access, error) {
	_, access, err := p.read(ctx, p.bun, business, platform, "")
	return access, err
}

// Of is also the id of the plugin that serves the platform, or core.ServedByOwn.
func (p Platforms) Of(ctx context.Context, business core.BusinessID, platform string) (served string, access relay.Access, err error) {
	return p.read(ctx, p.bun, business, platform, "")
}

// List reads the platforms of a business by their names.
func (p Platforms) List(ctx context.Context, business core.BusinessID) ([]Platform, error) {
	var rows []platformRow
	if err := p.of(business).NewRaw(`SELECT name, served_by, settings, addresses, secrets, accept FROM platforms WHERE business_id = ? ORDER BY name`, business).
		Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading platforms: %w", err)
	}
	list := make([]Platform, 0, len(rows))
	for _, row := range rows {
		access, err := p.opened(business, row)
		if err != nil {
			return nil, err
		}
		list = append(list, Platform{
			Platform: core.Platform{Name: row.Name, ServedBy: row.ServedBy}, Settings: json.RawMessage(row.Settings),
			Addresses: access.Addresses, Secrets: slices.Sorted(maps.Keys(access.Secrets)), Accept: access.Accept,
		})
	}
	return list, nil
}

// Set gives a platform what it needs; the business gets the platform where it
// has none of the name. change sees and returns what is set up: nothing where the
// platform was served by another, whose secrets are not for this one. It is done by
// the command line, and the audit trail says so where something differs then.
func (p Platforms) Set(ctx context.Context, business core.BusinessID, platform core.Platform, change func(*relay.Access) error) error {
	return p.SetWithStores(ctx, business, platform, change, nil)
}

// SetWithStores also tells by which ids of its own the platform knows stores
// (NameStores): all of it or nothing.
func (p Platforms) SetWithStores(ctx context.Context, business core.BusinessID, platform core.Platform, change func(*relay.Access) error, stores map[string]string) error {
	return p.inTx(ctx, func(tx bun.Conn) (err error) {
		if len(stores) > 0 { // the lock of the outlets comes before those of menus, as where stores are sent
			if err := lockOutlets(ctx, tx, business); err != nil {
				return err
			}
		}
		if err := p.setTold(ctx, tx, business, platform, change); err != nil || len(stores) == 0 {
			return err
		}
		return p.nameStores(ctx, tx, business, platform.Name, stores)
	})
}

// setTold sets a platform, and has the audit trail tell it.
func (p Platforms) setTold(ctx context.Context, tx bun.Conn, business core.BusinessID, platform core.Platform, change func(*relay.Access) error) (err error) {
	entry := byCommand(business, "platform.change")
	entry.Object = "platform/" + platform.Name
	if entry.Before, entry.After, err = p.set(ctx, tx, business, platform, change); err != nil || reflect.DeepEqual(entry.Before, entry.After) {
		return err
	}
	if entry.Before == nil {
		entry.Action = "platform.create"
	}
	return p.record(ctx, tx, entry)
}

// set also tells what was set up before, nil where the platform is new, and what is after.
func (p Platforms) set(ctx context.Context, tx bun.Conn, business core.BusinessID, platform core.Platform, change func(*relay.Access) error) (before, after map[string]any, err error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, ?, ?)
		ON CONFLICT (business_id, name) DO NOTHING`, business, platform.Name, platform.ServedBy)
	if isCode(err, "23503") {
		return nil, nil, core.Errorf(core.NotFound, "there is no business %d", business)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("storing the platform: %w", err)
	}
	served, access, err := p.read(ctx, tx, business, platform.Name, " FOR UPDATE")
	if err != nil {
		return nil, nil, err
	}
	was := access
	was.Addresses, was.Secrets = maps.Clone(access.Addresses), maps.Clone(access.Secrets)
	if made, _ := result.RowsAffected(); made == 0 {
		before = toldPlatform(served, was, was)
	}
	if served != platform.ServedBy {
		access = relay.Access{Addresses: map[string]string{}, Secrets: map[string]string{}, Accept: relay.AcceptHub, Currency: access.Currency}
		if err := p.forgetPublished(ctx, tx, business, platform.Name); err != nil {
			return nil, nil, err
		}
	}
	if err := change(&access); err != nil {
		return nil, nil, err
	}
	return before, toldPlatform(platform.ServedBy, access, was), p.store(ctx, tx, business, platform, was.Secrets, access)
}

// store writes what a platform is set up with.
func (p Platforms) store(ctx context.Context, tx bun.Conn, business core.BusinessID, platform core.Platform, before map[string]string, access relay.Access) error {
	addresses, err := json.Marshal(access.Addresses)
	if err != nil {
		return err
	}
	secrets, err := json.Marshal(access.Secrets)
	if err != nil {
		return err
	}
	sealed, err := p.sealIn(ctx, tx, secretsPlace(business, platform.Name), secrets)
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, `UPDATE platforms SET served_by = ?, settings = ?, addresses = ?, secrets = ?, accept = ? WHERE business_id = ? AND name = ?`,
		platform.ServedBy, string(access.Settings), string(addresses), sealed, cmp.Or(access.Accept, relay.AcceptHub), business, platform.Name); err != nil {
		return fmt.Errorf("storing the platform: %w", err)
	}
	if err := p.stampSecrets(ctx, tx, business, platform.Name, before, access.Secrets); err != nil {
		return err
	}
	return p.rulesChanged(ctx, tx, business, platform.Name)
}

// stampSecrets keeps when each secret was set.
func (p Platforms) stampSecrets(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string, before, after map[string]string) error {
	stamps, gone := map[string]time.Time{}, []string{}
	for name, value := range after {
		if was, known := before[name]; !known || was != value {
			stamps[name] = p.clock.Now().UTC()
		}
	}
	for name := range before {
		if _, kept := after[name]; !kept {
			gone = append(gone, name)
		}
	}
	encoded, err := json.Marshal(stamps)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE platforms SET secrets_at = ((secrets_at::jsonb - ?::text[]) || ?::jsonb)::text WHERE business_id = ? AND name = ?`,
		array(gone), string(encoded), business, platform); err != nil {
		return fmt.Errorf("keeping when secrets were set: %w", err)
	}
	return nil
}
