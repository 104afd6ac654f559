package stores

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/toggle"
)

// Workloads sets how busy stores are.
type Workloads interface {
	SetWorkload(ctx context.Context, business core.BusinessID, r toggle.StoreRequest, reference core.ID,
		actor string) (toggle.Accepted, error)
}

// busySpans are how long a store is busy; "" is until a user or the POS ends it.
var busySpans = []ui.Option{{Value: "30m", Label: text.Busy30Minutes}, {Value: "1h", Label: text.Busy1Hour},
	{Value: "2h", Label: text.Busy2Hours}, {Value: "4h", Label: text.Busy4Hours}, {Value: "", Label: text.BusyOpenEnd}}

// workloadButtons returns the buttons that set a store to busy, and that end this.
func workloadButtons(v *shell.PageContext, id int64, s store.Stored, platforms []core.Platform) []ui.Button {
	if !v.MayAct() {
		return nil
	}
	listing := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}
	listed := []ui.Option{{Value: "", Label: text.BusyEverywhere}}
	for _, platform := range platforms {
		if listing.ListedOn(platform.Name) {
			listed = append(listed, ui.Option{Value: platform.Name, Label: platform.Name})
		}
	}
	on := ui.Filter{Name: "platform", Label: text.Platform, Options: listed}
	link := func(action toggle.Action) string { return v.Link(fmt.Sprintf("stores/%d/%s/", id, action)) }
	var buttons []ui.Button
	if len(listed) > 1 {
		buttons = append(buttons, ui.Button{Label: text.SetBusy, Action: link(toggle.Busy), Help: text.SetBusySay,
			ReasonLabel: text.Why, Fields: []ui.Filter{on,
				{Name: "minutes", Label: text.BusyMinutes, Hint: "40"},
				{Name: "lasts", Label: text.BusyLasts, Options: busySpans}}})
	}
	if len(s.BusyOn) > 0 {
		buttons = append(buttons, ui.Button{Label: text.EndBusy, Action: link(toggle.Normal), ReasonLabel: text.Why,
			Fields: []ui.Filter{on}})
	}
	return buttons
}

// setWorkload returns the handler that sets a store to busy, or ends this.
func (p Pages) setWorkload(action toggle.Action) shell.Handler {
	return func(c *fiber.Ctx, v *shell.PageContext) error {
		id, ref, _, err := p.storeOf(c, v)
		if err != nil {
			return err
		}
		here := v.Link(fmt.Sprintf("stores/%d/", id))
		request, err := workloadOf(func(name string) string { return shell.Field(c, name) }, ref, action, v.Now)
		if err == nil {
			_, err = p.Workloads.SetWorkload(c.UserContext(), v.Business.ID, request, core.NewID(v.Now),
				v.User.Actor())
		}
		if err != nil {
			return v.Redisplay(c, err, here, p.One)
		}
		return shell.RedirectDone(c, here, string(action))
	}
}

// workloadOf reads the form, with the rules of the API.
func workloadOf(field func(string) string, ref string, action toggle.Action,
	now time.Time) (r toggle.StoreRequest, err error) {
	sent := map[string]any{"location_ref_id": ref, "action": action}
	if platform := field("platform"); platform != "" {
		sent["platforms"] = []string{platform}
	}
	if minutes := field("minutes"); minutes != "" {
		if sent["prep_minutes"], err = strconv.ParseInt(minutes, 10, 64); err != nil {
			return r, core.Errorf(core.Invalid, text.BusyMinutesWrong, minutes)
		}
	}
	if lasts := field("lasts"); lasts != "" {
		span, err := time.ParseDuration(lasts)
		if err != nil { // never silently without an end
			return r, core.Errorf(core.Invalid, text.BusyLastsWrong, lasts)
		}
		sent["until"] = now.Add(span).UnixMilli()
	}
	body, err := json.Marshal(sent)
	if err != nil {
		return r, err
	}
	r, err = toggle.DecodeStore(body, now)
	r.Why = field("why")
	return r, err
}
