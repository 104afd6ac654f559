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
}

// MenuInspector returns the Inspector for menu requests, which wait for it.
func (h *Host) MenuInspector() Inspector { return Inspector{h, inspectionTimeout, maxInspections} }

// RecheckInspector returns the Inspector for rechecks. They are less urgent: it takes longer, with less concurrency.
func (h *Host) RecheckInspector() Inspector { return Inspector{h, recheckTimeout, maxRechecks} }

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
func (n Inspector) Platforms(ctx context.Context, business core.BusinessID) (names []string, err error) {
	served, err := n.platformsWith(ctx, business, sdk.CapabilityMenuCheck)
	for _, p := range served {
		names = append(names, p.Name)
	}
	return names, err
}

// Inspect calls the plugin of a platform, with the settings of the business.
func (n Inspector) Inspect(ctx context.Context, business core.BusinessID, platform string,
	items []*menu.Item) (map[string][]menu.Finding, error) {
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
	converted := make([]*sdk.Item, len(items))
	for i, item := range items {
		if converted[i], err = itemForPlugin(item); err != nil {
			return nil, err
		}
	}
	list, err := plugin.CheckItems(ctx, subject, n.timeout, converted)
	found := map[string][]menu.Finding{}
	for _, f := range list {
		finding := menu.Finding{Platform: platform, Rule: f.GetRule(), Message: f.GetMessage()}
		if f.GetSeverity() == pb.FindingSeverity_FINDING_SEVERITY_WARNING {
			finding.Severity = menu.FindingWarning
		}
		found[f.GetRefId()] = append(found[f.GetRefId()], finding)
	}
	return found, err
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
	return h.Plugin(served),
		pluginhost.Subject{Business: business, Platform: platform, Settings: access.Settings,
			Currency: access.Currency}, err
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
