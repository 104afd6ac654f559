// Package orders lists the orders of a business and shows the timeline of an order.
package orders

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// Lister lists orders, rejected orders and platforms.
type Lister interface {
	ListOrders(ctx context.Context, business core.BusinessID, f console.OrderFilter) ([]console.Order, error)
	SearchOrders(ctx context.Context, business core.BusinessID, f console.OrderFilter,
		text string) ([]console.Order, console.SearchProgress[console.Order], error)
	RejectedOrders(ctx context.Context, business core.BusinessID,
		f console.RejectedFilter) (list []console.RejectedOrder, all int, err error)
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
}

// Timeline reads the deliveries, calls and audit entries of an order.
type Timeline interface {
	DeliveriesOfOrder(ctx context.Context, business core.BusinessID, id int64) ([]webhook.DeliveryRecord, error)
	CallsOfOrder(ctx context.Context, business core.BusinessID, id int64) ([]console.Call, error)
	RiderLocation(ctx context.Context, business core.BusinessID, id int64) (console.RiderLocation, error)
	Audit(ctx context.Context, business core.BusinessID, f console.EntryFilter) ([]console.Entry, error)
	OrderRepeats(ctx context.Context, business core.BusinessID, id int64) ([]console.OrderRepeat, error)
	OrderFollowUps(ctx context.Context, business core.BusinessID, id int64) ([]console.OrderFollowUp, error)
	OrderRevisions(ctx context.Context, business core.BusinessID, id int64) ([]console.OrderRevision, error)
	PlacedOrder(ctx context.Context, business core.BusinessID, id int64) ([]byte, error)
}

// Notifier finds orders that no webhook received, and queues their delivery.
type Notifier interface {
	Endpoints(ctx context.Context, business core.BusinessID, after int64, limit int) ([]console.Endpoint, error)
	UnnotifiedOrders(ctx context.Context, businesses []core.BusinessID,
		since time.Time) ([]console.UnnotifiedOrders, error)
	QueueJob(ctx context.Context, work core.Job, change access.Change) error
}

// Reader reads an order.
type Reader interface {
	Get(ctx context.Context, business core.BusinessID, platform string, id int64) (order.Record, error)
}

// Deliveries reads a delivery with its attempts.
type Deliveries interface {
	Get(ctx context.Context, business core.BusinessID, id core.ID) (webhook.DeliveryRecord, []webhook.AttemptRecord,
		error)
}

// Pages is the order pages.
type Pages struct {
	Deliveries Deliveries
	Bodies     deliveries.EventBodies
	Lister     Lister
	Timeline   Timeline
	Notifier   Notifier
	Orders     Reader
	Actions    Actions
	Changes    Changes
}

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "orders/"
	return shell.Page{Path: path, Label: text.Orders,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(shell.BusinessPath+RejectedPath, access.Viewer, p.Rejected),
			shell.Post(path+"send/", access.Support, p.NotifyAll),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Get(path+":id/payload.json", access.Viewer, p.Payload),
			shell.Get(path+":id/diff/", access.Viewer, compare.Diff(p.bodies)),
			shell.Get(path+":id/body/:key", access.Viewer, compare.Download(p.bodies)),
			shell.Post(path+":id/send/", access.Support, p.Notify),
			shell.Post(path+":id/action/:action/", access.Support, p.RequestAction),
		},
		Filters: &shell.Filters{Names: filterNames, Check: shell.CheckBy(parseFilter)},
		Done:    map[string]string{"action": text.ActionQueued}}
}

// page is a page of the list.
type page struct {
	found    []console.Order
	searched shell.Searched // of a search
}

// read reads a page of the list.
func (p Pages) read(ctx context.Context, v *shell.PageContext, f filter) (page, error) {
	f.Before, f.Limit = console.ParseOrderCursor(v.Query.Get("before")), v.Limit()
	if f.text == "" {
		found, err := p.Lister.ListOrders(ctx, v.Business.ID, f.OrderFilter)
		return page{found: found}, err
	}
	f.Limit = v.SearchLimit()
	found, progress, err := p.Lister.SearchOrders(ctx, v.Business.ID, f.OrderFilter, f.text)
	return page{found, shell.Searched{Rows: progress.Searched, Until: progress.Last.Placed,
		Cursor: progress.Last.Cursor().String(), Done: progress.Done, Oldest: f.Oldest}}, err
}

