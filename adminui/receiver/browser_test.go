package receiver_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// fill sends one delivery for each state of the page.
func (b *fixture) fill() {
	b.t.Helper()
	id := core.NewID(noon)
	stores := strings.ReplaceAll(outcome, `"stores":[]`,
		`"stores":[`+
			strings.TrimSuffix(strings.Repeat(`{"ref_id":"S-17","name":"Market Street","upipr_status":{"action":"A",`+
				`"id":1040,"error":false}},`, 200), ",")+`]`)
	b.send(b.delivery(id, core.StoreCreation, noon, stores))
	b.send(b.delivery(id, core.StoreCreation, noon.Add(time.Second), stores))
	b.send(b.delivery(core.NewID(noon), core.StoreCreation, noon,
		strings.ReplaceAll(outcome, `"errors":2`, `"errors":0`)))
	b.send(b.delivery(core.NewID(noon), core.OrderPlaced, noon.Add(-time.Hour), `{"order":{"details":{"id":17}}}`))
	unsigned := b.delivery(core.NewID(noon), core.RiderStatusUpdate, noon, `{"order_id":17}`)
	unsigned.Header.Del(webhook.HeaderSignature)
	unsigned.Header.Set("X-Api-Token", strings.Repeat("a-long-value-without-a-space", 8))
	b.send(unsigned)
}

func TestPagePassesBrowserChecks(t *testing.T) {
	browser := browsertest.Start(t)
	empty, full := newFixture(t, 0), newFixture(t, 0)
	full.fill()
	emptyURL, fullURL := browsertest.Serve(t, empty.app), browsertest.Serve(t, full.app)
	for name, url := range map[string]string{
		"empty": emptyURL + receiver.Path,
		"full":  fullURL + receiver.Path,
		"one":   fullURL + receiver.Path + "deliveries/2/",
	} {
		t.Run(name, func(t *testing.T) {
			browser.Open(t, url, browsertest.Views()[0]).CheckViews(t, "receiver-"+name, browsertest.TwoViews()...)
		})
	}
	t.Run("opened", func(t *testing.T) {
		page := browser.Open(t, fullURL+receiver.Path, browsertest.Views()[0])
		page.Do(t,
			chromedp.Click(chromedp.CSS("#delivery-5 details:nth-of-type(2) summary")),
			chromedp.WaitVisible(chromedp.CSS("#delivery-5 .headers")),
			chromedp.Click(chromedp.CSS("#delivery-2 details summary")),
			chromedp.WaitVisible(chromedp.CSS("#delivery-2 .code")),
		)
		page.CheckViews(t, "receiver-opened", browsertest.TwoViews()...)
	})
}

func TestNewDeliveriesAreAnnounced(t *testing.T) {
	b := newFixture(t, 0)
	base := browsertest.Serve(t, b.app)
	page := browsertest.Start(t).Open(t, base+receiver.Path, browsertest.Views()[0])
	response, err := http.Post(base+receiver.Path, "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	page.Do(t,
		chromedp.WaitVisible(chromedp.CSS(".notice a")),
		chromedp.Click(chromedp.CSS(".notice a")),
		chromedp.WaitVisible(chromedp.CSS("#delivery-"+strconv.Itoa(1))),
	)
	assert.Empty(t, page.Problems())
}
