// Package search finds objects by id, name, ref_id or URL.
package search

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/customers"
	"github.com/servery-hub/servery/adminui/orders"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
)

// Searcher finds objects of businesses by a text.
type Searcher interface {
	Search(ctx context.Context, businesses []core.BusinessID, text string) ([]console.Hit, error)
}

// Customers finds customers.
type Customers interface {
	SearchCustomer(ctx context.Context, business core.BusinessID, text string,
		change access.Change) (customer.Subject, error)
}

// Pages is the search page.
type Pages struct {
	Searcher  Searcher
	Customers Customers
}

// Page returns the descriptor of the page.
func (p Pages) Page() shell.Page {
	const path = shell.SearchPath
	return shell.Page{Path: path,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.Search),
			shell.Post(path+"customers/", access.Support, p.SearchCustomer),
			shell.Post(path+"texts/", access.Viewer, p.SearchText),
		}}
}

// orderPrefix matches what people write before the id of an order: #10001, order 10001.
var orderPrefix = regexp.MustCompile(`(?i)^(?:order\b\s*)?#?\s*`)

// businessesSearched bounds the businesses of a search.
const businessesSearched = 10_000

// Search shows the results. It redirects to the page of a single result.
func (p Pages) Search(c *fiber.Ctx, v *shell.PageContext) error {
	query := strings.TrimSpace(v.Query.Get("q"))
	if query == "" || len(query) > 300 {
		return v.Show(c, shell.Head{Title: text.SearchTitle, Note: text.SearchTextNone},
			ui.ListOf(ui.List{Name: text.Search, EmptyTitle: text.SearchTitle, EmptyText: text.NoHitsText}))
	}
	businesses, ids, err := v.VisibleBusinesses(c.UserContext(), businessesSearched)
	if err != nil {
		return err
	}
	hits, err := p.Searcher.Search(c.UserContext(), ids, query)
	if id := orderPrefix.ReplaceAllString(query, ""); err == nil && len(hits) == 0 && id != "" && id != query {
		hits, err = p.Searcher.Search(c.UserContext(), ids, id)
	}
	if err != nil {
		return err
	}
	if len(hits) == 1 {
		return c.Redirect(hitLink(hits[0]), http.StatusSeeOther)
	}
	names := make(map[core.BusinessID]string, len(businesses))
	for _, b := range businesses {
		names[b.ID] = b.Name
	}
	list := ui.List{Name: text.Search, EmptyTitle: text.NoHitsTitle, EmptyText: text.NoHitsText, Columns: []ui.Column{
		{Label: text.Kind}, {Label: text.Name, Kind: ui.Wide}, {Label: text.Detail, Kind: ui.Wide},
		{Label: text.Business}}}
	perKind := map[string]int{}
	for _, hit := range hits {
		if perKind[hit.Kind]++; perKind[hit.Kind] > console.HitsShown {
			list.More = fmt.Sprintf(text.MoreHits, console.HitsShown)
			continue
		}
		title := hit.Title
		if title == "" {
			title = hit.ID
		}
		list.Add(ui.T(kinds[hit.Kind]), ui.LinkCell(title, hitLink(hit)), ui.T(hit.Detail),
			ui.T(names[hit.Business]))
	}
	head := shell.Head{Title: fmt.Sprintf(text.Found, query)}
	if len(businesses) > 0 {
		head.Buttons = []ui.Button{textButton(query, businesses)}
		if v.MayAct() {
			head.Buttons = append(head.Buttons, customerButton(businesses))
		}
	}
	return v.Show(c, head, ui.ListOf(list))
}

// businessesOffered bounds the businesses in which can be searched from here.
const businessesOffered = 500

func businessOptions(businesses []core.Business) (options []ui.Option) {
	for _, b := range businesses[:min(len(businesses), businessesOffered)] {
		options = append(options, ui.Option{Value: fmt.Sprint(b.ID), Label: b.Name})
	}
	return options
}

