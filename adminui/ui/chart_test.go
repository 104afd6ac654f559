package ui_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
)

func TestBarsDifferWhenTheClockGoesBack(t *testing.T) {
	chicago, err := time.LoadLocation("America/Chicago")
	require.NoError(t, err)
	chart := ui.Chart{Zone: chicago, Span: time.Hour, Format: func(f float64) string { return fmt.Sprint(f) },
		Bars: []ui.Bar{{At: time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)},
			{At: time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC)}}}
	_, shown := served(t, ui.ChartOf(chart))
	require.Contains(t, shown, `data-from="2026-11-01T01:00-05:00" data-to="2026-11-01T01:00-06:00"`)
	require.Contains(t, shown, `data-from="2026-11-01T01:00-06:00" data-to="2026-11-01T02:00-06:00"`)
}
