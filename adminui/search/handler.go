// Package search finds objects by id, name, ref_id or URL.
package search

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/orders"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Searcher finds objects of businesses by a text.
type Searcher interface {
	Search(ctx context.Context, businesses []core.BusinessID, text string) ([]console.Hit, error)
}

// Pages is the search page.
type Pages struct{ Searcher Searcher }

// Page returns the descriptor of the page.
func (p Pages) Page() shell.Page {
	const path = shell.SearchPath
	return shell.Page{Path: path,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.Search),
		}}
}

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
		list.Rows = append(list.Rows,
			ui.Row{Cells: []ui.Cell{ui.T(kinds[hit.Kind]), ui.LinkCell(title, hitLink(hit)), ui.T(hit.Detail),
				ui.T(names[hit.Business])}})
	}
	return v.Show(c, shell.Head{Title: fmt.Sprintf(text.Found, query)}, ui.ListOf(list))
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
