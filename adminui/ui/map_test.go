package ui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func mapOf(coordinates ...float64) (m Map) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i := 0; i < len(coordinates); i += 2 {
		m.Points = append(m.Points, MapPoint{coordinates[i], coordinates[i+1],
			at.Add(time.Duration(i) * 15 * time.Second)})
	}
	m.Zone = time.UTC
	return m
}

func TestMapKeepsDirectionsAndDistances(t *testing.T) {
	m := mapOf(12.97, 77.59, 12.98, 77.59, 12.98, 77.60)
	assert.Equal(t, "3 locations from 12:00:00 to 12:01:00, 2.2 km in all. The last is 1.6 km northeast of the first.",
		m.summary())
	s := m.shape()
	assert.Equal(t, "89.8,172.0 89.8,28.0 230.2,28.0", s.line, "north is up, east is right")
	assert.Equal(t, "500 m", distance(s.scaleMetres))
	assert.Equal(t, "One location, received at 12:00:00.", mapOf(1, 2).summary())
	assert.Equal(t, []mapDot{{"160.0", "100.0", "12:00:00"}}, mapOf(1, 2).shape().dots)
	assert.Equal(t, "2 locations from 12:00:00 to 12:00:30, 0 m in all.", mapOf(1, 2, 1, 2).summary())
	assert.Contains(t, mapOf(0, 179.999, 0, -179.999).summary(), "222 m east", "not around the world")
	assert.Contains(t, mapOf(0, 0, -0.001, 0).summary(), "111 m south of")
}
