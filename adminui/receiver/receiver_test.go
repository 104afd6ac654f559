package receiver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/assets"
	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/webhook"
)

// fixedClock always returns the same time.
type fixedClock struct{ now time.Time }

func (s fixedClock) Now() time.Time { return s.now }

func (s fixedClock) At(time.Time) (<-chan time.Time, func()) { return nil, func() {} }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixture is a mounted receiver with known secrets.
type fixture struct {
	t      *testing.T
	app    *fiber.App
	secret string
}

func newFixture(t *testing.T, capacity int) *fixture {
	t.Helper()
	b := &fixture{t: t, secret: webhook.NewSecret()}
	r := receiver.New(receiver.Config{
		Capacity: capacity, Clock: fixedClock{noon}, BaseURL: "http://127.0.0.1:8080",
		Links: []ui.Link{{Href: "/docs", Label: "Reference"}, {Href: receiver.Path, Label: "Demo receiver"}},
		Secrets: func(context.Context) (map[string]string, error) {
			return map[string]string{"webhook 1": webhook.NewSecret(), "webhook 2": b.secret}, nil
		},
	})
	b.app = fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 32 << 20,
		ErrorHandler: func(c *fiber.Ctx, err error) error {
			if core.CodeOf(err) == core.TooLarge {
				return c.SendStatus(http.StatusRequestEntityTooLarge)
			}
			return fiber.DefaultErrorHandler(c, err)
		}})
	assets.Mount(b.app)
	r.Mount(b.app)
	return b
}

