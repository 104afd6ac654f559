package figures

import (
	"fmt"
	"html"
	"strings"
)

// growthCurves are the figures of the chart, by the prefix of their names.
var growthCurves = []struct{ prefix, title, x string }{
	{"menu/growth ", "A menu: cost of one object", "objects in the request"},
	{"stores/growth ", "Stores: cost of one store", "stores in the request"},
	{"deliveries/endpoints ", "Deliveries a second", "endpoints"},
	{"deliveries/history drain", "Deliveries a second", "deliveries in the history"},
}

const chartStyle = `<style>
text { font: 12px system-ui, sans-serif; fill: #333; text-anchor: middle }
.line { fill: none; stroke: #0a6cbd; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .line { stroke: #6cb8f6 } }
</style>
`

// drawChart draws how figures grow as one SVG, two curves in a row. Sizes are spaced evenly, and each point has its
// value. A single figure with a floor is a curve from 0. It returns "" unless there are curves.
func drawChart(figures []Figure) string {
	const width, height, left, right, bottom, rise = 440, 240, 50, 390, 170, 100
	var svg strings.Builder
	n := 0
	for _, g := range growthCurves {
		var points []Figure
		top := 0.0
		for _, f := range figures {
			if !strings.HasPrefix(f.Name, g.prefix) || f.Error != "" {
				continue
			}
			if f.Name == g.prefix && f.Floor != nil {
				points = append(points, Figure{Unit: f.Unit, Measured: *f.Floor})
			}
			points = append(points, f)
		}
		if len(points) < 2 {
			continue
		}
		for _, p := range points {
			top = max(top, p.Measured)
		}
		text := func(x, y float64, content string) {
			fmt.Fprintf(&svg, `<text x="%.0f" y="%.0f">%s</text>`+"\n", x, y, html.EscapeString(content))
		}
		fmt.Fprintf(&svg, `<g transform="translate(%d %d)">`+"\n", n%2*width, n/2*height)
		text(width/2, 20, g.title)
		text(width/2, height-15, g.x)
		line := ""
		for i, p := range points {
			x, y := left+float64(i*(right-left)/(len(points)-1)), bottom-rise*p.Measured/top
			line += fmt.Sprintf(" %.1f,%.1f", x, y)
			text(x, y-10, amount(p.Measured, p.Unit))
			text(x, bottom+25, thousands(int64(p.At)))
		}
		fmt.Fprintf(&svg, `<polyline class="line" points="%s"/></g>`+"\n", line[1:])
		n++
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Growth">`+
		"\n%s%s</svg>\n", 2*width, (n+1)/2*height, chartStyle, svg.String())
}
