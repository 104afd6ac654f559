package aggregator

import (
	"context"
	"errors"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

// MaxKeptValues bounds the values of a platform, and those of each store on it.
const MaxKeptValues = sdk.MaxKept

// PluginPlatform is a platform of a business, with its plugin.
type PluginPlatform struct {
	Business         core.BusinessID
	Platform, Plugin string
}

// keepValues stores the values that a plugin returned (pluginhost.Keep). Those that cannot be stored are faults of the
// plugin.
func (h *Host) keepValues(ctx context.Context, plugin string, s pluginhost.Subject, values []*sdk.KeptValue) error {
	var list []relay.KeptValue
	for _, v := range values {
		kept := relay.KeptValue{Name: v.GetName(), Value: v.GetValue(), StoreRefID: v.GetStoreRefId(),
			PlatformStoreID: v.GetPlatformStoreId()}
		if kept.StoreRefID == "" && kept.PlatformStoreID == "" && !v.GetPlatformWide() {
			kept.StoreRefID = s.Store
		}
		list = append(list, kept)
	}
	ignored, err := h.config.Platforms.KeepValues(ctx, PluginPlatform{s.Business, s.Platform, plugin}, list)
	for _, why := range ignored {
		h.Plugin(plugin).ReportFault(errors.New(why))
	}
	return err
}

// withValues adds the values that the plugin keeps, for the store of the subject.
func (h *Host) withValues(ctx context.Context, s pluginhost.Subject, access relay.Access) (pluginhost.Subject, error) {
	if !access.HasValues {
		return s, nil
	}
	var err error
	s.Values, err = h.config.Platforms.Values(ctx, s.Business, s.Platform, s.Store)
	return s, err
}
