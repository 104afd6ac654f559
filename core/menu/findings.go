package menu

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
)

// Inspector checks items against the rules of the platforms that list them. It is called outside of transactions.
type Inspector interface {
	// Platforms returns the platforms of a business that have their own rules.
	Platforms(ctx context.Context, business core.BusinessID) ([]string, error)
	// Inspect returns a platform's findings by ref_id of the item. An error states why the platform's rules are
	// unavailable. core.Snooze leaves the request to another replica.
	Inspect(ctx context.Context, business core.BusinessID, platform string, items []*Item) (map[string][]Finding, error)
}

// Inspection holds the findings of the platforms for the items of a request.
type Inspection struct {
	Platforms   []string             // that responded
	Findings    map[string][]Finding // by ref_id of the item
	Uninspected []string             // that were unavailable
	Warnings    []Warning            // about those
	Names       core.PlatformNames   // of the business's platforms
}

// ItemFindings are the new findings of an item. They replace the earlier ones of the same platforms.
type ItemFindings struct {
	ID       int64
	Findings []Finding
}

// inspect computes the items after the request and has the platforms check them. Another request can change an item
// before this one is written. The inspection of that request then corrects the findings.
func (i Ingestor) inspect(ctx context.Context, job core.Job, scope Scope, request Request) (Inspection, error) {
	inspection := Inspection{Findings: map[string][]Finding{}}
	if i.Inspector == nil || job.DryRun || len(request.Items) == 0 {
		return inspection, nil
	}
	platforms, err := i.Inspector.Platforms(ctx, job.Business)
	if err != nil || len(platforms) == 0 {
		return inspection, err
	}
	state, err := i.Storage.LoadState(ctx, job.Business, scope, request.ReadSet())
	if err != nil {
		return inspection, err
	}
	items := previewItems(request, state)
	inspection.Names = state.Names
	for _, platform := range platforms {
		listed := slices.DeleteFunc(slices.Clone(items), func(item *Item) bool { return !item.ListedOn(platform) })
		found, err := map[string][]Finding(nil), error(nil)
		if len(listed) > 0 {
			found, err = i.Inspector.Inspect(ctx, job.Business, platform, listed)
		}
		if ctx.Err() != nil {
			return inspection, ctx.Err()
		}
		if errors.As(err, new(core.Snooze)) {
			return inspection, err
		}
		if err != nil {
			inspection.Warnings = append(inspection.Warnings, Warning{Path: "items",
				Message: fmt.Sprintf("the rules of platform %s could not be applied; what was found before counts "+
					"until they can be (%s)", quote(state.Names.EventName(platform)), core.PublicMessage(err))})
			inspection.Uninspected = append(inspection.Uninspected, platform)
			continue
		}
		inspection.Platforms = append(inspection.Platforms, platform)
		for ref, findings := range found {
			inspection.Findings[ref] = append(inspection.Findings[ref], findings...)
		}
	}
	return inspection, nil
}

// previewItems returns the items of a request with its changes applied.
func previewItems(request Request, state State) []*Item {
	var id int64
	plan := Decide(request, state, func() int64 { id--; return id })
	records := make(map[string]*Item, len(request.Items))
	for n := range state.Items {
		records[state.Items[n].RefID] = &state.Items[n]
	}
	for n := range plan.Items {
		records[plan.Items[n].Record.RefID] = &plan.Items[n].Record
	}
	items := make([]*Item, 0, len(request.Items))
	for n := range request.Items {
		if item := records[valueOf(request.Items[n].Object.RefID)]; item != nil &&
			plan.Outcomes[Items][n].Message == "" {
			items = append(items, item)
		}
	}
	return items
}

// withEventNames returns findings with the platform names that events use.
func (n Inspection) withEventNames(findings []Finding) []Finding {
	if !n.Names.HasEventAliases() {
		return findings
	}
	renamed := slices.Clone(findings)
	for i := range renamed {
		renamed[i].Platform = n.Names.EventName(renamed[i].Platform)
	}
	return renamed
}

// forRequest combines the findings with the outcomes of a request. It returns them by index in the request, for the
// callback, and by item, for storage.
func (n Inspection) forRequest(request Request, plan *Plan) (byIndex Findings, byItem []ItemFindings) {
	if len(n.Platforms) == 0 {
		return byIndex, nil
	}
	byIndex[Items] = map[int][]Finding{}
	for at := range request.Items {
		outcome := plan.Outcomes[Items][at]
		if outcome.Message != "" || outcome.ID == 0 {
			continue
		}
		findings := n.Findings[valueOf(request.Items[at].Object.RefID)]
		byIndex[Items][at] = n.withEventNames(findings)
		byItem = append(byItem, ItemFindings{outcome.ID, findings})
	}
	return byIndex, byItem
}
