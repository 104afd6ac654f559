package adminui_test

import (
	"context"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

func (f *fake) ListJobs(_ context.Context, _ core.BusinessID,
	filter console.JobFilter) (list []console.Job, err error) {
	for _, j := range f.jobs {
		list = append(list, j.Job)
	}
	return firstN(list, filter.Limit), f.broken
}

func (f *fake) Job(_ context.Context, _ core.BusinessID, reference core.ID) (console.JobDetail, error) {
	for _, j := range f.jobs {
		if j.Reference == reference {
			return j, nil
		}
	}
	return console.JobDetail{}, notFound()
}

func (f *fake) List(_ context.Context, _ core.BusinessID, filter webhook.Filter) ([]webhook.DeliveryRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filter = filter
	return firstN(f.deliveries, filter.Limit), f.broken
}

func (f *fake) Get(_ context.Context, _ core.BusinessID,
	id core.ID) (webhook.DeliveryRecord, []webhook.AttemptRecord, error) {
	for _, d := range f.deliveries {
		if d.ID == id {
			return d, f.attempts, nil
		}
	}
	return webhook.DeliveryRecord{}, nil, notFound()
}

func (f *fake) Count(_ context.Context, _ core.BusinessID, choice webhook.Selector) (n int, err error) {
	for _, d := range f.deliveries {
		if d.State == webhook.Failed && f.matches(choice, d.ID) {
			n++
		}
	}
	return n, f.broken
}

// matches reports whether the state of the order of a delivery matches.
func (f *fake) matches(choice webhook.Selector, id core.ID) bool {
	return choice.FinalOrders == webhook.WithFinalOrders ||
		slices.Contains(f.final, id) == (choice.FinalOrders == webhook.OnlyFinalOrders)
}

func (f *fake) SelectedIDs(_ context.Context, _ core.BusinessID, choice webhook.Selector) (ids []core.ID, err error) {
	for _, id := range choice.IDs {
		if f.matches(choice, id) {
			ids = append(ids, id)
		}
	}
	return ids, f.broken
}

func (f *fake) CountUpTo(ctx context.Context, business core.BusinessID,
	choice webhook.Selector) (n int, more bool, err error) {
	n, err = f.Count(ctx, business, choice)
	return n, f.countMore, err
}

func (f *fake) Audit(_ context.Context, _ core.BusinessID,
	filter console.EntryFilter) (list []console.Entry, err error) {
	for _, e := range f.audit {
		if filter.Objects == nil && filter.Object == "" || filter.Object == e.Object ||
			slices.Contains(filter.Objects, e.Object) {
			list = append(list, e)
		}
	}
	return list, f.broken
}

func (f *fake) AuditEntry(_ context.Context, _ core.BusinessID, id core.ID) (console.Entry, error) {
	for _, e := range f.audit {
		if e.ID == id {
			return e, nil
		}
	}
	return console.Entry{}, notFound()
}

func (f *fake) ListOrders(_ context.Context, _ core.BusinessID, filter console.OrderFilter) ([]console.Order, error) {
	return firstN(f.orders, filter.Limit), f.broken
}

// rowSearch is a text to find in the rows after a cursor.
type rowSearch struct {
	text   string
	limit  int
	before core.ID
}

// searchRows searches rows of the fake. Each row has one text.
func searchRows[R any](f *fake, s rowSearch, rows []R, of func(R) (core.ID, string)) ([]R, console.SearchProgress[R],
	error) {
	at := func(row R) bool { id, _ := of(row); return id == s.before && s.before != core.ID{} }
	if i := slices.IndexFunc(rows, at); i >= 0 {
		rows = rows[i+1:]
	}
	if f.searchStop > 0 && len(rows) > f.searchStop { // as if the time was over
		rows = rows[:f.searchStop]
		defer func() { f.searchStop = 0 }()
	}
	stopped, next := f.searchStop > 0, 0
	found, progress, err := console.TextSearch[R]{Text: s.text, Limit: s.limit, Now: func() time.Time { return noon },
		Next: func(_ context.Context, limit int) ([]R, error) {
			page := rows[next:min(next+limit, len(rows))]
			next += len(page)
			return page, f.broken
		},
		Texts: func(_ context.Context, page []R, visit func(int, []byte)) error {
			for i, row := range page {
				_, words := of(row)
				visit(i, []byte(words))
			}
			return nil
		}}.Run(context.Background())
	progress.Done = progress.Done && !stopped
	return found, progress, err
}

func (f *fake) SearchDeliveries(_ context.Context, _ core.BusinessID, filter webhook.Filter,
	text string) ([]webhook.DeliveryRecord, console.SearchProgress[webhook.DeliveryRecord], error) {
	f.filter = filter
	return searchRows(f, rowSearch{text, filter.Limit, filter.Before}, f.deliveries,
		func(d webhook.DeliveryRecord) (core.ID, string) {
			return d.ID, string(d.EventType) + d.LastError
		})
}

func (f *fake) SearchJobs(_ context.Context, _ core.BusinessID, filter console.JobFilter,
	text string) ([]console.Job, console.SearchProgress[console.Job], error) {
	list, _ := f.ListJobs(context.Background(), 7, console.JobFilter{Limit: 1000})
	return searchRows(f, rowSearch{text, filter.Limit, filter.Before}, list,
		func(j console.Job) (core.ID, string) {
			return j.Reference, j.Error + string(j.Result)
		})
}

func (f *fake) SearchOrders(_ context.Context, _ core.BusinessID, filter console.OrderFilter,
	text string) ([]console.Order, console.SearchProgress[console.Order], error) {
	return searchRows(f, rowSearch{text, filter.Limit, core.ID{}}, f.orders,
		func(o console.Order) (core.ID, string) {
			return o.PlacedEvent, string(f.records[o.ID].Relay)
		})
}

func (f *fake) SearchAudit(_ context.Context, _ core.BusinessID, filter console.EntryFilter,
	text string) ([]console.Entry, console.SearchProgress[console.Entry], error) {
	return searchRows(f, rowSearch{text, filter.Limit, filter.Before}, f.audit,
		func(e console.Entry) (core.ID, string) {
			return e.ID, string(e.Detail)
		})
}
