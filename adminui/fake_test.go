package adminui_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servery-hub/servery/adminui/signin"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixedClock always returns noon.
type fixedClock struct{}

func (fixedClock) Now() time.Time                          { return noon }
func (fixedClock) At(time.Time) (<-chan time.Time, func()) { return nil, func() {} }
func notFound() error                                      { return core.Errorf(core.NotFound, "none") }
func minutesAgo(minutes int) time.Time                     { return noon.Add(-time.Duration(minutes) * time.Minute) }
func idAt(minutes int) core.ID                             { return core.NewID(minutesAgo(minutes)) }
func firstN[T any](list []T, limit int) []T                { return list[:min(len(list), limit)] }
func has(list []core.BusinessID, business core.BusinessID) (b bool) {
	for _, one := range list {
		b = b || one == business
	}
	return b || list == nil
}

// fake is an in-memory hub.
type fake struct {
	mu             *sync.Mutex
	broken         error
	refused        error // of resends and changes of platforms
	businesses     []core.Business
	endpoints      []console.Endpoint
	counts         []console.Count
	figures        console.Figures
	jobs           []console.JobDetail
	deliveries     []webhook.DeliveryRecord
	attempts       []webhook.AttemptRecord
	stores         []store.Stored
	items          []console.ItemDetail
	keys           []console.Key
	users          []access.User
	audit          []console.Entry
	hits           []console.Hit
	notices        console.Notices
	week           console.FailureWeek
	storeCalls     []console.Call // of store 1040
	storeFilter    console.StoreFilter
	rejectedFilter console.RejectedFilter
	keyError       error // of adding a key
	retryError     error // of retrying requests that are set aside
	problems       []console.Problem
	views          []console.SavedView
	resends        []console.ProblemResend // of every problem
	provider       signin.Provider
	done           []access.Change
	changes        int
	requested      []action.Request
	morePlatforms  []core.Platform
	streamsDown    atomic.Bool // live updates fail
	sessions       map[string]int64
	filter         webhook.Filter // of the latest list of deliveries
	searchStop     int            // rows after which the next search stops; 0: it does not
	countMore      bool           // CountUpTo has more
	final          []core.ID      // deliveries of orders in a final state
	queued         []byte         // body of the latest queued job
	hubSamples
}

func (f *fake) Businesses(_ context.Context, among []core.BusinessID, limit int) (list []core.Business, err error) {
	for _, b := range f.businesses {
		if has(among, b.ID) {
			list = append(list, b)
		}
	}
	return firstN(list, limit), nil
}

func (f *fake) Counts(context.Context, []core.BusinessID, int64, time.Duration, time.Time) ([]console.Count, error) {
	return f.counts, f.broken
}

func (f *fake) Figures(context.Context, []core.BusinessID, time.Time) (console.Figures, error) {
	return f.figures, f.broken
}

func (f *fake) UnhealthyEndpoints(_ context.Context, _ []core.BusinessID,
	limit int) (list []console.Endpoint, err error) {
	for _, e := range f.endpoints {
		if !e.Active || !e.Health.FailingSince.IsZero() {
			list = append(list, e)
		}
	}
	return firstN(list, limit), f.broken
}

func (f *fake) Endpoints(context.Context, core.BusinessID, int64, int) ([]console.Endpoint, error) {
	return f.endpoints, f.broken
}

func (f *fake) Endpoint(_ context.Context, _ core.BusinessID, id int64) (console.Endpoint, error) {
	for _, e := range f.endpoints {
		if e.ID == id {
			return e, nil
		}
	}
	return console.Endpoint{}, notFound()
}

func (f *fake) SwitchWebhook(_ context.Context, _ core.BusinessID, id int64, active bool, change access.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.endpoints {
		if f.endpoints[i].ID == id {
			f.endpoints[i].Active = active
		}
	}
	f.done = append(f.done, change)
	return nil
}

func (f *fake) ChangeWebhook(_ context.Context, _ core.BusinessID, id int64, input webhook.Input,
	change access.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.endpoints {
		if f.endpoints[i].ID == id {
			f.endpoints[i].EventHeader = *input.EventHeader
		}
	}
	f.done = append(f.done, change)
	return nil
}

func (f *fake) FailureWeek(context.Context, core.BusinessID) (console.FailureWeek, error) {
	return f.week, f.broken
}

func (f *fake) FailedJobs(_ context.Context, _ []core.BusinessID, _ time.Time,
	limit int) (list []console.Job, err error) {
	for _, j := range f.jobs {
		if j.State == "failed" {
			list = append(list, j.Job)
		}
	}
	return firstN(list, limit), nil
}

