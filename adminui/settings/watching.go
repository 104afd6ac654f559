package settings

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// watchFacts tell how the business is watched over.
func watchFacts(w console.Watching) []ui.Fact {
	closes := text.No
	if w.CloseSilent {
		closes = text.Yes
	}
	words := map[string]string{console.AsHub: text.AsTheHub, "0": text.ForEver}
	span := func(s string) ui.Cell {
		if said := words[s]; said != "" {
			s = said
		}
		return ui.T(s)
	}
	return []ui.Fact{{Label: text.AckWithin, Cell: span(console.SpanText(w.AckWithin))},
		{Label: text.SilentAfter, Cell: span(console.SpanText(w.SilentAfter))},
		{Label: text.CloseSilent, Cell: ui.T(closes)}}
}

// watchButton changes how the business is watched over.
func watchButton(v *shell.PageContext, w console.Watching) ui.Button {
	return ui.Button{Label: text.Watching, Action: v.Link("settings/watching/"), Ask: text.Why, Say: text.WatchSay,
		Hidden: []ui.Option{{Label: "seen", Value: seen(w)}}, Fields: []ui.Filter{
			{Name: "ack", Label: text.AckWithin, Value: console.SpanText(w.AckWithin)},
			{Name: "silent", Label: text.SilentAfter, Value: console.SpanText(w.SilentAfter)},
			{Name: "close", Label: text.CloseSilent, Value: fmt.Sprint(w.CloseSilent),
				Options: []ui.Option{{Value: "false", Label: text.No}, {Value: "true", Label: text.Yes}}}}}
}

// seen differs once something of it was changed.
func seen(w console.Watching) string { return fmt.Sprint(w.Told()) }

// Watch stores how the business is watched over.
func (p Pages) Watch(c *fiber.Ctx, v *shell.PageContext) error {
	field := func(name string) string { return strings.TrimSpace(shell.Field(c, name)) }
	err := p.Monitoring.SetWatching(c.UserContext(), v.Business.ID, func(w *console.Watching) error {
		if field("seen") != seen(*w) {
			return core.Errorf(core.Conflict, text.WatchConflict)
		}
		if err := w.SetAckWithin(field("ack")); err != nil {
			return err
		}
		w.CloseSilent = field("close") == "true"
		return w.SetSilentAfter(field("silent"))
	}, v.Change(c, "business.watch"))
	if err != nil {
		return v.Again(c, err, v.Link("settings/"), p.List)
	}
	return shell.Then(c, v.Link("settings/"), "stored")
}
