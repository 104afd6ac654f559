package overview

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// charts covers the last 24 hours, including hours without attempts.
func charts(v *shell.PageContext, counts []console.Count, total console.Count) []ui.Chart {
	attempts := ui.Chart{Title: text.AttemptsHour, Lower: text.Accepted, Upper: text.Failed, UpperState: ui.Err,
		Zone: v.Zone, Span: time.Hour,
		Summary: fmt.Sprintf(text.AttemptsSummary, ui.Number(total.Succeeded), ui.Number(total.Failed)),
		Format:  func(f float64) string { return ui.Number(int64(f)) }}
	times := ui.Chart{Title: text.TimesHour, Lower: text.AverageTime, Upper: text.SlowestTime, UpperState: ui.Held,
		Zone: v.Zone, Span: time.Hour,
		Summary: fmt.Sprintf(text.TimesSummary, ui.Took(total.Average()), ui.Took(total.Slowest)),
		Format:  func(f float64) string { return ui.Took(time.Duration(f)) }}
	if v.Business.ID != 0 {
		attempts.List = v.Link("deliveries/")
		times.List = attempts.List
	}
	byHour := map[time.Time]console.Count{}
	for _, count := range counts {
		byHour[count.At.UTC()] = count
	}
	for at := v.Now.Add(-23 * time.Hour).Truncate(time.Hour).UTC(); !at.After(v.Now); at = at.Add(time.Hour) {
		count := byHour[at]
		attemptsText, timesText := text.ChartNone, text.ChartNone
		if count.Attempts() > 0 {
			attemptsText = fmt.Sprintf(text.ChartCounts, ui.Number(count.Succeeded), ui.Number(count.Failed))
			timesText = fmt.Sprintf(text.ChartTimes, ui.Took(count.Average()), ui.Took(count.Slowest))
		}
		attempts.Bars = append(attempts.Bars, ui.Bar{At: at, Lower: float64(count.Succeeded),
			Upper: float64(count.Failed), Text: attemptsText})
		times.Bars = append(times.Bars, ui.Bar{At: at, Lower: float64(count.Average()),
			Upper: float64(count.Slowest - count.Average()), Text: timesText})
	}
	return []ui.Chart{attempts, times}
}
