package deliveries

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/webhook"
)

// page is a page of the list.
type page struct {
	found    []webhook.DeliveryRecord
	searched shell.Searched // of a search
}

// read reads a page of the list.
func (p Pages) read(ctx context.Context, v *shell.PageContext, f filter) (page, error) {
	if f.text == "" {
		found, err := p.Deliveries.List(ctx, v.Business.ID, f.query(v.Query.Get("before"), v.Limit()))
		return page{found: found}, err
	}
	found, progress, err := p.Searcher.SearchDeliveries(ctx, v.Business.ID,
		f.query(v.Query.Get("before"), v.SearchLimit()), f.text)
	searched := f.Searched(progress.Last.ID, progress.Last.CreatedAt, progress.Last.FinishedAt)
	searched.Rows, searched.Done = progress.Searched, progress.Done
	return page{found, searched}, err
}

// List shows the deliveries of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f, filterErr := parseFilter(v.Query.Get, v.Now, v.Zone)
	if filterErr != nil && v.WantsCSV() {
		return filterErr
	}
	var read page
	if filterErr == nil {
		var err error
		if read, err = p.read(c.UserContext(), v, f); err != nil {
			return err
		}
	}
	list := Table(v, read.found, v.MayAct())
	addFilters(&list, v, f)
	head := shell.Head{Title: text.Deliveries, Note: text.DeliveriesNote, Live: f.text == ""}
	switch {
	case filterErr != nil:
		list.NoMatchTitle, list.NoMatchText = text.FilterWrong, v.ErrorMessage(c, filterErr)
		list.EmptyTitle, list.EmptyText = list.NoMatchTitle, list.NoMatchText
	case f.text != "":
		v.ShowProgress(&list, read.searched, f.times)
	default:
		if err := p.addBulkResend(c.UserContext(), v, f, &head, &list); err != nil {
			return err
		}
	}
	for i, d := range read.found {
		list.Rows[i].Cursor = f.Cursor(d.ID, d.FinishedAt)
	}
	return v.ShowList(c, head, list, "before")
}

// addBulkResend links the resend of all deliveries that match the filters, with their number.
func (p Pages) addBulkResend(ctx context.Context, v *shell.PageContext, f filter, head *shell.Head,
	list *ui.List) error {
	if !v.MayAct() || len(list.Rows) == 0 || f.state == webhook.Pending || f.state == webhook.Held || v.WantsCSV() {
		return nil
	}
	link := ui.Link{Href: linkWithFilters(v, f, "deliveries/resend/"), Label: text.BulkResend}
	head.Links = []ui.Link{link}
	counted := NewSnapshot(v)
	selector, err := f.selector(counted.At)
	if err != nil {
		return err
	}
	counted.Count, counted.More, err = p.Deliveries.CountUpTo(ctx, v.Business.ID, selector)
	if err != nil || counted.Count == 0 {
		return err
	}
	label := text.ChooseAllFailed
	if selector.State == webhook.Delivered {
		label = text.ChooseAllDelivered
	}
	link.Label = fmt.Sprintf(label, counted.Number())
	list.ChooseAll = link
	return nil
}

