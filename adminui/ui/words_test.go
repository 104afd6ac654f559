package ui_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
)

func TestInstantsAreShownRelativeToNow(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for distance, want := range map[time.Duration]string{
		0: "now", 400 * time.Millisecond: "now", -400 * time.Millisecond: "now", 59 * time.Second: "59 s ago",
		time.Minute:      "1 min ago",
		-4 * time.Minute: "in 4 min", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 d ago",
	} {
		assert.Equal(t, want, ui.Instant{At: now.Add(-distance), Now: now, Zone: time.UTC}.Ago())
	}
	chicago, err := time.LoadLocation("America/Chicago")
	require.NoError(t, err)
	assert.Equal(t, "21 Nov 2026 06:00:00 CST", ui.Instant{At: now, Now: now, Zone: chicago}.Exact())
}

func TestNumbersAndDurationsAreFormatted(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567",
		-1000: "-1\u202f000", -100: "-100"} {
		assert.Equal(t, want, ui.Number(n))
	}
	for d, want := range map[time.Duration]string{400 * time.Microsecond: "0.4 ms", 18 * time.Millisecond: "18 ms",
		1240 * time.Millisecond: "1.24 s", 3 * time.Minute: "3 min"} {
		assert.Equal(t, want, ui.Took(d))
	}
}

func TestPricesHaveTheirCurrency(t *testing.T) {
	for _, row := range [][3]string{{"9.5", "EUR", "9.50 EUR"}, {"9", "JPY", "9 JPY"}, {"9.125", "EUR", "9.125 EUR"},
		{"9.5", "", "9.5"}, {"", "EUR", ""}, {"none", "EUR", "none"}} {
		assert.Equal(t, row[2], ui.Price(row[0], row[1]))
	}
}

func TestLongBodiesAreTruncated(t *testing.T) {
	assert.Equal(t, "{\n  \"a\": 1\n}", ui.Pretty([]byte(`{"a":1}`), 100))
	assert.Equal(t, "{\n  \"a\": [\n    1,\"cut o", ui.Pretty([]byte(`{"a":[1,"cut o`), 100))
	assert.Equal(t, "[\n  1,\n…", ui.Pretty([]byte("["+strings.Repeat("1,", 9999)+"1]"), 7))
	assert.Equal(t, "no json <b>", ui.Pretty([]byte("no json <b>"), 100))
	clipped := ui.Pretty([]byte(strings.Repeat("é", 100)), 51)
	assert.True(t, utf8.ValidString(clipped))
	assert.Equal(t, strings.Repeat("é", 25)+"\n…", clipped)
	assert.Equal(t, "\uFFFD", ui.Pretty([]byte{0xff}, 9))
}

func TestListsAreWrittenAsCSV(t *testing.T) {
	app := fiber.New()
	list := ui.List{Name: "A list", Columns: []ui.Column{{Label: "a"}, {Label: "b"}}, Rows: []ui.Row{
		{Cells: []ui.Cell{ui.T("=1+1"), ui.T("@x")}}, {Cells: []ui.Cell{ui.T("+1"), ui.T("-1")}},
		{Cells: []ui.Cell{ui.T("a,\"b"), ui.TimeCell(ui.Instant{})}}}}
	app.Get("/", func(c *fiber.Ctx) error { return ui.WriteCSV(c, list) })
	response, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "a,b\n\"'=1+1\",\"'@x\"\n\"'+1\",-1\n\"a,\"\"b\",\n", string(body))
	assert.Equal(t, `attachment; filename="a-list.csv"`, response.Header.Get("Content-Disposition"))
}

func TestCountUsesTheSingularForOne(t *testing.T) {
	for n, words := range map[int]string{0: "0 items", 1: "1 item", 2: "2 items", 12000: "12\u202f000 items"} {
		assert.Equal(t, words, ui.Count(n, "1 item", "%s items"))
	}
}
