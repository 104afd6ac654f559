package aggregator

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/pluginhost"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Inspector checks items against the rules of plugins (menu.Inspector).
type Inspector struct {
	*Host
	timeout       time.Duration // the time limit of the plugin
	maxConcurrent int           // bound of concurrent inspections by a plugin here
	stores        StoreSource
}

// StoreSource reads stores.
type StoreSource interface {
	// ReadStore returns a store on a platform, without its menu. It returns NotFound for an unknown store or platform.
	ReadStore(ctx context.Context, business core.BusinessID, storeID int64, platform string) (StoreMenu, error)
}

// MenuInspector returns the Inspector for menu requests, which wait for it.
func (h *Host) MenuInspector(stores StoreSource) Inspector {
	return Inspector{h, inspectionTimeout, maxInspections, stores}
}

// RecheckInspector returns the Inspector for rechecks. They are less urgent: it takes longer, with less concurrency.
func (h *Host) RecheckInspector(stores StoreSource) Inspector {
	return Inspector{h, recheckTimeout, maxRechecks, stores}
}

// A plugin inspects for at most half of a replica's parallel jobs, so that a hanging one leaves capacity for others.
// Further inspections are postponed. A menu waits for its inspection, so rechecks, which are less urgent, have a
// lower bound.
const (
	inspectionTimeout    = 8 * time.Second
	maxInspections       = 2
	inspectionRetryAfter = 2 * time.Second
	recheckTimeout       = time.Minute
	maxRechecks          = 1
)

// Platforms returns the platforms whose plugins have rules.
func (n Inspector) Platforms(ctx context.Context, business core.BusinessID) (list []menu.RulePlatform, err error) {
	served, err := n.platformsWith(ctx, business, sdk.CapabilityMenuCheck)
	for _, p := range served {
		list = append(list, menu.RulePlatform{Name: p.Name,
			Context: n.hasCapability(p.ServedBy, sdk.CapabilityMenuContext)})
	}
	return list, err
}

// Inspect calls the plugin of a platform, with the settings of the business.
func (n Inspector) Inspect(ctx context.Context, business core.BusinessID, platform string,
	check menu.Check) (menu.Found, error) {
	plugin, subject, err := n.subject(ctx, business, platform)
	if err == nil && plugin.ID() == core.ServedByMerchant {
		return nil, core.Errorf(core.NotFound, "platform %s has no plugin", platform)
	}
	if err == nil {
		err = n.servedByPeer(plugin.ID())
	}
	if err != nil {
		return nil, err
	}
	if !n.tryBegin(plugin.ID()) {
		return nil, core.Snooze{Until: n.config.Clock.Now().Add(inspectionRetryAfter)}
	}
	defer n.end(plugin.ID())
	converted, err := n.checkForPlugin(ctx, subject, check)
	if err != nil || check.Context == nil && len(check.Stores) > 0 && len(converted.GetStores()) == 0 {
		return nil, err // the platform lists none of the stores
	}
	list, err := plugin.CheckItems(ctx, subject, n.timeout, converted)
	found := make(menu.Found, len(list))
	for _, f := range list {
		finding := menu.Finding{Platform: platform, Rule: f.GetRule(), Message: f.GetMessage()}
		if f.GetSeverity() == pb.FindingSeverity_FINDING_SEVERITY_WARNING {
			finding.Severity = menu.FindingWarning
		}
		object := menu.FoundObject{Entity: sdk.FindingEntity(f), RefID: f.GetRefId()}
		found[object] = append(found[object], finding)
	}
	return found, err
}

// checkForPlugin converts a check. It omits stores that the platform does not list.
func (n Inspector) checkForPlugin(ctx context.Context, subject pluginhost.Subject,
	check menu.Check) (*sdk.Check, error) {
	out := &sdk.Check{}
	if check.Context != nil {
		about, err := menuForPlugin(*check.Context)
		if err != nil {
			return nil, err
		}
		out.Categories, out.OptionGroups, out.Options = about.Categories, about.OptionGroups, about.Options
		out.Taxes, out.Charges = about.Taxes, about.Charges
	}
	for i, item := range check.Items {
		converted, err := itemForPlugin(item)
		if err != nil {
			return nil, err
		}
		if check.Context != nil {
			belongs := &check.Context.Items[i]
			converted.CategoryRefIds, converted.OptionGroupRefIds = belongs.CategoryRefIDs, belongs.OptionGroupRefIDs
		}
		out.Items = append(out.Items, converted)
	}
	for _, id := range check.Stores {
		s, err := n.stores.ReadStore(ctx, subject.Business, id, subject.Platform)
		if err != nil {
			return nil, err
		}
		if s.Listed || s.Blocked != "" {
			out.Stores = append(out.Stores, storeForPlugin(s))
		}
	}
	return out, nil
}

// tryBegin starts an inspection by a plugin. It returns false at the concurrency limit.
func (n Inspector) tryBegin(plugin string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.inspecting[plugin] >= n.maxConcurrent {
		return false
	}
	n.inspecting[plugin]++
	return true
}

func (n Inspector) end(plugin string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inspecting[plugin]--
}

// subject returns a platform of a business, and the plugin that serves it.
func (h *Host) subject(ctx context.Context, business core.BusinessID,
	platform string) (pluginhost.Plugin, pluginhost.Subject, error) {
	served, access, err := h.config.Platforms.Lookup(ctx, business, platform)
	subject := pluginhost.Subject{Business: business, Platform: platform, Settings: access.Settings,
		Currency: access.Currency}
	if err == nil {
		subject, err = h.withValues(ctx, subject, access)
	}
	return h.Plugin(served), subject, err
}

// itemForPlugin converts the master's item for a check by a plugin, without the values that can differ between
// stores.
func itemForPlugin(item *menu.Item) (*sdk.Item, error) {
	out := &sdk.Item{
		RefId: item.RefID, Price: item.Price.String(), MarkupPrice: amountText(item.MarkupPrice),
		ImgUrl: stringOrEmpty(item.ImgURL),
	}
	return out, itemDetails(out, &item.ItemDetails, &item.ItemStoreDetails)
}

func groupsForPlugin(stored jsontext.Value) (list []*pb.KeyValueGroup, err error) {
	var groups []menu.KeyValueGroup
	if err := decodeStored(stored, &groups); err != nil {
		return nil, err
	}
	for _, group := range groups {
		to := &pb.KeyValueGroup{Group: group.Group}
		for _, value := range group.Data {
			to.KeyValueData = append(to.KeyValueData, &pb.KeyValue{Key: value.Key, Value: value.Value})
		}
		list = append(list, to)
	}
	return list, nil
}

func decodeStored(value jsontext.Value, into any) error {
	if value == nil {
		return nil
	}
	return json.Unmarshal(value, into)
}

func stringOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func intOrZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
