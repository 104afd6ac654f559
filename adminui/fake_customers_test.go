package adminui_test

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
)

func (f *fake) SearchCustomer(_ context.Context, _ core.BusinessID, text string,
	change access.Change) (customer.Subject, error) {
	found, err := customer.Index{Key: customer.Key("key"), Country: "IN"}.Search(text)
	if err == nil {
		f.record(change)
	}
	return found, err
}

func (f *fake) OrdersOfCustomer(_ context.Context, _ core.BusinessID, subject customer.Subject, _ console.OrderCursor,
	limit int) ([]console.Order, error) {
	if subject.Kind == customer.Order && len(f.orders) > 0 {
		return f.orders[:1], f.broken
	}
	return firstN(f.orders, limit), f.broken
}

// manyOrders is the hash of a contact with more orders than are counted.
const manyOrders = 0xaa

func (f *fake) CustomerExtent(_ context.Context, _ core.BusinessID, of customer.Subject) (customer.Extent, error) {
	if of.Hash == manyOrders {
		return customer.Extent{Orders: customer.MaxCounted, More: true, Deliveries: 410}, f.broken
	}
	if len(f.orders) == 0 {
		return customer.Extent{}, f.broken
	}
	return customer.Extent{Orders: len(f.orders), Erased: 1, Unfinished: 1, Deliveries: 1204, Calls: 3}, f.broken
}

func (f *fake) EraseCustomer(_ context.Context, _ core.BusinessID, _ customer.Subject, change access.Change) error {
	f.record(change)
	return f.broken
}

func (f *fake) Erasures(_ context.Context, _ core.BusinessID, _ core.ID, limit int) ([]customer.Erasure, error) {
	if len(f.orders) == 0 {
		return nil, f.broken
	}
	return firstN([]customer.Erasure{
		{ID: idAt(3), Subject: customer.Subject{Kind: customer.Phone, Hash: 255}, Actor: "user:" + hostile,
			At: minutesAgo(3), Erased: 12, Waiting: 2},
		{ID: idAt(90), Subject: customer.OfOrder(10412), Actor: "hub", At: minutesAgo(90), Erased: 1,
			DoneAt: minutesAgo(89)},
	}, limit), f.broken
}

func (f *fake) ExportCustomer(_ context.Context, _ core.BusinessID, _ customer.Subject,
	change access.Change) ([]int64, error) {
	f.record(change)
	return []int64{1, 2, 3}, f.broken
}

func (f *fake) ExportOrder(_ context.Context, _ core.BusinessID, id int64) (customer.Export, error) {
	if id == 2 {
		return customer.Export{}, notFound()
	}
	none := jsontext.Value("[]")
	return customer.Export{OrderID: id, Events: []customer.ExportedEvent{{Type: core.OrderPlaced,
		Body: jsontext.Value(`{"customer":{"name":"Asha"}}`), SentTo: none}}, States: none, Riders: none,
		RiderLocations: none, Calls: none}, nil
}

func (f *fake) PersonalDataRetention(context.Context, core.BusinessID) (customer.Retention, error) {
	return 90, f.broken
}

func (f *fake) SetPersonalDataRetention(_ context.Context, _ core.BusinessID, _, _ customer.Retention,
	change access.Change) error {
	f.record(change)
	return f.broken
}

// record keeps the audit entry of a change.
func (f *fake) record(change access.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, change)
}