// List shows the orders of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f, err := parseFilter(v.Query.Get, v.Now, v.Zone)
	if err != nil {
		return err
	}
	read, err := p.read(c.UserContext(), v, f)
	if err != nil {
		return err
	}
	platforms, err := p.platformOptions(c.UserContext(), v)
	if err != nil {
		return err
	}
	refused, err := p.rejectedCauses(c.UserContext(), v, f)
	if err != nil {
		return err
	}
	list := table(v, read.found)
	list.Filters = []ui.Filter{{Name: "state", Label: text.State, Value: v.Query.Get("state"),
		Options: stateOptions()},
		{Name: "platform", Label: text.Platform, Value: f.Platform, Options: platforms},
		{Name: "store", Label: text.Store, Value: f.Store, Hint: text.StoreRefHint},
		{Name: "id", Label: text.OrderIDs, Value: f.ID, Hint: text.OrderIDsHint},
		{Name: "text", Label: text.TextInOrder, Value: f.text, Hint: text.TextInHint}}
	f.times.AddTo(&list, v, text.TimePlaced, defaultPeriod)
	list.Sorts, list.Sort = shell.TimeSorts("placed"), v.Query.Get("sort")
	list.NoMatchText = text.NoOrdersFilter
	if f.text != "" {
		v.ShowProgress(&list, read.searched, f.times)
	}
	head := shell.Head{Title: text.Orders, Note: text.OrdersNote, Causes: refused, Live: f.text == ""}
	if f.Unnotified && v.MayAct() {
		if head.Buttons, err = p.notifyAllButtons(c.UserContext(), v); err != nil {
			return err
		}
	}
	return v.ShowList(c, head, list, "before")
}

// platformOptions returns the platforms of the business as filter options.
func (p Pages) platformOptions(ctx context.Context, v *shell.PageContext) ([]ui.Option, error) {
	platforms, err := p.Lister.Platforms(ctx, v.Business.ID)
	options := []ui.Option{{Value: "", Label: text.Any}}
	for _, platform := range platforms {
		options = append(options, ui.Option{Value: platform.Name, Label: platform.Name})
	}
	return options, err
}

func table(v *shell.PageContext, found []console.Order) ui.List {
	list := ui.List{Name: text.Orders, EmptyTitle: text.NoOrdersTitle, EmptyText: text.NoOrdersText,
		Columns: []ui.Column{
			{Label: text.Order}, {Label: text.State, Key: "state"}, {Label: text.Rider, Key: "rider"},
			{Label: text.Store, Kind: ui.Wide, Key: "store"}, {Label: text.OrderOn, Key: "platform_id"},
			{Label: text.Flags, Kind: ui.Figure, Key: "flags"}, {Label: text.Placed, Key: "placed"},
			{Label: text.Updated, Key: "updated"}, {Label: text.Platform, Key: "platform", Extra: true},
			{Label: text.StoreRef, Key: "store_ref", Extra: true},
			{Label: text.PosNumber, Key: "reference", Extra: true},
			{Label: text.DeliveryMode, Key: "delivery", Extra: true}}}
	for _, o := range found {
		rider, flags := ui.Cell{}, ""
		if o.Rider != "" {
			rider = ui.T(cause.RiderStateLabel(order.State(o.State), order.RiderStatus(o.Rider)))
		}
		if o.Flags > 0 {
			flags = ui.Number(o.Flags)
		}
		list.AddAt(o.Cursor().String(), ui.LinkCell(fmt.Sprint(o.ID), v.Link(fmt.Sprintf("orders/%d/", o.ID))),
			stateCell(o), rider,
			ui.Cell{Text: o.StoreName, Href: v.Link(fmt.Sprintf("stores/%d/", o.StoreID)), Note: o.StoreRef},
			ui.Cell{Text: o.PlatformOrderID, Code: true, Note: o.Platform}, ui.T(flags), ui.TimeCell(v.At(o.Placed)),
			ui.TimeCell(v.At(o.Updated)), ui.T(o.Platform), ui.CodeCell(o.StoreRef), ui.CodeCell(o.Reference),
			ui.T(deliveryBy(o.DeliveryMode)))
	}
	return list
}

