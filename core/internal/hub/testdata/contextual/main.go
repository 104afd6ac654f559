// Command contextual is a plugin whose rules are about what items belong to.
package main

import (
	"context"
	"net/url"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "contextual", Version: "1.0.0", DisplayName: "Aggregator with rules for whole menus",
		Endpoints:      []*pb.Endpoint{{Name: "gateway", Hosts: []string{"127.0.0.1"}}},
		SettingsSchema: []byte(`{"type":"object","examples":[{}]}`),
	}, nil
}

// CheckMenu applies a rule to each kind of object. A tax on wine is the rule of an item.
func (plugin) CheckMenu(_ context.Context, check *sdk.Check) (found []*sdk.Finding, err error) {
	report := func(entity, ref, rule, message string) {
		found = append(found, &sdk.Finding{Entity: entity, RefId: ref, Rule: rule, Message: message})
	}
	parents := map[string]string{}
	for _, category := range check.GetCategories() {
		if parents[category.GetRefId()] = category.GetParentRefId(); category.GetDescription() == "" {
			report("category", category.GetRefId(), "description", "has no description")
		}
	}
	for _, group := range check.GetOptionGroups() {
		if group.GetMinSelectable() > 1 {
			report("option_group", group.GetRefId(), "minimum", "requires more than one option")
		}
		if group.GetDescription() == "" {
			report("option_group", group.GetRefId(), "description", "has no description")
			found[len(found)-1].Severity = pb.FindingSeverity_FINDING_SEVERITY_WARNING
		}
	}
	for _, option := range check.GetOptions() {
		if option.GetPrice() == "20" {
			report("option", option.GetRefId(), "price", "costs too much")
		}
	}
	for _, store := range check.GetStores() {
		if store.GetContactPhone() == "000" {
			report("store", store.GetRefId(), "phone", "has no phone")
		}
	}
	taxed := map[string]bool{}
	for _, tax := range check.GetTaxes() {
		for _, ref := range tax.GetItemRefIds() {
			taxed[ref] = true
		}
	}
	for _, item := range check.GetItems() {
		for _, category := range item.GetCategoryRefIds() {
			if parents[category] == "wine" && !taxed[item.GetRefId()] && !taxed["all"] {
				report("", item.GetRefId(), "tax", "is wine without a tax")
			}
		}
	}
	return found, nil
}

// Render sends the ref_ids of the items.
func (plugin) Render(_ context.Context, _ *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	refs := []string{}
	for _, item := range menu.GetItems() {
		refs = append(refs, item.GetRefId())
	}
	return sdk.Send(sdk.JSONPlan("PUT", "gateway", "/menus/"+url.PathEscape(menu.GetStore().GetRefId()), refs))
}

// PlanUnlist removes a store.
func (plugin) PlanUnlist(_ context.Context, r *pb.UnlistRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("DELETE", "gateway", "/menus/"+url.PathEscape(r.GetStoreRefId()), struct{}{}))
}