func (f *fake) EventBody(context.Context, core.BusinessID, core.ID) ([]byte, error) {
	return []byte(`{"reference":"r","stores":[{"ref_id":"S-17","name":"<script>alert(1)</script>"}]}`), nil
}

func (f *fake) ResendDeliveries(_ context.Context, _ core.BusinessID, ids []core.ID, change access.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range ids {
		f.done = append(f.done, change)
	}
	return f.refused
}

func (f *fake) ListStores(_ context.Context, _ core.BusinessID,
	filter console.StoreFilter) (list []console.Store, err error) {
	f.storeFilter = filter
	for _, s := range f.stores {
		list = append(list, console.Store{ID: s.ID, RefID: *s.RefID, Name: *s.Name, City: *s.City, Active: true,
			Ordering: true, Included: s.IncludedPlatforms, Status: console.StoreOpen, Updated: minutesAgo(90)})
	}
	return list, f.broken
}

func (f *fake) StoreRef(_ context.Context, _ core.BusinessID, id int64) (string, time.Time, error) {
	for _, s := range f.stores {
		if s.ID == id {
			return *s.RefID, minutesAgo(90), nil
		}
	}
	return "", time.Time{}, notFound()
}

// storeReader reads the stores of the fake.
type storeReader struct{ *fake }

func (f storeReader) Get(_ context.Context, _ core.BusinessID, ref string) (store.Stored, error) {
	for _, s := range f.stores {
		if *s.RefID == ref {
			return s, nil
		}
	}
	return store.Stored{}, notFound()
}

func (f *fake) Platforms(context.Context, core.BusinessID) ([]core.Platform, error) {
	return append([]core.Platform{{Name: "aggregator-a", ServedBy: "aggregator-a"}, {Name: "app", ServedBy: "own"},
		{Name: "web", ServedBy: "own"}}, f.morePlatforms...), nil
}

func (f *fake) ListItems(context.Context, core.BusinessID, console.ItemFilter) (list []console.Item, err error) {
	for _, i := range f.items {
		list = append(list, i.Item)
	}
	return list, f.broken
}

func (f *fake) Item(_ context.Context, _ core.BusinessID, id int64) (console.ItemDetail, error) {
	for _, i := range f.items {
		if i.ID == id {
			return i, nil
		}
	}
	return console.ItemDetail{}, notFound()
}

func (f *fake) ListKeys(context.Context, core.BusinessID, int64, int) ([]console.Key, error) {
	return f.keys, f.broken
}

func (f *fake) AddKey(_ context.Context, key access.Key, change access.Change) (access.Key, error) {
	f.done = append(f.done, change)
	return key, f.keyError
}

func (f *fake) RevokeKey(_ context.Context, _ core.BusinessID, _ int64, change access.Change) error {
	f.done = append(f.done, change)
	return nil
}

func (f *fake) ListUsers(context.Context, string, int) ([]access.User, error) {
	return f.users, f.broken
}

func (f *fake) UserByID(_ context.Context, id int64) (access.User, error) {
	for _, u := range f.users {
		if u.ID == id {
			return u, nil
		}
	}
	return access.User{}, notFound()
}

func (f *fake) Search(_ context.Context, _ []core.BusinessID, text string) (list []console.Hit, err error) {
	for _, hit := range f.hits {
		if strings.Contains(hit.Title+hit.Detail+hit.ID, text) {
			list = append(list, hit)
		}
	}
	return list, f.broken
}

func (f *fake) ChangeToken(context.Context, core.BusinessID) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.changes), nil
}

func (f *fake) PreviousBody(context.Context, core.BusinessID, webhook.DeliveryRecord) (core.ID, []byte, error) {
	return idAt(500),
		[]byte(`{"reference":"q","stores":[{"ref_id":"S-17","name":"<script>alert(2)</script>","city":"Oakland"}]}`),
		nil
}

func (f *fake) Grid(_ context.Context, _ core.BusinessID, filter console.GridFilter) (grid console.Grid, err error) {
	for i, s := range f.stores {
		grid.Stores = append(grid.Stores, console.GridStore{ID: s.ID, RefID: *s.RefID, Name: *s.Name, Active: true,
			Ordering: i == 0, Included: s.IncludedPlatforms, Hours: s.OpeningHours(), OpensAt: minutesAgo(-60),
			Reasons: map[string]console.PlaceReason{"web": console.PlaceNoItems},
			Cursor:  console.GridCursor{Key: int64(i), RefID: *s.RefID}})
	}
	if grid.Total = len(grid.Stores); grid.Total > 0 {
		grid.Counts = []console.PlaceCount{{Reason: console.PlaceShut, Stores: 2147},
			{Reason: console.PlaceNoOrders, Stores: 348}, {Reason: console.PlaceUnlisted, Stores: 15}}
	}
	grid.Stores = firstN(grid.Stores, filter.Limit)
	return grid, f.broken
}

