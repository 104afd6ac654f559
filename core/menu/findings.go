package menu

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
)

// RulePlatform is a platform with its own rules.
type RulePlatform struct {
	Name    string
	Context bool // its rules are also about what items belong to
}

// Inspector checks items against the rules of the platforms that list them. It is called outside of transactions.
type Inspector interface {
	// Platforms returns the platforms of a business that have their own rules.
	Platforms(ctx context.Context, business core.BusinessID) ([]RulePlatform, error)
	// Inspect returns a platform's findings. An error states why the platform's rules are unavailable. core.Snooze
	// leaves the request to another replica.
	Inspect(ctx context.Context, business core.BusinessID, platform string, check Check) (Found, error)
}

// Inspection holds the findings of the platforms for the objects of a request.
type Inspection struct {
	Platforms   []string             // that responded
	Found       Found                // what they found, by object
	Findings    map[string][]Finding // by ref_id of the item: also of its category, options …
	Others      []ItemFindings       // of items whose context the request changes, and of its store
	OtherRules  []string             // the platforms that checked Others
	Uninspected []string             // that were unavailable, or have more to check
	Warnings    []Warning            // about those
	Names       core.PlatformNames   // of the business's platforms
}

// ItemFindings are the new findings of an item or a store. They replace the earlier ones of the same platforms.
type ItemFindings struct {
	ID       int64 // of the item; 0: of the store
	Store    int64
	Findings []Finding
}

// inspection is what the inspection of a request needs.
type inspection struct {
	Ingestor
	job       core.Job
	scope     Scope
	request   Request
	plan      Plan
	items     []*Item       // of the request
	view      catalogueView // with the changes of the request, if a platform sees it
	concerned []int32       // its items whose context the request changes
	result    Inspection
}

// inspect computes the items after the request and has the platforms check them. Another request can change an item
// before this one is written. The inspection of that request then corrects the findings.
func (i Ingestor) inspect(ctx context.Context, job core.Job, scope Scope, request Request) (Inspection, error) {
	n := inspection{Ingestor: i, job: job, scope: scope, request: request,
		result: Inspection{Found: Found{}, Findings: map[string][]Finding{}}}
	if i.Inspector == nil || job.DryRun {
		return n.result, nil
	}
	platforms, err := i.Inspector.Platforms(ctx, job.Business)
	seesContext := false
	for _, platform := range platforms {
		seesContext = seesContext || platform.Context
	}
	if err != nil || len(platforms) == 0 || len(request.Items) == 0 && !seesContext {
		return n.result, err
	}
	state, err := i.Storage.LoadState(ctx, job.Business, scope, request.ReadSet())
	if err != nil {
		return n.result, err
	}
	n.result.Names = state.Names
	n.previewItems(state)
	if seesContext {
		catalogue, err := i.Storage.Menu(ctx, job.Business, 0)
		if err != nil {
			return n.result, err
		}
		catalogue.applyCatalogue(&n.plan)
		n.view = newCatalogueView(&catalogue)
		n.concerned = n.view.affected(&request, &n.plan)
	}
	for _, platform := range platforms {
		if err := n.inspectOn(ctx, platform); err != nil {
			return n.result, err
		}
	}
	return n.result, nil
}