// textLists are the lists whose contents can be searched for a text.
var textLists = []ui.Option{{Value: "deliveries", Label: text.Deliveries}, {Value: "calls", Label: text.PlatformCalls},
	{Value: "jobs", Label: text.Jobs}, {Value: "orders", Label: text.Orders}}

// textButton returns the button that searches the contents of a business, such as the errors of servers.
func textButton(query string, businesses []core.Business) ui.Button {
	return ui.Button{Label: text.TextSearch, Action: shell.SearchPath + "texts/", Help: text.TextSearchSay,
		Fields: []ui.Filter{{Name: "q", Label: text.TextQuery, Value: query},
			{Name: "in", Label: text.TextSearchIn, Options: textLists},
			{Name: "business", Label: text.Business, Options: businessOptions(businesses)}}}
}

// SearchText opens a list of a business with the rows whose contents have a text.
func (p Pages) SearchText(c *fiber.Ctx, v *shell.PageContext) error {
	id, err := strconv.ParseInt(shell.Field(c, "business"), 10, 64)
	list := shell.Field(c, "in")
	known := slices.ContainsFunc(textLists, func(o ui.Option) bool { return o.Value == list })
	if err != nil || !known || !v.User.CanAccess(core.BusinessID(id)) {
		return core.Errorf(core.NotFound, text.NotFound)
	}
	query := url.Values{"text": {strings.TrimSpace(shell.Field(c, "q"))}}
	return c.Redirect(shell.BusinessLink(core.BusinessID(id), list+"/?"+query.Encode()), http.StatusSeeOther)
}

// customerButton returns the button that searches for a customer of a business. Its text is not that of the
// search, which is part of the URL.
func customerButton(businesses []core.Business) ui.Button {
	return ui.Button{Label: text.CustomerSearch, Action: shell.SearchPath + "customers/", ReasonLabel: text.Why,
		Help: text.CustomerSearchSay,
		Fields: []ui.Filter{{Name: "q", Label: text.CustomerQuery, Hint: text.CustomerQueryHint},
			{Name: "business", Label: text.CustomerIn, Options: businessOptions(businesses)}}}
}

// SearchCustomer opens the page of a customer of a business.
func (p Pages) SearchCustomer(c *fiber.Ctx, v *shell.PageContext) error {
	id, err := strconv.ParseInt(shell.Field(c, "business"), 10, 64)
	business := core.BusinessID(id)
	if err != nil || !v.User.CanAccess(business) {
		return core.Errorf(core.NotFound, text.NotFound)
	}
	change := v.Change(c, "customer.search")
	change.Business = business
	found, err := p.Customers.SearchCustomer(c.UserContext(), business, shell.Field(c, "q"), change)
	if err != nil {
		return err
	}
	return c.Redirect(customers.Link(business, found), http.StatusSeeOther)
}

var kinds = map[string]string{"business": text.Business, "job": text.Job, "delivery": text.Delivery,
	"webhook": text.Webhook,
	"order":   text.Order, "store": text.Store, "item": text.Item, "key": text.Key, "reference": text.EventsFound,
	"refused": text.RejectedOrder, "refused at": text.RejectedOrders}

// hitLink returns the URL of the page of a result.
func hitLink(hit console.Hit) string {
	switch hit.Kind {
	case "business":
		return shell.BusinessLink(hit.Business, "")
	case "key":
		return shell.BusinessLink(hit.Business, "keys/")
	case "reference":
		return shell.BusinessLink(hit.Business, "deliveries/?reference="+hit.ID)
	case "refused":
		return shell.BusinessLink(hit.Business, orders.RejectedPath+"?id="+url.QueryEscape(hit.ID))
	case "refused at":
		return shell.BusinessLink(hit.Business, orders.RejectedPath+"?store="+url.QueryEscape(hit.ID))
	case "delivery":
		return shell.BusinessLink(hit.Business, "deliveries/"+hit.ID+"/")
	default:
		return shell.BusinessLink(hit.Business, hit.Kind+"s/"+hit.ID+"/")
	}
}
