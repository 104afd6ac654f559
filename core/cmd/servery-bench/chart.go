package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"strings"
)

// curve is how a figure grows with a number.
type curve struct {
	title, x, unit string
	points         [][2]float64
}

// growth names the figures of each curve by how their names begin.
var growth = []struct{ prefix, title, x string }{
	{"menu/growth ", "A menu: cost of one object", "objects in the request"},
	{"stores/growth ", "Stores: cost of one store", "stores in the request"},
	{"deliveries/endpoints ", "Deliveries a second", "endpoints"},
	{"deliveries/history drain", "Deliveries a second", "deliveries in the history"},
}

// curvesOf finds the curves in the figures of a run. A figure whose floor is the
// same thing at nothing is a curve of two points.
func curvesOf(figures []figure) (curves []curve) {
	for _, g := range growth {
		c := curve{title: g.title, x: g.x}
		for _, f := range figures {
			if !strings.HasPrefix(f.Name, g.prefix) || f.Error != "" {
				continue
			}
			if !strings.HasSuffix(g.prefix, " ") && f.Floor != nil {
				c.points = append(c.points, [2]float64{0, *f.Floor})
			}
			c.unit = f.Unit
			c.points = append(c.points, [2]float64{f.At, f.Measured})
		}
		if len(c.points) > 1 {
			curves = append(curves, c)
		}
	}
	return curves
}

// Measures of a chart, in pixels.
const (
	chartWidth, chartHeight                 = 440, 260
	plotLeft, plotTop, plotRight, plotLower = 70, 40, 420, 210
)

const chartStyle = `<style>
	text { font: 12px system-ui, sans-serif; fill: #333 } .title { font-weight: 600 } .end { text-anchor: end } .middle { text-anchor: middle }
	.axis { stroke: #999 } .grid { stroke: #ddd } .line { fill: none; stroke: #0a6cbd; stroke-width: 2 } .dot { fill: #0a6cbd }
	@media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #444 } .line { stroke: #6cb8f6 } .dot { fill: #6cb8f6 } }
</style>
`

// drawChart draws curves as one SVG, two beside each other.
func drawChart(curves []curve) string {
	rows := (len(curves) + 1) / 2
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="How cost grows">`+"\n"+chartStyle, 2*chartWidth, max(rows, 1)*chartHeight)
	for i, c := range curves {
		fmt.Fprintf(&svg, `<g transform="translate(%d %d)">`+"\n", i%2*chartWidth, i/2*chartHeight)
		c.draw(&svg)
		svg.WriteString("</g>\n")
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

func (c curve) draw(svg *strings.Builder) {
	low, high, top := c.points[0][0], c.points[0][0], 0.0
	for _, p := range c.points {
		low, high, top = min(low, p[0]), max(high, p[0]), max(top, p[1])
	}
	across := func(x float64) float64 { return (x - low) / (high - low) }
	if low > 0 && high/low > 20 { // what spans so much is told by powers
		across = func(x float64) float64 { return math.Log(x/low) / math.Log(high/low) }
	}
	at := func(p [2]float64) (x, y float64) {
		return plotLeft + across(p[0])*(plotRight-plotLeft), plotLower - p[1]/(1.15*top)*(plotLower-plotTop)
	}
	fmt.Fprintf(svg, `<text class="title" x="%d" y="20">%s</text>`+"\n", plotLeft, html.EscapeString(c.title))
	for _, part := range []float64{0, 0.5, 1} {
		_, y := at([2]float64{low, part * top})
		fmt.Fprintf(svg, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="end" x="%d" y="%.1f">%s</text>`+"\n",
			plotLeft, plotRight, y, y, plotLeft-6, y+4, html.EscapeString(amount(part*top, c.unit)))
	}
	var line strings.Builder
	for _, p := range c.points {
		x, y := at(p)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
		fmt.Fprintf(svg, `<circle class="dot" cx="%.1f" cy="%.1f" r="3"/><text class="middle" x="%.1f" y="%d">%s</text>`+"\n", x, y, x, plotLower+18, thousands(int64(p[0])))
	}
	fmt.Fprintf(svg, `<polyline class="line" points="%s"/><line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n",
		strings.TrimSpace(line.String()), plotLeft, plotRight, plotLower, plotLower)
	fmt.Fprintf(svg, `<text class="middle" x="%d" y="%d">%s</text>`+"\n", (plotLeft+plotRight)/2, plotLower+38, html.EscapeString(c.x))
}

// chartCommand draws the curves of a run that was written as JSON.
type chartCommand struct {
	JSON string `arg:"" name:"json" help:"Figures of a run."`
	SVG  string `arg:"" name:"svg" help:"Chart to write."`
}

// Run draws the chart.
func (c chartCommand) Run() error {
	run, err := readRun(c.JSON)
	if err != nil {
		return err
	}
	return os.WriteFile(c.SVG, []byte(drawChart(curvesOf(run.Figures))), 0o644)
}
