package stores

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/publish"
)

// Keys of the bodies of a menu in a comparison.
const sentBody, responseBody, currentBody = "sent", "response", "current"

// renderTimeout bounds the rendering of the current menu.
const renderTimeout = 5 * time.Second

// problemsShown limits the problems of a menu on its page.
const problemsShown = 50

// lastSent is a menu that was sent, with its store and platform.
type lastSent struct {
	publish.LastSent
	store    int64
	ref      string
	platform string
}

func (p Pages) lastSent(c *fiber.Ctx, v *shell.PageContext) (sent lastSent, err error) {
	sent.platform = v.Query.Get("platform")
	if sent.store, sent.ref, _, err = p.storeOf(c, v); err != nil {
		return sent, err
	}
	sent.LastSent, err = p.Publications.LastSent(c.UserContext(), v.Business.ID, sent.store, sent.platform)
	return sent, err
}

// path returns the URL of a page below the page of the menu.
func (s lastSent) path(v *shell.PageContext, below string) string {
	return v.Link(fmt.Sprintf("stores/%d/menu/%s?platform=%s", s.store, below, url.QueryEscape(s.platform)))
}

// Menu shows the menu that was last sent to a platform, with its response.
func (p Pages) Menu(c *fiber.Ctx, v *shell.PageContext) error {
	s, err := p.lastSent(c, v)
	if core.CodeOf(err) == core.NotFound && s.ref != "" {
		return v.Show(c, menuHead(v, s, ui.Cause{State: ui.Neutral, Text: text.NoMenuSent}), templ.NopComponent)
	}
	if err != nil {
		return err
	}
	published, err := p.Publications.List(c.UserContext(), v.Business.ID,
		publish.Filter{StoreRef: s.ref, Platform: s.platform, Limit: 1})
	if err != nil {
		return err
	}
	status := ui.T(text.NoResponse)
	if s.Status != 0 {
		status = ui.T(fmt.Sprintf("%d %s", s.Status, http.StatusText(s.Status)))
	}
	facts := []ui.Fact{{Label: text.MenuSentAt, Cell: ui.TimeCell(v.At(s.At))},
		{Label: text.LastStatus, Cell: status}, {Label: text.MenuSize, Cell: ui.T(ui.Size(s.Size))},
		{Label: text.MenuVersion, Cell: ui.T(ui.Number(s.Version))},
		{Label: text.MenuCall, Cell: ui.CodeCell(s.CallID.String())}}
	body := ui.PayloadOf("menu", text.MenuSent, s.Body, ui.MaxShown, s.path(v, "body/"+sentBody))
	response := ui.PayloadOf("response", text.MenuResponse, s.Response, ui.MaxShown, s.path(v, "body/"+responseBody))
	head := menuHead(v, s, menuCause(s, v.Zone))
	if s.Body == nil {
		head.Causes = append(head.Causes, ui.Cause{State: ui.Neutral, Text: text.MenuTooLarge})
	} else {
		head.Links = []ui.Link{{Href: s.path(v, "diff/"), Label: text.MenuCompare}}
	}
	return v.Show(c, head, templ.Join(ui.FactsOf(facts),
		ui.Part(text.MenuProblems, ui.Link{}, ui.ListOf(problemList(published))),
		ui.Part("", ui.Link{}, ui.PayloadBox(response)), ui.Part("", ui.Link{}, ui.PayloadBox(body))))
}

func menuHead(v *shell.PageContext, s lastSent, outcome ui.Cause) shell.Head {
	return shell.Head{Title: fmt.Sprintf(text.MenuSentTitle, s.platform), Live: true,
		Parent: ui.Link{Href: v.Link(fmt.Sprintf("stores/%d/", s.store)), Label: s.ref}, Causes: []ui.Cause{outcome}}
}

// menuCause explains the outcome of a menu that was sent.
func menuCause(s lastSent, zone *time.Location) ui.Cause {
	outcome := map[publish.State]struct {
		state ui.State
		words string
	}{publish.Published: {ui.OK, text.MenuAccepted}, publish.Failed: {ui.Err, text.MenuNotAccepted},
		publish.Waiting: {ui.Warn, text.MenuSentAgain}, publish.Pending: {ui.Run, text.MenuUndecided}}[s.State]
	return ui.Cause{State: outcome.state, Text: fmt.Sprintf(outcome.words, s.platform, cause.Moment(s.At, zone)),
		Detail: s.Message}
}

// problemList lists what the platform rejected and what the hub left out.
func problemList(published []publish.Publication) ui.List {
	list := ui.List{Name: text.MenuProblems, EmptyTitle: text.NoMenuProblems,
		Columns: []ui.Column{{Label: text.MenuObject}, {Label: text.Ref}, {Label: text.WhyNot, Kind: ui.Wide}}}
	for _, p := range published {
		for _, e := range p.Errors[:min(len(p.Errors), problemsShown)] {
			list.Add(ui.T(e.Entity), ui.CodeCell(e.RefID), ui.T(e.Message))
		}
		if all := len(p.Errors); all > problemsShown {
			list.More = fmt.Sprintf(text.MoreMenuProblems, problemsShown, ui.Number(all))
		}
	}
	return list
}

// menuBodies returns the menu that was sent, its response, and the current menu in the same format.
func (p Pages) menuBodies(c *fiber.Ctx, v *shell.PageContext) (ui.Link, compare.Choice, error) {
	s, err := p.lastSent(c, v)
	if err != nil {
		return ui.Link{}, compare.Choice{}, err
	}
	choice := compare.Choice{Before: sentBody, After: currentBody,
		Kept: []ui.Filter{{Name: "platform", Value: s.platform, Hidden: true}},
		Bodies: []compare.Body{
			{Key: sentBody, Label: fmt.Sprintf(text.MenuSentOn, cause.Moment(s.At, v.Zone)),
				Read: func(context.Context) ([]byte, error) { return s.Body, nil }},
			{Key: currentBody, Label: text.MenuNow, Read: func(ctx context.Context) ([]byte, error) {
				return p.currentMenu(ctx, v.Business.ID, s)
			}},
			compare.Static(responseBody, text.MenuResponse, s.Response)}}
	if s.Body == nil {
		choice.Before, choice.Missing, choice.Bodies = "", text.MenuTooLarge, choice.Bodies[1:]
	}
	return ui.Link{Href: s.path(v, ""), Label: fmt.Sprintf(text.MenuSentTitle, s.platform)}, choice, nil
}

// currentMenu returns the current menu as it would be sent. It has the idempotency key of the last one, so that this
// is no difference. If it cannot be rendered, the error is Conflict.
func (p Pages) currentMenu(ctx context.Context, business core.BusinessID, s lastSent) ([]byte, error) {
	platforms, err := p.Lister.Platforms(ctx, business)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	for _, platform := range platforms {
		if platform.Name != s.platform || p.Renderer == nil {
			continue
		}
		r, err := p.Renderer.Render(ctx, publish.Work{Business: business, StoreID: s.store, StoreRef: s.ref,
			Platform: s.platform, Plugin: platform.ServedBy, CallID: s.CallID})
		switch {
		case err != nil:
			return nil, core.Errorf(core.Conflict, text.MenuNotRendered, core.PublicMessage(err))
		case r.Skip != "" || r.Unlisted != "":
			return nil, core.Errorf(core.Conflict, text.MenuNotRendered, r.Skip+r.Unlisted)
		}
		return r.Document, nil
	}
	return nil, core.Errorf(core.Conflict, text.MenuNotRendered, text.MenuNoPlugin)
}