// delivery returns a signed request.
func (b *fixture) delivery(id core.ID, event core.EventType, at time.Time, body string) *http.Request {
	b.t.Helper()
	signed, err := webhook.Sign(b.secret, id, at, []byte(body))
	require.NoError(b.t, err)
	request := httptest.NewRequest(http.MethodPost, receiver.Path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(webhook.HeaderID, id.String())
	request.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	request.Header.Set(webhook.HeaderSignature, signed)
	request.Header.Set(webhook.HeaderEventType, string(event))
	return request
}

func (b *fixture) send(request *http.Request) (int, string) {
	b.t.Helper()
	response, err := b.app.Test(request, -1)
	require.NoError(b.t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return response.StatusCode, string(body)
}

func (b *fixture) get(path string) (int, string) {
	b.t.Helper()
	return b.send(httptest.NewRequest(http.MethodGet, path, nil))
}

// listed is the JSON list.
type listed struct {
	Total      int
	Deliveries []struct {
		Number     int
		WebhookID  string `json:"webhook_id"`
		EventType  string `json:"event_type"`
		Verified   bool
		VerifiedBy string `json:"verified_by"`
		Reason     string
		ReceivedAt time.Time `json:"received_at"`
		Size       int
		Repeat     int
		Reference  string
		Stats      *receiver.Stats
		Body       *string
		Clipped    *bool `json:"body_clipped"`
	}
}

func (b *fixture) list(query string) (l listed) {
	b.t.Helper()
	status, body := b.get(receiver.Path + "deliveries.json" + query)
	require.Equal(b.t, http.StatusOK, status)
	require.NoError(b.t, json.Unmarshal([]byte(body), &l))
	return l
}

const outcome = `{"reference":"01937a3e-9c1b-7cc4-8f0a-52d1c6e0b7aa","stats":{"created":2483,"updated":1,` +
	`"errors":2},"stores":[]}`

func TestDeliveryIsVerifiedAndShown(t *testing.T) {
	b, id := newFixture(t, 0), core.NewID(noon)
	for range 2 {
		status, _ := b.send(b.delivery(id, core.StoreCreation, noon.Add(-time.Minute), outcome))
		require.Equal(t, http.StatusOK, status)
	}
	l := b.list("?body=true")
	require.Len(t, l.Deliveries, 2)
	newest := l.Deliveries[0]
	assert.Equal(t, 2, l.Total)
	assert.Equal(t, 2, newest.Number)
	assert.Equal(t, 1, newest.Repeat, "the second of the same webhook-id")
	assert.Equal(t, 0, l.Deliveries[1].Repeat)
	assert.Equal(t, id.String(), newest.WebhookID)
	assert.Equal(t, "store_creation", newest.EventType)
	assert.True(t, newest.Verified)
	assert.Equal(t, "webhook 2", newest.VerifiedBy)
	assert.True(t, noon.Equal(newest.ReceivedAt))
	assert.Equal(t, len(outcome), newest.Size)
	assert.Equal(t, "01937a3e-9c1b-7cc4-8f0a-52d1c6e0b7aa", newest.Reference)
	assert.Equal(t, &receiver.Stats{Created: 2483, Updated: 1, Errors: 2}, newest.Stats)
	assert.Equal(t, outcome, *newest.Body)
	assert.False(t, *newest.Clipped)
	assert.Nil(t, b.list("").Deliveries[0].Body)
	assert.Empty(t, b.list("?limit=0").Deliveries)

	status, page := b.get(receiver.Path)
	require.Equal(t, http.StatusOK, status)
	for _, part := range []string{
		"<b>2483</b> created", "<b>1</b> updated", "<b>2</b> failed", "Signature verified", "Repeat 1", id.String(),
		"12:00:00.000", "&#34;created&#34;: 2483",
	} {
		assert.Contains(t, page, part)
	}
	assert.Less(t, strings.Index(page, "delivery-2"), strings.Index(page, "delivery-1"), "newest first")
}

func TestInvalidSignatureIsShown(t *testing.T) {
	id := core.NewID(noon)
	for _, c := range []struct {
		name, reason string
		change       func(*http.Request)
		at           time.Time
	}{
		{"another secret", "no known secret", func(r *http.Request) {
			signed, _ := webhook.Sign(webhook.NewSecret(), id, noon, []byte(outcome))
			r.Header.Set(webhook.HeaderSignature, signed)
		}, noon},
		{"another body", "no known secret",
			func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("[1]")); r.ContentLength = 3 }, noon},
		{"another id", "no known secret",
			func(r *http.Request) { r.Header.Set(webhook.HeaderID, core.NewID(noon).String()) }, noon},
		{"an id in another form", "webhook-id",
			func(r *http.Request) { r.Header.Set(webhook.HeaderID, "urn:uuid:"+id.String()) }, noon},
		{"too old", "5 minutes", func(*http.Request) {}, noon.Add(-301 * time.Second)},
		{"from the future", "5 minutes", func(*http.Request) {}, noon.Add(301 * time.Second)},
		{"a timestamp that is none", "number of seconds",
			func(r *http.Request) { r.Header.Set(webhook.HeaderTimestamp, "noon") }, noon},
		{"unsigned", "none came along", func(r *http.Request) { r.Header.Del(webhook.HeaderSignature) }, noon},
	} {
		b := newFixture(t, 0)
		request := b.delivery(id, core.StoreCreation, c.at, outcome)
		c.change(request)
		status, _ := b.send(request)
		require.Equal(t, http.StatusOK, status, "unverified deliveries are shown too")
		got := b.list("").Deliveries[0]
		assert.False(t, got.Verified, c.name)
		assert.Contains(t, got.Reason, c.reason, c.name)
	}
}

func TestOneOfSeveralSignaturesIsEnough(t *testing.T) {
	b := newFixture(t, 0)
	request := b.delivery(core.NewID(noon), core.StoreCreation, noon.Add(5*time.Minute), outcome)
	request.Header.Set(webhook.HeaderSignature, "v1,AAAA v1a,BBBB "+request.Header.Get(webhook.HeaderSignature))
	b.send(request)
	assert.True(t, b.list("").Deliveries[0].Verified)
}

func TestUnreadableSecretsAreReported(t *testing.T) {
	secrets := func(context.Context) (map[string]string, error) { return nil, errors.New("the database is away") }
	r := receiver.New(receiver.Config{Clock: fixedClock{noon}, Secrets: secrets})
	app := fiber.New()
	r.Mount(app)
	response, err := app.Test(httptest.NewRequest(http.MethodPost, receiver.Path, strings.NewReader("{}")), -1)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	stored, _ := r.Deliveries()
	assert.Equal(t, "the known secrets could not be read", stored[0].Signature.Reason)
}