// Table lists deliveries. With choose, rows that can be sent now can be selected and resent.
func Table(v *shell.PageContext, found []webhook.DeliveryRecord, choose bool) ui.List {
	list := ui.List{Name: text.Deliveries, EmptyTitle: text.NoDeliveryTitle, EmptyText: text.NoDeliveryText,
		Columns: []ui.Column{
			{Label: text.Event}, {Label: text.Subject, Key: "subject"}, {Label: text.State, Key: "state"},
			{Label: text.LastResponse, Kind: ui.Wide, Key: "response"},
			{Label: text.Attempts, Kind: ui.Figure, Key: "attempts"}, {Label: text.DeliveryCreated, Key: "created"},
			{Label: text.NextAttempt, Key: "next"}, {Label: text.Webhook, Key: "webhook"},
			{Label: text.Finished, Key: "finished", Extra: true},
			{Label: text.LastStatus, Kind: ui.Figure, Key: "status", Extra: true},
			{Label: text.Address, Key: "url", Extra: true}, {Label: text.Reference_, Key: "reference", Extra: true},
			{Label: text.ProblemColumn, Kind: ui.Figure, Key: "problem", Extra: true},
			{Label: text.EventID, Key: "event", Extra: true}, {Label: text.DeliveryID, Key: "id", Extra: true}}}
	for _, d := range found {
		target := targetCell(v, d)
		if d.WebhookID == 0 {
			target.Note = d.URL
		}
		row := ui.Row{Cells: []ui.Cell{ui.LinkCell(string(d.EventType), v.Link("deliveries/"+d.ID.String()+"/")),
			subjectCell(v, d), stateCell(d), ui.T(lastResponse(d, v.Zone)),
			ui.T(fmt.Sprint(d.Attempts)), ui.TimeCell(v.At(d.CreatedAt)), ui.TimeCell(v.At(d.NextAttempt)), target,
			ui.TimeCell(v.At(d.FinishedAt)), ui.T(number(int64(d.LastStatus))), ui.CodeCell(d.URL),
			ui.CodeCell(d.Reference), problemCell(v, d.ProblemID), ui.CodeCell(d.EventID.String()),
			ui.CodeCell(d.ID.String())}}
		if choose && d.CanResend() {
			list.Choose = &ui.Button{Label: text.RetryChosen, Action: v.Link("deliveries/retry/"),
				ReasonLabel: text.Why}
			row.Key, row.Name = d.ID.String(),
				fmt.Sprintf(text.RowCreated, d.EventType, cmp.Or(row.Cells[1].Text, text.Webhook+" "+target.Text),
					v.At(d.CreatedAt).Exact())
		}
		list.Rows = append(list.Rows, row)
	}
	return list
}

// EventTable lists the deliveries of one event by URL.
func EventTable(v *shell.PageContext, found []webhook.DeliveryRecord) ui.List {
	list := ui.List{Name: text.Deliveries, Columns: []ui.Column{
		{Label: text.State}, {Label: text.Address, Kind: ui.Wide}, {Label: text.LastResponse, Kind: ui.Wide},
		{Label: text.Attempts, Kind: ui.Figure}, {Label: text.Webhook}}}
	for _, d := range found {
		list.Add(stateCell(d),
			ui.Cell{Text: d.URL, Href: v.Link("deliveries/" + d.ID.String() + "/"), Code: true},
			ui.T(lastResponse(d, v.Zone)), ui.T(fmt.Sprint(d.Attempts)), targetCell(v, d))
	}
	return list
}

// subjectCell links the order of a delivery, or the request that caused it.
func subjectCell(v *shell.PageContext, d webhook.DeliveryRecord) ui.Cell {
	switch {
	case d.OrderID != 0:
		return ui.LinkCell(fmt.Sprintf(text.OrderOf, d.OrderID), v.Link(fmt.Sprintf("orders/%d/", d.OrderID)))
	case d.Reference != "":
		return referenceCell(v, d)
	default:
		return ui.T("")
	}
}

// referenceCell links the job that a delivery reports, or the deliveries with the same reference. A test event has
// no job.
func referenceCell(v *shell.PageContext, d webhook.DeliveryRecord) ui.Cell {
	if d.Test {
		return ui.T(text.TestEvent)
	}
	href := v.Link("deliveries/?reference=" + url.QueryEscape(d.Reference))
	if slices.Contains(jobEvents, d.EventType) {
		href = v.Link("jobs/" + d.Reference + "/")
	}
	return ui.Cell{Text: d.Reference, Href: href, Code: true}
}

// targetCell links the webhook of a delivery, if it has one.
func targetCell(v *shell.PageContext, d webhook.DeliveryRecord) ui.Cell {
	if d.WebhookID == 0 {
		return ui.T(text.CallbackURLOf)
	}
	return ui.LinkCell(fmt.Sprint(d.WebhookID), v.Link(fmt.Sprintf("webhooks/%d/", d.WebhookID)))
}

// number returns a number, or "" for 0.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// problemCell links a problem, if there is one.
func problemCell(v *shell.PageContext, id int64) ui.Cell {
	return ui.Cell{Text: number(id), Href: v.Link(fmt.Sprintf("problems/%d/", id))}
}

// lastResponse returns the status or error of the last attempt.
func lastResponse(d webhook.DeliveryRecord, zone *time.Location) string {
	if d.LastError == "" && d.LastStatus != 0 {
		return fmt.Sprint(d.LastStatus)
	}
	return cause.FailureReason(d.LastClass, d.LastError, zone)
}