func (f *fake) StoreFindings(context.Context, core.BusinessID, int64) ([]console.ItemFinding, error) {
	return []console.ItemFinding{{Platform: "tasty", Rule: "phone", Message: "has no phone " + hostile,
		Warning: true}}, nil
}

func (f *fake) StoreOffers(context.Context, core.BusinessID, int64) (map[string]map[menu.Reason]int, error) {
	return map[string]map[menu.Reason]int{"aggregator-a": {menu.Orderable: 3},
		"web": {menu.OutOfStock: 2, menu.Unavailable: 10}}, f.broken
}

func (f *fake) ItemPlaces(_ context.Context, _ core.BusinessID, item console.Item,
	filter console.ItemPlaceFilter) (list []console.ItemPlace, counts []console.ItemPlaceCount, err error) {
	if item.ID != 501 {
		return nil, nil, f.broken
	}
	for _, place := range []console.ItemPlace{
		{Platform: "aggregator-a", Reason: console.PlaceReason(menu.BreaksRule)},
		{Platform: "app", Reason: console.PlaceReason(menu.OptionsMissing)},
		{Platform: "web"}, {Platform: "web", Reason: console.PlaceReason(menu.OutOfStock)},
		{Platform: "web", Reason: console.PlaceShut}} {
		place.ItemStore = console.ItemStore{Sold: true, UnmetGroup: hostile,
			Values: []byte(`{"price":10.25,"available":true,"current_stock":-1}`), Store: console.GridStore{ID: 1040,
				RefID: "S-17", Name: "Market Street", Active: true, Ordering: true, Included: []string{"app", "web"}}}
		list = append(list, place)
		counts = append(counts, console.ItemPlaceCount{Platform: place.Platform, Reason: place.Reason, Stores: 1200})
	}
	return firstN(list, filter.Limit), counts, f.broken
}

func (f *fake) StorePublications(context.Context, core.BusinessID,
	[]int64) (map[int64]map[string]publish.Publication, error) {
	all := map[int64]map[string]publish.Publication{}
	for _, p := range f.published {
		for _, s := range f.stores {
			if *s.RefID == p.StoreRef {
				all[s.ID] = map[string]publish.Publication{p.Platform: p}
			}
		}
	}
	return all, nil
}

func (f *fake) recordChange(change access.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, change)
}

func (f *fake) Record(_ context.Context, change access.Change) error {
	f.recordChange(change)
	return nil
}

func (f *fake) QueueJob(_ context.Context, work core.Job, change access.Change) error {
	f.recordChange(change)
	f.queued = work.Body
	f.jobs = append(f.jobs, console.JobDetail{Job: console.Job{Business: work.Business, Reference: work.ID,
		Kind: work.Kind, State: "queued", CreatedAt: noon}})
	if work.Kind == core.ProblemResendJob {
		f.resends = append([]console.ProblemResend{{Reference: work.ID, State: "queued", Actor: work.Actor,
			CreatedAt: noon}}, f.resends...)
	}
	return nil
}

func (f *fake) Rerun(_ context.Context, _ core.BusinessID, _ core.ID, change access.Change) (core.ID, error) {
	f.recordChange(change)
	return f.jobs[1].Reference, nil
}

func (f *fake) PublishingOfRequest(context.Context, core.BusinessID, core.ID) ([]console.Publishing, error) {
	return []console.Publishing{{Platform: "aggregator-a", State: "published", Stores: 12},
		{Platform: long, State: "failed", Stores: 3, Message: hostile},
		{Platform: "aggregator-c", State: "waiting", Stores: 1, Message: "the plugin is not running"}}, f.broken
}

func (f *fake) UnnotifiedOrders(context.Context, []core.BusinessID, time.Time) ([]console.UnnotifiedOrders, error) {
	return f.notices.Unnotified, f.broken
}

func (f *fake) Notices(context.Context, []core.BusinessID, time.Time) (console.Notices, error) {
	return f.notices, f.broken
}

func (f *fake) Test(context.Context, core.BusinessID, int64) (core.ID, error) { return idAt(1), nil }

func (f *fake) Rotate(_ context.Context, _ core.BusinessID, id int64, actor, why string) (webhook.Subscription, error) {
	f.recordChange(access.Change{Action: "webhook.rotate", Actor: actor, Why: why})
	return webhook.Subscription{ID: id, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		OldSecretUntil: noon.Add(24 * time.Hour)}, nil
}