func TestMemoryIsBounded(t *testing.T) {
	b := newFixture(t, 3)
	for i := range 5 {
		b.send(httptest.NewRequest(http.MethodPost, receiver.Path, strings.NewReader(strconv.Itoa(i))))
	}
	l := b.list("?body=true")
	require.Len(t, l.Deliveries, 3)
	assert.Equal(t, 5, l.Total)
	assert.Equal(t, []string{"4", "3", "2"},
		[]string{*l.Deliveries[0].Body, *l.Deliveries[1].Body, *l.Deliveries[2].Body})
	status, _ := b.get(receiver.Path + "deliveries/2/")
	assert.Equal(t, http.StatusNotFound, status, "gone")
	status, _ = b.get(receiver.Path + "deliveries/3/")
	assert.Equal(t, http.StatusOK, status)
	for _, number := range []string{"6", "0", "-1", "x"} {
		status, _ = b.get(receiver.Path + "deliveries/" + number + "/")
		assert.Equal(t, http.StatusNotFound, status, number)
	}
}

func TestClientLeavesMemoryForDeliveriesToOthers(t *testing.T) {
	newFixture(t, 1).list("") // the first response starts a goroutine that never ends
	synctest.Test(t, func(t *testing.T) {
		memory := limit.NewMemory(64 << 20)
		r := receiver.New(receiver.Config{Clock: fixedClock{noon}, Memory: memory})
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		r.Mount(app)
		post := func() int {
			body := bytes.NewReader(make([]byte, 1<<20))
			response, err := app.Test(httptest.NewRequest(http.MethodPost, receiver.Path, body), -1)
			require.NoError(t, err)
			return response.StatusCode
		}
		client := limit.Sender{Network: netip.MustParsePrefix("0.0.0.0/32")} // of a test connection
		held, other := memory.ReservationOf(limit.Large, client), memory.NewReservation(limit.Large)
		require.NoError(t, held.GrowBytes(t.Context(), held.ClampBytes(64<<20)/2))
		require.Equal(t, http.StatusOK, post())
		require.Error(t, other.GrowBytes(t.Context(), other.ClampBytes(64<<20)))
		require.NotEqual(t, http.StatusOK, post(), "the client has half, and another lacks memory")
		held.Release()
		require.Equal(t, http.StatusOK, post())
	})
}

func TestLargeBodyIsClippedButVerified(t *testing.T) {
	b := newFixture(t, 0)
	body := `{"reference":"r-1","stats":{"created":5000,"updated":0,"errors":0},"stores":["` +
		strings.Repeat("x", 2<<20) + `"]}`
	status, _ := b.send(b.delivery(core.NewID(noon), core.StoreCreation, noon, body))
	require.Equal(t, http.StatusOK, status)
	got := b.list("?body=true").Deliveries[0]
	assert.True(t, got.Verified)
	assert.Equal(t, len(body), got.Size)
	assert.Len(t, *got.Body, receiver.MaxBody)
	assert.True(t, *got.Clipped)
	assert.Equal(t, 5000, got.Stats.Created)
	_, page := b.get(receiver.Path)
	assert.Contains(t, page, "&#34;created&#34;: 5000")
	assert.Less(t, len(page), 64<<10, "the list shows the beginning only")

	status, _ = b.send(httptest.NewRequest(http.MethodPost, receiver.Path, bytes.NewReader(make([]byte, 16<<20+1))))
	assert.Equal(t, http.StatusRequestEntityTooLarge, status)
	status, _ = b.send(httptest.NewRequest(http.MethodPost, receiver.Path, bytes.NewReader(make([]byte, 16<<20))))
	assert.Equal(t, http.StatusOK, status)
}

