package adminui_test

import (
	"context"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// sampleViews returns views of deliveries: of sam, shared by vera, and private to vera.
func sampleViews() []console.SavedView {
	return []console.SavedView{
		{Business: 7, ID: 1, User: 1, Owner: "sam@example.com", List: "deliveries", Name: "Failed today",
			Filters: "state=failed&when=24h"},
		{Business: 7, ID: 2, User: 2, Owner: "vera@example.com", List: "deliveries", Name: hostile,
			Filters: "status=503", Shared: true},
		{Business: 7, ID: 3, User: 2, Owner: "vera@example.com", List: "deliveries", Name: "Private of Vera",
			Filters: "status=404"},
		{Business: 7, ID: 4, User: 1, Owner: "sam@example.com", List: "orders", Name: long, Filters: "state=moved"},
	}
}

func (f *fake) SavedViews(_ context.Context, business core.BusinessID, user int64,
	list string) (found []console.SavedView, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.views {
		if v.Business == business && v.List == list && (v.User == user || v.Shared) {
			found = append(found, v)
		}
	}
	return found, f.broken
}

func (f *fake) SaveView(_ context.Context, view console.SavedView, change access.Change) (int64, error) {
	if err := view.Check(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.views, func(v console.SavedView) bool {
		return v.User == view.User && v.List == view.List && v.Name == view.Name
	}) {
		return 0, core.Errorf(core.Conflict, "you already have a view of this name")
	}
	view.ID = int64(len(f.views) + 100)
	f.views = append(f.views, view)
	if view.Shared {
		f.done = append(f.done, change)
	}
	return view.ID, nil
}

func (f *fake) DeleteView(_ context.Context, view console.SavedView, change access.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, v := range f.views {
		if v.ID == view.ID && v.List == view.List && v.Shared == view.Shared && (v.Shared || v.User == view.User) {
			f.views = slices.Delete(f.views, i, i+1)
			if view.Shared {
				f.done = append(f.done, change)
			}
			return nil
		}
	}
	return notFound()
}
