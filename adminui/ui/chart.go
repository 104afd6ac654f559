package ui

import (
	"fmt"
	"time"
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
}

// Bar is a bar of a chart.
type Bar struct {
	At           time.Time
	Lower, Upper float64
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
type barShape struct{ x, lowerY, lowerH, upperY, upperH string }

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
		list[i] = barShape{number(float64(i)*barWidth + 1), number(chartHeight - lower), number(lower),
			number(chartHeight - lower - upper), number(upper)}
	}
	return list
}

func (c Chart) viewBox() string {
	return fmt.Sprintf("0 0 %.0f %.0f", barWidth*float64(len(c.Bars)), chartHeight)
}

func (c Chart) label(at int) string {
	if len(c.Bars) == 0 {
		return ""
	}
	return c.Bars[at].At.In(c.Zone).Format("15:04")
}

func (c Chart) zone() string {
	name, _ := time.Now().In(c.Zone).Zone()
	return name
}