func stateCell(o console.Order) ui.Cell {
	if o.Escalated && o.State == string(order.Placed) {
		cell := ui.StateCell(ui.Err, o.State)
		cell.Note = text.Unacknowledged
		return cell
	}
	return ui.StateCell(cause.OrderColour(o.State), o.State)
}

func (p Pages) get(c *fiber.Ctx, v *shell.PageContext) (int64, order.Record, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return 0, order.Record{}, core.Errorf(core.NotFound, text.NotFound)
	}
	record, err := p.Orders.Get(c.UserContext(), v.Business.ID, "", id)
	return id, record, err
}

// pollSeconds is the refresh interval of an order page. The change token of a business covers only its newest
// orders.
const pollSeconds = 5

// One shows an order.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	id, record, err := p.get(c, v)
	if err != nil {
		return err
	}
	apiOrder, err := record.ToAPI()
	if err != nil {
		return err
	}
	if record.Platform != "" { // the stored payload may use an alias
		apiOrder = apiOrder.WithPlatform(record.Platform)
	}
	ctx := c.UserContext()
	orderFacts, err := p.orderFacts(ctx, v, id, record, apiOrder)
	if err != nil {
		return err
	}
	location, err := p.Timeline.RiderLocation(ctx, v.Business.ID, id)
	if err != nil && core.CodeOf(err) != core.NotFound {
		return err
	}
	page := v.Link(fmt.Sprintf("orders/%d/", id))
	repeated, err := p.repeatedDeliveries(ctx, v, orderFacts.Deliveries)
	if err != nil {
		return err
	}
	line := timelineOf(v, apiOrder.Relay, orderFacts, repeated, page+"body/")
	if err := p.addResends(ctx, v, orderFacts.Deliveries, line); err != nil {
		return err
	}
	switches, err := p.switches(ctx, v, apiOrder)
	if err != nil {
		return err
	}
	view := orderView{switches: switches, facts: facts(v, apiOrder, location), timeline: line,
		path: pathOf(v, location), receipt: receiptOf(apiOrder.Order, v.Business.Currency),
		payloadURL: page + "payload.json"}
	view.payload = ui.PayloadOf("payload", text.OrderPayload, record.Relay, ui.MaxShown, view.payloadURL)
	head := shell.Head{Title: fmt.Sprintf(text.OrderTitle, id), Note: platformNote(apiOrder),
		Parent: ui.Link{Href: v.Link("orders/"), Label: text.Orders}, Live: true, RefreshSeconds: pollSeconds,
		Causes: cause.Order(orderFacts, v.Now, v.Zone), Links: []ui.Link{{Href: page + "diff/", Label: text.DiffShow}}}
	if v.MayAct() {
		head.Links = append(head.Links, ui.Link{Href: v.Link("customers/order-" + c.Params("id") + "/"),
			Label: text.CustomerData})
		if head.Buttons, err = p.actionButtons(ctx, v, id, record.Platform); err != nil {
			return err
		}
	}
	return v.Show(c, head, orderPage(view))
}

