// Package customers finds the orders of a customer, and exports or erases their personal data. URLs and the audit trail
// have hashes of customers, and no personal data.
package customers

import (
	"context"
	"fmt"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
)

// Finder finds customers and their orders.
type Finder interface {
	SearchCustomer(ctx context.Context, business core.BusinessID, text string,
		change access.Change) (customer.Subject, error)
	OrdersOfCustomer(ctx context.Context, business core.BusinessID, subject customer.Subject,
		before console.OrderCursor, limit int) ([]console.Order, error)
	CustomerExtent(ctx context.Context, business core.BusinessID, subject customer.Subject) (customer.Extent, error)
}

// Eraser erases the personal data of customers, and lists the requests to do so.
type Eraser interface {
	EraseCustomer(ctx context.Context, business core.BusinessID, subject customer.Subject, change access.Change) error
	Erasures(ctx context.Context, business core.BusinessID, before core.ID, limit int) ([]customer.Erasure, error)
}

// Exporter reads what is stored about customers.
type Exporter interface {
	ExportCustomer(ctx context.Context, business core.BusinessID, subject customer.Subject,
		change access.Change) (orders []int64, err error)
	ExportOrder(ctx context.Context, business core.BusinessID, id int64) (customer.Export, error)
}

// Pages is the pages of customers.
type Pages struct {
	Finder   Finder
	Eraser   Eraser
	Exporter Exporter
}

// Path is the path of the pages within a business.
const Path = "customers/"

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + Path
	return shell.Page{Path: path, Label: text.Customers, Object: "customer",
		Routes: []shell.Route{
			shell.Get(path, access.Support, p.List),
			shell.Post(path, access.Support, p.Search),
			shell.Get(path+":subject/", access.Support, p.One),
			shell.Post(path+":subject/erase/", access.Admin, p.Erase),
			shell.Post(path+":subject/export/", access.Admin, p.Export),
		},
		Done: map[string]string{"erasing": text.CustomerEraseAsked}}
}

// Link returns the URL of the page of a customer.
func Link(business core.BusinessID, subject customer.Subject) string {
	return shell.BusinessLink(business, Path+subject.String()+"/")
}

// List shows the search for customers, and the requests to erase personal data.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	return p.showList(c, v, searchButton(v))
}

func searchButton(v *shell.PageContext) ui.Button {
	return ui.Button{Label: text.CustomerSearch, Action: v.Link(Path), Token: v.Token(), ReasonLabel: text.Why,
		Help:   text.CustomerSearchSay,
		Fields: []ui.Filter{{Name: "q", Label: text.CustomerQuery, Hint: text.CustomerQueryHint}}}
}

// Search opens the page of the customer that the form names.
func (p Pages) Search(c *fiber.Ctx, v *shell.PageContext) error {
	found, err := p.Finder.SearchCustomer(c.UserContext(), v.Business.ID, shell.Field(c, "q"),
		v.Change(c, "customer.search"))
	if core.CodeOf(err) == core.Invalid {
		v.Path = v.Link(Path)
		value := func(name string) string { return shell.Field(c, name) }
		return p.showList(c, v, searchButton(v).WithProblem(value, v.ErrorMessage(c, err)))
	}
	if err != nil {
		return err
	}
	return c.Redirect(Link(v.Business.ID, found), fiber.StatusSeeOther)
}

func (p Pages) showList(c *fiber.Ctx, v *shell.PageContext, search ui.Button) error {
	before, _ := uuid.Parse(v.Query.Get("before")) // any other text is the start
	found, err := p.Eraser.Erasures(c.UserContext(), v.Business.ID, before, v.Limit())
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Erasures, EmptyTitle: text.NoErasuresTitle, EmptyText: text.NoErasuresText,
		Columns: []ui.Column{{Label: text.ErasureAsked}, {Label: text.State}, {Label: text.CustomerBy},
			{Label: text.ErasureOrders, Kind: ui.Figure}, {Label: text.Actor, Kind: ui.Wide}}}
	for _, e := range found {
		state := ui.StateCell(ui.OK, text.ErasureDone)
		if e.DoneAt.IsZero() {
			state = ui.StateCell(ui.Run, text.ErasureRunning)
		}
		if e.DoneAt.IsZero() && e.Waiting > 0 {
			state = ui.StateCell(ui.Warn, text.ErasureWaiting)
			state.Note = fmt.Sprintf(text.ErasureWaitsNote, ui.Count(e.Waiting, text.OneOrder, text.Orders_))
		}
		list.AddAt(e.ID.String(), ui.TimeCell(v.At(e.At)), state,
			ui.LinkCell(kindOf(e.Subject), Link(v.Business.ID, e.Subject)), ui.T(ui.Number(e.Erased)), ui.T(e.Actor))
	}
	return v.ShowList(c, shell.Head{Title: text.Customers, Note: text.CustomersNote, Live: true,
		Above: []templ.Component{ui.Confirm(search),
			ui.Part(text.Erasures, ui.Link{}, templ.NopComponent)}}, list, "before")
}

