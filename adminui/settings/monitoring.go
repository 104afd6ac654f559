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

// monitoringFacts returns the monitoring rules of a business.
func monitoringFacts(w console.MonitoringRules) []ui.Fact {
	closeSilent := text.No
	if w.CloseSilent {
		closeSilent = text.Yes
	}
	labels := map[string]string{console.HubDefault: text.HubDefault, "0": text.ZeroNever}
	span := func(s string) ui.Cell {
		if label := labels[s]; label != "" {
			s = label
		}
		return ui.T(s)
	}
	return []ui.Fact{{Label: text.AckWithin, Cell: span(console.FormatSpan(w.AckWithin))},
		{Label: text.SilentAfter, Cell: span(console.FormatSpan(w.SilentAfter))},
		{Label: text.CloseSilent, Cell: ui.T(closeSilent)}}
}

// monitoringButton returns the button that changes the monitoring rules.
func monitoringButton(v *shell.PageContext, w console.MonitoringRules) ui.Button {
	return ui.Button{Label: text.Monitoring, Action: v.Link("settings/watching/"), ReasonLabel: text.Why,
		Help: text.MonitoringHelp, Hidden: []ui.Option{{Label: "seen", Value: monitoringVersion(w)}},
		Fields: []ui.Filter{
			{Name: "ack", Label: text.AckWithin, Value: console.FormatSpan(w.AckWithin)},
			{Name: "silent", Label: text.SilentAfter, Value: console.FormatSpan(w.SilentAfter)},
			{Name: "close", Label: text.CloseSilent, Value: fmt.Sprint(w.CloseSilent),
				Options: []ui.Option{{Value: "false", Label: text.No}, {Value: "true", Label: text.Yes}}}}}
}

// monitoringVersion returns a text that differs after a change of the rules.
func monitoringVersion(w console.MonitoringRules) string { return fmt.Sprint(w.Flags()) }

// SetMonitoring stores the monitoring rules of the business.
func (p Pages) SetMonitoring(c *fiber.Ctx, v *shell.PageContext) error {
	field := func(name string) string { return strings.TrimSpace(shell.Field(c, name)) }
	err := p.Monitoring.SetMonitoringRules(c.UserContext(), v.Business.ID, func(w *console.MonitoringRules) error {
		if field("seen") != monitoringVersion(*w) {
			return core.Errorf(core.Conflict, text.MonitoringConflict)
		}
		if err := w.SetAckWithin(text.AckWithin, field("ack")); err != nil {
			return err
		}
		w.CloseSilent = field("close") == "true"
		return w.SetSilentAfter(text.SilentAfter, field("silent"))
	}, v.Change(c, "business.watch"))
	if err != nil {
		return v.Redisplay(c, err, v.Link("settings/"), p.List)
	}
	return shell.RedirectDone(c, v.Link("settings/"), "stored")
}