// orderFacts returns what explains the state of an order.
func (p Pages) orderFacts(ctx context.Context, v *shell.PageContext, id int64, record order.Record,
	apiOrder order.APIOrder) (o cause.OrderFacts, err error) {
	o = cause.OrderFacts{State: apiOrder.State, Unnotified: record.Unnotified, Escalated: apiOrder.Escalated,
		History: apiOrder.History,
		Rides:   record.RiderHistory, Flags: apiOrder.Flags, Currency: v.Business.Currency,
		Titles: cause.OrderTitles(apiOrder.Order.Items)}
	if o.Deliveries, err = p.Timeline.DeliveriesOfOrder(ctx, v.Business.ID, id); err != nil {
		return o, err
	}
	if o.Calls, err = p.Timeline.CallsOfOrder(ctx, v.Business.ID, id); err != nil {
		return o, err
	}
	o.DeliveryLink = func(d webhook.DeliveryRecord) ui.Link {
		return ui.Link{Href: v.Link("deliveries/" + d.ID.String() + "/"), Label: text.ActSeeDelivery}
	}
	o.PluginLink = func(id string) ui.Link {
		return ui.Link{Href: shell.PluginsPath + id + "/", Label: text.ActSeePlugin}
	}
	if o.Repeats, err = p.Timeline.OrderRepeats(ctx, v.Business.ID, id); err != nil {
		return o, err
	}
	if o.Revisions, err = p.Timeline.OrderRevisions(ctx, v.Business.ID, id); err != nil {
		return o, err
	}
	if o.FollowUps, err = p.Timeline.OrderFollowUps(ctx, v.Business.ID, id); err != nil {
		return o, err
	}
	if v.MayAct() {
		o.ResendButton = func(d webhook.DeliveryRecord) *ui.Button {
			return deliveries.ResendButton(v, d)
		}
		if o.NotifyButton, err = p.notifyButton(ctx, v, id, apiOrder, o.Deliveries); err != nil {
			return o, err
		}
	}
	return o, nil
}

// platformNote returns the platform and its order id.
func platformNote(r order.APIOrder) string {
	for _, platform := range r.Order.Details.Platforms {
		return platform.ID + " · " + platform.Name
	}
	return r.Order.Details.Channel
}

// Payload downloads the order as the POS received it.
func (p Pages) Payload(c *fiber.Ctx, v *shell.PageContext) error {
	id, record, err := p.get(c, v)
	if err != nil {
		return err
	}
	return ui.File(c, fmt.Sprintf("order-%d.json", id), record.Relay)
}

// deliveryBy says whose rider delivers.
func deliveryBy(mode order.DeliveryMode) string {
	if mode == order.SelfDelivery {
		return text.DeliveryMode_self
	}
	return text.DeliveryMode_partner
}

func facts(v *shell.PageContext, r order.APIOrder, location console.RiderLocation) []ui.Fact {
	d, shop := r.Order.Details, r.Order.Store
	list := []ui.Fact{{Label: text.State, Cell: ui.StateCell(cause.OrderColour(string(r.State)), string(r.State))},
		{Label: text.Store, Cell: ui.Cell{Text: shop.Name, Href: v.Link(fmt.Sprintf("stores/%d/", shop.ID)),
			Note: shop.RefID}},
		{Label: text.Placed, Cell: ui.TimeCell(v.At(time.UnixMilli(d.Created)))}}
	for _, platform := range d.Platforms {
		list = append(list, ui.Fact{Label: text.Platform, Cell: ui.T(platform.Name)},
			ui.Fact{Label: text.OrderOn, Cell: ui.CodeCell(platform.ID)},
			ui.Fact{Label: text.DeliveryMode, Cell: ui.T(deliveryBy(platform.DeliveryMode))})
	}
	list = append(list, wishes(v, d)...)
	list = append(list, ui.Fact{Label: text.Customer, Cell: ui.Cell{Text: r.Customer.Name, Note: r.Customer.Phone}},
		ui.Fact{Label: text.Payable, Cell: ui.T(ui.Price(d.Payable.String(), v.Business.Currency))})
	if rider := r.Rider; rider != nil {
		list = append(list, ui.Fact{Label: text.Rider,
			Cell: ui.Cell{
				Text: strings.Trim(rider.Name+" · "+cause.RiderStateLabel(r.State, rider.Status), " ·"),
				Note: rider.Phone}})
	}
	return append(list, riderFacts(v, r, location)...)
}
