package ui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
)

// Map is a small map of a path, with north up. It has no background.
type Map struct {
	Points []MapPoint // oldest first
	Zone   *time.Location
}

// MapPoint is a point of a path.
type MapPoint struct {
	Latitude, Longitude float64 // degrees
	At                  time.Time
}

// Size of a map and its margin, in SVG units, and the least metres that it shows.
const (
	mapWidth, mapHeight, mapMargin = 320.0, 200.0, 28.0
	minMapMetres                   = 60.0
	metresPerDegree                = 111_195.0
)

// mapDot is a point in SVG coordinates.
type mapDot struct{ x, y, title string }

// mapShape is what a map draws.
type mapShape struct {
	dots          []mapDot
	line          string  // of all points
	scale         float64 // units of a metre
	scaleMetres   float64
	scaleEnd      string
	start, finish mapDot
}

// metres returns the points in metres east and south of the first. The way across the 180th meridian is the short one.
func (m Map) metres() [][2]float64 {
	first := m.Points[0]
	list := make([][2]float64, len(m.Points))
	for i, p := range m.Points {
		east := math.Remainder(p.Longitude-first.Longitude, 360)
		list[i] = [2]float64{east * metresPerDegree * math.Cos(first.Latitude*math.Pi/180),
			(first.Latitude - p.Latitude) * metresPerDegree}
	}
	return list
}

func (m Map) shape() mapShape {
	points := m.metres()
	low, high := points[0], points[0]
	for _, p := range points {
		for axis := range p {
			low[axis], high[axis] = min(low[axis], p[axis]), max(high[axis], p[axis])
		}
	}
	width, height := max(high[0]-low[0], minMapMetres), max(high[1]-low[1], minMapMetres)
	s := mapShape{scale: min((mapWidth-2*mapMargin)/width, (mapHeight-2*mapMargin)/height)}
	var line strings.Builder
	for i, p := range points {
		dot := mapDot{x: unit(mapWidth/2 + (p[0]-(low[0]+high[0])/2)*s.scale),
			y: unit(mapHeight/2 + (p[1]-(low[1]+high[1])/2)*s.scale), title: m.clock(m.Points[i].At)}
		s.dots = append(s.dots, dot)
		fmt.Fprintf(&line, "%s,%s ", dot.x, dot.y)
	}
	s.line, s.start, s.finish = strings.TrimSpace(line.String()), s.dots[0], s.dots[len(s.dots)-1]
	s.scaleMetres = niceLength(80 / s.scale)
	s.scaleEnd = unit(12 + s.scaleMetres*s.scale)
	return s
}

func unit(f float64) string { return fmt.Sprintf("%.1f", f) }

// niceLength returns the greatest 1, 2 or 5 times a power of ten that is at most the length.
func niceLength(length float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(length)))
	for _, factor := range []float64{5, 2} {
		if factor*power <= length {
			return factor * power
		}
	}
	return power
}

// distance returns metres for people.
func distance(metres float64) string {
	if metres >= 1000 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", metres/1000), ".0") + " km"
	}
	return fmt.Sprintf("%.0f m", metres)
}

func (m Map) clock(at time.Time) string { return at.In(m.Zone).Format(time.TimeOnly) }

// summary describes the path for those who do not see it.
func (m Map) summary() string {
	points, first, last := m.metres(), m.Points[0], m.Points[len(m.Points)-1]
	if len(points) == 1 {
		return fmt.Sprintf(text.MapOne, m.clock(last.At))
	}
	way := 0.0
	for i := 1; i < len(points); i++ {
		way += math.Hypot(points[i][0]-points[i-1][0], points[i][1]-points[i-1][1])
	}
	end := points[len(points)-1]
	words := fmt.Sprintf(text.MapPath, len(points), m.clock(first.At), m.clock(last.At), distance(way))
	if away := math.Hypot(end[0], end[1]); away >= 1 {
		words += " " + fmt.Sprintf(text.MapAway, distance(away), heading(end[0], end[1]))
	}
	return words
}

// heading returns the direction of metres east and south.
func heading(east, south float64) string {
	eighth := int(math.Round(math.Atan2(east, -south)/(math.Pi/4))+8) % 8
	return []string{text.North, text.NorthEast, text.East, text.SouthEast, text.South, text.SouthWest, text.West,
		text.NorthWest}[eighth]
}