// inspectOn has a platform check the objects that it lists.
func (n *inspection) inspectOn(ctx context.Context, platform RulePlatform) error {
	check, others := n.checkFor(platform)
	var found Found
	var err error
	if !check.isEmpty() {
		found, err = n.Inspector.Inspect(ctx, n.job.Business, platform.Name, check)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.As(err, new(core.Snooze)) {
		return err
	}
	r := &n.result
	if err != nil {
		r.Warnings = append(r.Warnings, Warning{Path: "items",
			Message: fmt.Sprintf("the rules of platform %s could not be applied; what was found before counts "+
				"until they can be (%s)", quote(r.Names.EventName(platform.Name)), core.PublicMessage(err))})
		r.Uninspected = append(r.Uninspected, platform.Name)
		return nil
	}
	r.Platforms = append(r.Platforms, platform.Name)
	byItem := check.byItem(found)
	for object, findings := range found {
		addFindings(r.Found, object, findings)
	}
	for ref, findings := range byItem {
		addFindings(r.Findings, ref, findings)
	}
	if !platform.Context {
		return nil
	}
	r.OtherRules = append(r.OtherRules, platform.Name)
	for _, item := range others {
		r.Others = append(r.Others, ItemFindings{ID: item.ID, Findings: byItem[item.RefID]})
	}
	if !n.scope.Master() {
		r.Others = append(r.Others, ItemFindings{Store: n.scope.StoreID,
			Findings: found[FoundObject{FoundStore, n.scope.LocationRefID}]})
	}
	return nil
}

// addFindings adds findings to those of other platforms. It keeps the list, because copies of long lists cost memory.
func addFindings[K comparable](to map[K][]Finding, of K, findings []Finding) {
	if before := to[of]; len(before) > 0 {
		findings = append(before, findings...)
	}
	to[of] = slices.Clip(findings)
}

// checkFor returns what a platform is to check, and the stored items in it that the request does not name. If there are
// too many of these, a recheck of the platform follows instead.
func (n *inspection) checkFor(platform RulePlatform) (check Check, others []*Item) {
	named := make(map[int64]bool, len(n.items))
	for _, item := range n.items {
		named[item.ID] = true
		if item.ListedOn(platform.Name) {
			check.Items = append(check.Items, item)
		}
	}
	if !platform.Context {
		return check, nil
	}
	for _, row := range n.concerned {
		if item := &n.view.menu.Items[row]; !named[item.ID] {
			others = append(others, item)
		}
	}
	if len(others) > MaxItems {
		others = nil
		n.result.Uninspected = append(n.result.Uninspected, platform.Name)
	}
	for _, item := range others {
		if item.ListedOn(platform.Name) {
			check.Items = append(check.Items, item)
		}
	}
	if !n.scope.Master() {
		check.Stores = []int64{n.scope.StoreID}
	}
	check.addContext(n.view, &n.request, platform.Name)
	return check, others
}

// addContext adds what the items belong to, and what a request names besides. It drops items that the catalogue lacks.
func (c *Check) addContext(view catalogueView, request *Request, platform string) {
	c.view, c.rows = view, make(map[int32]bool, len(c.Items))
	rows := make([]int32, 0, len(c.Items))
	c.Items = slices.DeleteFunc(c.Items, func(item *Item) bool {
		row, known := view.byRef[Items][item.RefID]
		if !known || c.rows[row] {
			return true
		}
		c.rows[row] = true
		rows = append(rows, row)
		return false
	})
	c.Context = view.context(rows, request, platform)
}

// previewItems computes the plan of a request, and its items with the changes applied.
func (n *inspection) previewItems(state State) {
	var id int64
	request := &n.request
	n.plan = Decide(*request, state, func() int64 { id--; return id })
	records := make(map[string]*Item, len(request.Items))
	for i := range state.Items {
		records[state.Items[i].RefID] = &state.Items[i]
	}
	for i := range n.plan.Items {
		records[n.plan.Items[i].Record.RefID] = &n.plan.Items[i].Record
	}
	n.items = make([]*Item, 0, len(request.Items))
	for i := range request.Items {
		if item := records[valueOf(request.Items[i].Object.RefID)]; item != nil &&
			n.plan.Outcomes[Items][i].Message == "" {
			n.items = append(n.items, item)
		}
	}
}

// withEventNames returns findings with the platform names that events use.
func (n Inspection) withEventNames(findings []Finding) []Finding {
	if !n.Names.HasEventAliases() {
		return findings
	}
	renamed := make([]Finding, len(findings))
	for i, finding := range findings {
		renamed[i] = finding
		renamed[i].Platform = n.Names.EventName(finding.Platform)
	}
	return renamed
}

// storeFindings returns the findings about the store of the request, for the callback.
func (n Inspection) storeFindings(scope Scope) []Finding {
	return n.withEventNames(n.Found[FoundObject{FoundStore, scope.LocationRefID}])
}

// forRequest combines the findings with the outcomes of a request. It returns them by index in the request, for the
// callback, and by item, for storage.
func (n Inspection) forRequest(request Request, plan *Plan) (byIndex Findings, byItem []ItemFindings) {
	if len(n.Platforms) == 0 {
		return byIndex, nil
	}
	keys := request.identities()
	byItem = make([]ItemFindings, 0, len(request.Items))
	for entity, kind := range foundKinds {
		byIndex[kind] = map[int][]Finding{}
		for at, outcome := range plan.Outcomes[kind] {
			if outcome.Message != "" || outcome.ID == 0 {
				continue
			}
			if found := n.Found[FoundObject{entity, keys[kind][at]}]; len(found) > 0 {
				byIndex[kind][at] = n.withEventNames(found)
			}
			if kind == Items {
				byItem = append(byItem, ItemFindings{ID: outcome.ID, Findings: n.Findings[keys[kind][at]]})
			}
		}
	}
	return byIndex, byItem
}
