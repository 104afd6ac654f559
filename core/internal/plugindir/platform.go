package plugindir

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

// PlatformSetup is the outcome of SetPlatform.
type PlatformSetup struct {
	ServedBy string
	Previous string   // what served the platform before, or ServedBy for a new platform
	Missing  []string // what the plugin still requires
}

// SetPlatform creates or changes a platform of a business: its plugin, the settings of the plugin, and the platform's
// ids of stores. An empty plugin means the current one, or that of the same name.
func (d Dir) SetPlatform(ctx context.Context, business core.BusinessID, plugin string,
	change aggregator.PlatformChange, stores map[string]string) (s PlatformSetup, err error) {
	if s.ServedBy, s.Previous, err = d.servedBy(ctx, business, change.Platform, plugin); err != nil {
		return s, err
	}
	var about *sdk.Description
	if s.ServedBy != core.ServedByMerchant {
		if about, err = d.About(ctx, s.ServedBy); err != nil {
			return s, err
		}
	}
	if err = change.Check(about); err == nil && change.Settings != nil {
		err = d.checkSettings(ctx, business, s.ServedBy, change)
	}
	if err != nil {
		return s, err
	}
	return s, platforms.New(d.DB).SetWithStores(ctx, business,
		core.Platform{Name: change.Platform, ServedBy: s.ServedBy}, func(a *relay.Access) error {
			s.Missing, err = change.Apply(a, about)
			return err
		}, stores)
}

// servedBy returns the new and the previous plugin of the platform, which are equal for a new platform.
func (d Dir) servedBy(ctx context.Context, business core.BusinessID, name, plugin string) (served, former string,
	err error) {
	if name == "" || core.TooLong(name, core.MaxPlatformName) != "" {
		return "", "", core.Errorf(core.Invalid, "the name of a platform must have 1 to 255 characters")
	}
	former, _, err = platforms.New(d.DB).Lookup(ctx, business, name)
	if core.CodeOf(err) == core.NotFound {
		served = cmp.Or(plugin, name)
		return served, served, nil
	}
	return cmp.Or(plugin, former), former, err
}

func (d Dir) checkSettings(ctx context.Context, business core.BusinessID, served string,
	change aggregator.PlatformChange) error {
	if served == core.ServedByMerchant {
		return core.Errorf(core.Invalid, "settings are only for plugins, and platform %s is served by %s",
			change.Platform, served)
	}
	if !json.Valid(change.Settings) {
		return core.Errorf(core.Invalid, "settings: must be a JSON object")
	}
	tenant, err := accessdb.New(d.DB).Business(ctx, business)
	if err != nil {
		return err
	}
	return aggregator.RunStandalone(ctx, d.Path, served, d.hidden(), func(plugin pluginhost.Plugin) error {
		problems, err := plugin.CheckSettings(ctx, pluginhost.Subject{Business: tenant.ID, Platform: change.Platform,
			Settings: change.Settings, Currency: tenant.Currency})
		if err != nil {
			return err
		}
		return aggregator.InvalidSettings(change.Platform, plugin.Description(), problems)
	})
}