// kindOf returns what identifies a customer.
func kindOf(s customer.Subject) string {
	switch s.Kind {
	case customer.Phone:
		return text.CustomerByPhone
	case customer.Email:
		return text.CustomerByEmail
	case customer.Name:
		return text.CustomerByName
	default:
		return fmt.Sprintf(text.OrderOf, s.Order)
	}
}

// subjectOf returns the customer in the path.
func subjectOf(c *fiber.Ctx) (customer.Subject, error) {
	s, err := customer.ParseSubject(c.Params("subject"))
	if err != nil {
		return s, core.Errorf(core.NotFound, text.NotFound)
	}
	return s, nil
}

// One shows the orders of a customer.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	subject, err := subjectOf(c)
	if err != nil {
		return err
	}
	found, err := p.Finder.OrdersOfCustomer(c.UserContext(), v.Business.ID, subject,
		console.ParseOrderCursor(v.Query.Get("before")), v.Limit())
	if err != nil {
		return err
	}
	extent, err := p.Finder.CustomerExtent(c.UserContext(), v.Business.ID, subject)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Orders, EmptyTitle: text.CustomerNone, EmptyText: text.CustomerNoneText,
		Columns: []ui.Column{{Label: text.Order}, {Label: text.State}, {Label: text.Store, Kind: ui.Wide},
			{Label: text.OrderOn}, {Label: text.Placed}, {Label: text.CustomerData}}}
	for _, o := range found {
		list.AddAt(o.Cursor().String(), ui.LinkCell(fmt.Sprint(o.ID), v.Link(fmt.Sprintf("orders/%d/", o.ID))),
			ui.StateCell(cause.OrderColour(o.State), o.State),
			ui.Cell{Text: o.StoreName, Href: v.Link(fmt.Sprintf("stores/%d/", o.StoreID)), Note: o.StoreRef},
			ui.Cell{Text: o.PlatformOrderID, Code: true, Note: o.Platform}, ui.TimeCell(v.At(o.Placed)),
			ui.LinkCell(fmt.Sprintf(text.OrderOf, o.ID), Link(v.Business.ID, customer.OfOrder(o.ID))))
	}
	head := shell.Head{Title: text.CustomerOrders, Note: kindOf(subject),
		Parent: ui.Link{Href: v.Link(Path), Label: text.Customers}, Above: []templ.Component{ui.FactsOf(facts(extent))}}
	switch {
	case !subject.IsOnePerson():
		head.Causes = []ui.Cause{{State: ui.Off, Text: text.CustomerName}}
	case v.User.Role == access.Admin && extent.Orders > 0:
		head.Buttons = buttons(v, subject, extent)
	}
	if extent.Orders > 0 && extent.ToErase() == 0 {
		head.Causes = append(head.Causes, ui.Cause{State: ui.OK, Text: text.CustomerEraseNone})
	}
	return v.ShowList(c, head, list, "before")
}

func facts(extent customer.Extent) (list []ui.Fact) {
	number := func(n int) string { return ui.Number(n) }
	if extent.More {
		number = func(n int) string { return fmt.Sprintf(text.CustomerAtLeast, ui.Number(n)) }
	}
	for _, f := range []struct {
		label string
		n     int
	}{{text.Orders, extent.Orders}, {text.Deliveries, extent.Deliveries}, {text.Calls, extent.Calls},
		{text.CustomerUnfinished, extent.Unfinished}, {text.CustomerErased, extent.Erased}} {
		list = append(list, ui.Fact{Label: f.label, Cell: ui.T(number(f.n))})
	}
	return list
}

// buttons returns the actions on the personal data of a customer.
func buttons(v *shell.PageContext, subject customer.Subject, extent customer.Extent) []ui.Button {
	page := Link(v.Business.ID, subject)
	list := []ui.Button{{Label: text.CustomerExport, Action: page + "export/", ReasonLabel: text.Why,
		Help: fmt.Sprintf(text.CustomerExportSay, ui.Number(customer.MaxExported))}}
	if extent.ToErase() == 0 && subject.Kind != customer.Order {
		return list
	}
	say := text.CustomerEraseSay
	if extent.More {
		say = text.CustomerEraseMany
	}
	help := fmt.Sprintf(say, ui.Count(max(extent.ToErase(), 1), text.OneOrder, text.Orders_),
		ui.Count(extent.Deliveries, text.OneDelivery, text.Deliveries_),
		ui.Count(extent.Calls, text.CustomerCall, text.CustomerCalls))
	if extent.Unfinished > 0 {
		help += " " + fmt.Sprintf(text.CustomerEraseWaits, ui.Count(extent.Unfinished, text.OneOrder, text.Orders_))
	}
	return append(list, ui.Button{Label: text.CustomerErase, Action: page + "erase/", ReasonLabel: text.Why, Help: help,
		Danger: true, Hidden: []ui.Option{{Label: "orders", Value: fmt.Sprint(extent.ToErase())}}})
}
