package ui

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/adminui/text"
)

// Chart is a bar chart over time. Each bar has two parts.
type Chart struct {
	Title      string
	Summary    string // for screen readers, and shown below
	Lower      string // label of the lower part
	Upper      string
	Bars       []Bar
	UpperState State // colour of the upper part
	Format     func(float64) string
	Zone       *time.Location
	Span       time.Duration // of a bar
	List       string        // URL of the list of a time range, with a query; "": none
}

// Bar is a bar of a chart.
type Bar struct {
	At           time.Time
	Lower, Upper float64
	Text         string // its values, for people
}

const chartHeight, barWidth = 100.0, 10.0

func (c Chart) top() float64 {
	top := 0.0
	for _, b := range c.Bars {
		top = max(top, b.Lower+b.Upper)
	}
	return top
}

// barShape is a bar in SVG coordinates.
type barShape struct{ x, slotX, lowerY, lowerH, upperY, upperH, from, to, text string }

func (c Chart) shapes() []barShape {
	scale := 0.0
	if top := c.top(); top > 0 {
		scale = (chartHeight - 2) / top
	}
	list := make([]barShape, len(c.Bars))
	number := func(f float64) string { return fmt.Sprintf("%.2f", f) }
	for i, b := range c.Bars {
		lower, upper := b.Lower*scale, b.Upper*scale
		if b.Lower > 0 {
			lower = max(lower, 1.5)
		}
		if b.Upper > 0 {
			upper = max(upper, 1.5) // even a small upper part is visible
		}
		start, end := b.At.In(c.Zone), b.At.Add(c.Span).In(c.Zone)
		layout := barTime
		if start.Format("MST") != end.Format("MST") { // the clock changes
			layout = lastBarTime
		}
		list[i] = barShape{number(float64(i)*barWidth + 1), number(float64(i) * barWidth), number(chartHeight - lower),
			number(lower),
			number(chartHeight - lower - upper), number(upper), start.Format(ExactLayout), end.Format(ExactLayout),
			fmt.Sprintf("%s–%s · %s", start.Format(layout), end.Format(lastBarTime), b.Text)}
	}
	return list
}

// hint says how to select a time range, if there is a list of it.
func (c Chart) hint() string {
	if c.List == "" {
		return ""
	}
	return text.ChartHint
}

func (c Chart) viewBox() string {
	return fmt.Sprintf("0 0 %.0f %.0f", barWidth*float64(len(c.Bars)), chartHeight)
}

// The layouts of the times of bars. The last time of a text has the zone.
const barTime, lastBarTime = "15:04", "15:04 MST"

func (c Chart) label(at int, layout string) string {
	if len(c.Bars) == 0 {
		return ""
	}
	return c.Bars[at].At.In(c.Zone).Format(layout)
}