func TestListHasTheNewestBodiesOnly(t *testing.T) {
	b := newFixture(t, 0)
	for _, body := range []string{"{}", strings.Repeat("\x01", receiver.MaxBody), strings.Repeat("x", receiver.MaxBody),
		strings.Repeat("\x01", receiver.MaxBody)} {
		b.send(httptest.NewRequest(http.MethodPost, receiver.Path, strings.NewReader(body)))
	}
	_, text := b.get(receiver.Path + "deliveries.json?body=true")
	assert.Less(t, len(text), 2<<20+4<<10)
	l := b.list("?body=true").Deliveries
	require.Len(t, l, 4)
	for i, listed := range []bool{true, true, false, false} {
		require.Equal(t, listed, l[i].Body != nil)
		require.Equal(t, !listed, *l[i].Clipped)
	}
	assert.Len(t, *l[0].Body, receiver.MaxBody)
	require.Nil(t, b.list("").Deliveries[0].Clipped)
}

func TestHostileBodiesAreShownAsText(t *testing.T) {
	const script = `<script>alert(1)</script><img src=x onerror=alert(1)>`
	quoted, err := json.Marshal(map[string]any{"reference": "<b>x</b>", "a": script})
	require.NoError(t, err)
	for _, body := range []string{
		script, string(quoted), `{"a": "` + script, "\xff\xfe" + script, `"` + script + `"`, "", "nul", "{", "[1,2",
		"{\"a\":",
		strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 30000), `{"stats":{"created":"1"}}`, `{"stats":[]}`,
		"{\"\x00\":1}",
	} {
		b := newFixture(t, 0)
		request := httptest.NewRequest(http.MethodPost, receiver.Path, strings.NewReader(body))
		request.Header.Set(webhook.HeaderEventType, "store_creation"+script)
		request.Header.Set(webhook.HeaderID, script)
		request.Header.Set("X-Attack", `"><script>alert(2)</script>`)
		status, _ := b.send(request)
		require.Equal(t, http.StatusOK, status)
		for _, path := range []string{receiver.Path, receiver.Path + "deliveries/1/"} {
			status, page := b.get(path)
			require.Equal(t, http.StatusOK, status)
			assert.NotContains(t, page, "<script>")
			assert.NotContains(t, page, "<img src=x")
			assert.NotContains(t, page, "<b>x</b>")
			assert.Less(t, len(page), 4<<20)
		}
		b.list("?body=true")
	}
}

func TestTruncatedBodiesAreIndented(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[1,2.50],"b":{}}`: "{\n  &#34;a&#34;: [\n    1,\n    2.50\n  ],\n  &#34;b&#34;: {}\n}",
		`{"a":[1,"cut off he`:   "{\n  &#34;a&#34;: [\n    1",
		`plain text`:            ">plain text</code>",
		`17`:                    ">17</code>",
	} {
		b := newFixture(t, 0)
		b.send(httptest.NewRequest(http.MethodPost, receiver.Path, strings.NewReader(body)))
		_, page := b.get(receiver.Path)
		assert.Contains(t, page, want, body)
	}
}

func TestEmptyPageShowsASampleRequest(t *testing.T) {
	b := newFixture(t, 0)
	status, page := b.get(receiver.Path)
	require.Equal(t, http.StatusOK, status)
	assert.Contains(t, page, "curl -X POST http://127.0.0.1:8080/external/api/v1/stores/")
	l := b.list("")
	assert.NotNil(t, l.Deliveries)
	assert.Zero(t, l.Total)
}

func TestConcurrentDeliveriesAreCounted(t *testing.T) {
	r := receiver.New(receiver.Config{Capacity: 8, Clock: fixedClock{noon}})
	app := fiber.New()
	r.Mount(app)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			request := httptest.NewRequest(http.MethodPost, receiver.Path,
				strings.NewReader(fmt.Sprintf(`{"n":%d}`, i)))
			if i%2 == 0 {
				request = httptest.NewRequest(http.MethodGet, receiver.Path, nil)
			}
			response, err := app.Test(request, -1)
			if assert.NoError(t, err) {
				assert.Equal(t, http.StatusOK, response.StatusCode)
			}
		})
	}
	all.Wait()
	stored, total := r.Deliveries()
	assert.Equal(t, 16, total)
	assert.Len(t, stored, 8)
}
