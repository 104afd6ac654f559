package adminui_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// revisionIDs are the ids of the revisions, newest first.
var revisionIDs = []core.ID{idAt(30), idAt(60), idAt(90)}

// menuHistory is the history of the fake. The latest of its three revisions set a wrong price.
type menuHistory struct{ *fake }

func (p menuHistory) all() []menu.Revision {
	if len(p.jobs) == 0 {
		return nil
	}
	return []menu.Revision{
		{ID: revisionIDs[0], At: minutesAgo(30).UnixMilli(), Reference: p.jobs[0].Reference, Kind: "menu",
			Location: "S-17",
			Actor:    "key:pos", Changes: []menu.ChangeCount{{Entity: "items", Location: "S-17", Rows: 2},
				{Entity: "option_groups", Rows: 1200}}},
		{ID: revisionIDs[1], At: minutesAgo(60).UnixMilli(), Reference: idAt(61), Kind: "rollback", Location: "-1",
			Actor: "user:" + hostile, RolledBackTo: &revisionIDs[2],
			Changes: []menu.ChangeCount{{Entity: "items", Rows: 9}, {Entity: "items", Rows: 9},
				{Entity: "items", Location: "S-17", Rows: 9}, {Entity: "items", Location: hostile, Rows: 9},
				{Entity: "taxes", Rows: 1}, {Entity: "charges", Rows: 1}}},
		{ID: revisionIDs[2], At: minutesAgo(90).UnixMilli(), Reference: idAt(91), Kind: "switch", Location: long,
			Actor: "key:" + long, Changes: []menu.ChangeCount{{Entity: "stores", Rows: 1}}},
	}
}

func (p menuHistory) Revisions(_ context.Context, _ core.BusinessID,
	f menu.RevisionFilter) (list []menu.Revision, err error) {
	for _, r := range p.all() {
		if f.After == (core.ID{}) || r.At < core.TimeOf(f.After).UnixMilli() {
			list = append(list, r)
		}
	}
	return firstN(list, f.Limit), p.broken
}

func (p menuHistory) Revision(_ context.Context, _ core.BusinessID, id core.ID) (menu.Revision, error) {
	for _, r := range p.all() {
		if r.ID == id {
			return r, nil
		}
	}
	return menu.Revision{}, notFound()
}

func (p menuHistory) Present(_ context.Context, _ core.BusinessID, d menu.Difference) (jsontext.Value, error) {
	return d.After, nil
}

func (p menuHistory) FirstNames(context.Context, core.BusinessID, []core.ID) (map[core.ID][]string, error) {
	return map[core.ID][]string{revisionIDs[0]: {"dal", "naan"}, revisionIDs[1]: {hostile, long}}, nil
}

func (p menuHistory) DifferencesOf(_ context.Context, _ core.BusinessID,
	of menu.DifferenceQuery) (map[core.ID][]menu.Difference, error) {
	f := of.Filter
	list := []menu.Difference{
		{Entity: "items", RefID: "dal", Location: "S-17",
			Before: []byte(`{"price":10.25,"available":true,"tags":["hot"]}`),
			After:  []byte(`{"price":102.50,"available":true}`)},
		{Entity: "items", RefID: hostile, Before: []byte(`{"active":true,"record":{"title":"a"}}`),
			After: fmt.Appendf(nil, `{"active":false,"record":{"title":%q,"description":%q}}`, hostile,
				long+long+long)},
		{Entity: "items", RefID: "dal", Relation: "category_ref_ids", After: []byte(`{"ref_id":"mains","position":0}`)},
		{Entity: "option_groups", Before: []byte(`{"active":true,"record":{}}`)},
	}
	for n := range 30 {
		list = append(list, menu.Difference{Entity: "options", RefID: fmt.Sprint("option-", n),
			After: []byte(`{"active":true,"record":{"title":"Extra"}}`)})
	}
	if f.RefID != "" {
		list = slices.DeleteFunc(list,
			func(d menu.Difference) bool { return d.Entity != f.Entity || d.RefID != f.RefID })
	}
	list = firstN(list[min(of.Offset, len(list)):], of.Limit)
	found := map[core.ID][]menu.Difference{}
	for _, id := range of.Revisions {
		found[id] = list
	}
	return found, nil
}

func (p menuHistory) ResolveLocation(_ context.Context, _ core.BusinessID,
	location string) (core.Business, menu.Scope, error) {
	if location != "S-17" {
		return core.Business{}, menu.Scope{}, notFound()
	}
	return core.Business{}, menu.Scope{LocationRefID: location, StoreID: 1040}, nil
}

func (p menuHistory) ItemAsOf(_ context.Context, _ core.BusinessID, past menu.PastItem) (menu.ItemAsOf, error) {
	price, err := core.ParseAmount("10.25")
	return menu.ItemAsOf{Location: past.Scope.LocationRefID, RefID: past.RefID, Platform: past.Platform,
		Time: past.At.UnixMilli(), Shown: true, Sold: true, Item: &menu.EffectiveItem{RefID: past.RefID,
			ItemDetails: menu.ItemDetails{Title: hostile}, Price: price},
		Record: &menu.APIItem{}}, err
}

func (p menuHistory) PreviewRollback(_ context.Context, _ core.BusinessID, to core.ID) (menu.RollbackPreview, error) {
	u := menu.RollbackPreview{Latest: p.all()[0].ID}
	if to != u.Latest {
		u.Objects = menu.PerKind[int]{menu.Items: 2, menu.OptionGroups: 120}
		u.Timings = 3
	}
	return u, nil
}

func (f *fake) MonitoringRules(context.Context, core.BusinessID) (w console.MonitoringRules, err error) {
	if len(f.jobs) > 0 {
		err = w.SetAckWithin("ack", "5m")
	}
	return w, err
}

func (f *fake) SetMonitoringRules(ctx context.Context, business core.BusinessID,
	set func(*console.MonitoringRules) error, change access.Change) error {
	rules, err := f.MonitoringRules(ctx, business)
	if err == nil {
		err = set(&rules)
	}
	if err == nil {
		f.recordChange(change)
	}
	return err
}

func (f *fake) PublishNow(_ context.Context, _ core.BusinessID, _ string, _ []string, change access.Change) error {
	f.recordChange(change)
	return nil
}
