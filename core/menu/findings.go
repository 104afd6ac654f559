package menu

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Inspector holds items against the rules of the platforms on which they are
// listed. It is asked while no transaction is open.
type Inspector interface {
	// Platforms lists the platforms of a business that have rules of their own.
	Platforms(ctx context.Context, business core.BusinessID) ([]string, error)
	// Inspect tells what a platform has against items, by ref_id. An error says why
	// the platform's rules cannot be known now; core.Postponed leaves the request to
	// another replica.
	Inspect(ctx context.Context, business core.BusinessID, platform string, items []*Item) (map[string][]Finding, error)
}

// Inspection is what the platforms' rules have against the items of a request.
type Inspection struct {
	Platforms []string             // that were asked and answered
	Found     map[string][]Finding // by ref_id of the item
	Missed    []string             // that could not be asked
	Warnings  []Warning            // of those
}

// ItemFindings is what is kept of an inspected item, in the place of what the
// platforms that were asked had against it before.
type ItemFindings struct {
	ID       int64
	Findings []Finding
}

// inspect works out what the items of a request will be and asks the platforms
// about them. Another request may change an item before this one is written; the
// findings are then put right by that one's own inspection.
func (i Ingestor) inspect(ctx context.Context, job core.Job, scope Scope, request Request) (Inspection, error) {
	inspection := Inspection{Found: map[string][]Finding{}}
	if i.Inspector == nil || job.DryRun || len(request.Items) == 0 {
		return inspection, nil
	}
	platforms, err := i.Inspector.Platforms(ctx, job.Business)
	if err != nil || len(platforms) == 0 {
		return inspection, err
	}
	state, err := i.Records.Foresee(ctx, job.Business, scope, request.Needs())
	if err != nil {
		return inspection, err
	}
	items := foreseen(request, state)
	for _, platform := range platforms {
		listed := slices.DeleteFunc(slices.Clone(items), func(item *Item) bool { return !item.ListedOn(platform) })
		found, err := map[string][]Finding(nil), error(nil)
		if len(listed) > 0 {
			found, err = i.Inspector.Inspect(ctx, job.Business, platform, listed)
		}
		if ctx.Err() != nil {
			return inspection, ctx.Err()
		}
		if errors.As(err, new(core.Postponed)) {
			return inspection, err
		}
		if err != nil {
			inspection.Warnings = append(inspection.Warnings, Warning{Path: "items",
				Message: fmt.Sprintf("the rules of platform %s could not be applied; what was found before counts until they can be (%s)", quote(platform), err)})
			inspection.Missed = append(inspection.Missed, platform)
			continue
		}
		inspection.Platforms = append(inspection.Platforms, platform)
		for ref, findings := range found {
			inspection.Found[ref] = append(inspection.Found[ref], findings...)
		}
	}
	return inspection, nil
}

// foreseen are the items of a request as they will be.
func foreseen(request Request, state State) []*Item {
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
		if item := records[valueOf(request.Items[n].Object.RefID)]; item != nil && plan.Outcomes[Items][n].Message == "" {
			items = append(items, item)
		}
	}
	return items
}

// ListedOn tells whether an item is listed on a platform.
func (i *Item) ListedOn(platform string) bool {
	if i.IncludedPlatforms == nil {
		return true
	}
	var names []string
	return json.Unmarshal(i.IncludedPlatforms, &names) == nil && slices.Contains(names, platform)
}

// of joins the findings with the outcomes of a request: for the callback by the
// item's place in the request, and as they are kept.
func (n Inspection) of(request Request, plan *Plan) (told Findings, kept []ItemFindings) {
	if len(n.Platforms) == 0 {
		return told, nil
	}
	told[Items] = map[int][]Finding{}
	for at := range request.Items {
		outcome := plan.Outcomes[Items][at]
		if outcome.Message != "" || outcome.ID == 0 {
			continue
		}
		findings := n.Found[valueOf(request.Items[at].Object.RefID)]
		told[Items][at] = findings
		kept = append(kept, ItemFindings{outcome.ID, findings})
	}
	return told, kept
}
