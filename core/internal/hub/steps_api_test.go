package hub

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// uploadAggregator is an aggregator that receives menus in several requests.
type uploadAggregator struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string                 // method and URI
	headers  []http.Header            // of the same requests
	menus    []string                 // fields and files of uploads
	creates  int                      // uploads and riders so far
	token    string                   // the valid access token
	respond  map[string]func() string // status and body instead, by method and path
}

func newUploadAggregator(t *testing.T) *uploadAggregator {
	t.Helper()
	u := &uploadAggregator{respond: map[string]func() string{}}
	u.Server = httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(u.Close)
	return u
}

func (u *uploadAggregator) serve(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests, u.headers = append(u.requests, r.Method+" "+r.URL.RequestURI()), append(u.headers, r.Header)
	response := ""
	if other := u.respond[r.Method+" "+r.URL.Path]; other != nil {
		response = other()
	}
	if response == "" {
		response = u.accept(r)
	}
	status := 0
	code, body, _ := strings.Cut(response, " ")
	_, _ = fmt.Sscan(code, &status)
	if status == 0 { // it hangs up
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (u *uploadAggregator) accept(r *http.Request) string {
	switch {
	case r.URL.Path == "/oauth/token":
		u.token = fmt.Sprintf("granted-%d", len(u.requests))
		return `200 {"access_token":"` + u.token + `","expires_in":600}`
	case r.URL.Path == "/uploads":
		u.creates++
		return fmt.Sprintf(`201 {"upload":{"id":"up %d","key":"secret-upload-key"}}`, u.creates)
	case r.URL.Path == "/riders":
		u.creates++
		return fmt.Sprintf(`201 {"id":%d}`, u.creates)
	case strings.HasSuffix(r.URL.Path, "/menu"):
		if r.Header.Get("Authorization") != "Bearer "+u.token {
			return "401 {}"
		}
		u.menus = append(u.menus, readUpload(r))
		return `200 {"echo":"` + r.Header.Get("X-Upload-Key") + `"}`
	case r.Method == "GET" && r.URL.Query().Get("cursor") == "":
		return `200 {"jobs":["a"],"next":"page two"}`
	case r.Method == "GET":
		return `200 {"jobs":["b"]}`
	}
	return "202 {}"
}

// readUpload returns the parts of a compressed multipart body.
func readUpload(r *http.Request) string {
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil {
		return err.Error()
	}
	_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form, err := multipart.NewReader(unpacked, parameters["boundary"]).ReadForm(1 << 20)
	if err != nil || len(form.File["menu"]) != 1 {
		return fmt.Sprint(form, err)
	}
	file, err := form.File["menu"][0].Open()
	if err != nil {
		return err.Error()
	}
	content, _ := io.ReadAll(file)
	return form.Value["upload"][0] + " " + form.File["menu"][0].Filename + " " + string(content)
}

// change changes a response.
func (u *uploadAggregator) change(place string, response func() string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.respond[place] = response
}

// seen returns the requests so far.
func (u *uploadAggregator) seen() (requests []string, headers []http.Header, menus []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append(requests, u.requests...), append(headers, u.headers...), append(menus, u.menus...)
}

// newUploadClient returns a business whose store s1 is listed on the platform uploads.
func newUploadClient(t *testing.T) (*publishClient, *uploadAggregator) {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "stepped", "./testdata/stepped")
	u := newUploadAggregator(t)
	n := &publishClient{menuClient: newMenuClientAt(t, newPluginAPI(t, dir, unlimited))}
	require.NoError(t, platforms.New(n.hub.db).Set(t.Context(), n.tenant.ID,
		core.Platform{Name: "uploads", ServedBy: "stepped"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": u.URL, "items": u.URL}
			a.Secrets = map[string]string{"signing_key": "c2VjcmV0LXNpZ25pbmcta2V5", "key_id": "the-key-id",
				"client_id": "the-client", "client_secret": "secret-of-the-client"}
			return nil
		}))
	return n, u
}

// published returns the outcome of the latest publication of the platform, once it has one.
func (n *publishClient) published(state string) (message string) {
	n.t.Helper()
	n.advanceUntil("the menu is "+state, func() bool {
		for _, one := range n.ok("GET", publicationsRoute+"?platform=uploads", "").body["publications"].([]any) {
			if fmt.Sprint(hubtest.Lookup(one, "status")) == state {
				message = fmt.Sprint(one)
				return true
			}
		}
		return false
	})
	return message
}

func TestMenuIsUploadedInSeveralSteps(t *testing.T) {
	n, u := newUploadClient(t)
	n.ok("POST", menuRoute+"s1/", soup)
	require.Contains(t, n.published("published"), "create 201, upload 200, start 202, jobs 200, 2 pages")
	requests, headers, menus := u.seen()
	require.Equal(t, []string{"POST /uploads", "POST /oauth/token", "PUT /uploads/up%201/menu", "POST /jobs",
		"GET /jobs", "GET /jobs?cursor=page+two"}, requests[len(requests)-6:])
	require.Equal(t, "up 1 menu.csv soup;5;{create.id}\n", menus[len(menus)-1])
	at := len(headers) - 6
	token := strings.Split(strings.TrimPrefix(headers[at].Get("Authorization"), "Bearer "), ".")
	require.Len(t, token, 3)
	require.Equal(t, "secret-upload-key", headers[at+2].Get("X-Upload-Key"))

	text := ""
	n.advanceUntil("the record", func() bool {
		text = pgtest.CallAttemptsText(t, n.hub.db)
		return strings.Contains(text, "cursor=page+two")
	})
	require.Contains(t, text, "soup;5;", "the body is recorded before its compression")
	for _, secret := range []string{"secret-upload-key", token[2], "secret-signing-key", "granted-"} {
		require.NotContains(t, text, secret)
	}

	// A rejected token is renewed, and only its step is repeated.
	u.mu.Lock()
	u.token = "revoked"
	u.mu.Unlock()
	n.ok("POST", menuRoute+"s1/", strings.Replace(soup, `"price":5`, `"price":6`, 1))
	n.advanceUntil("the second menu", func() bool {
		_, _, menus := u.seen()
		return len(menus) == 2
	})
	requests, _, menus = u.seen()
	require.Contains(t, strings.Join(requests, ", "),
		"POST /uploads, PUT /uploads/up%202/menu, POST /oauth/token, PUT /uploads/up%202/menu")
	require.Equal(t, "up 2 menu.csv soup;6;{create.id}\n", menus[1])
}

func TestInterruptedStepsBeginAgain(t *testing.T) {
	n, u := newUploadClient(t)
	failures := 2
	u.change("POST /jobs", func() string {
		if failures--; failures >= 0 {
			return "503 {}"
		}
		return ""
	})
	n.ok("POST", menuRoute+"s1/", soup)
	require.Contains(t, n.published("published"), "2 pages")
	_, _, menus := u.seen()
	require.Equal(t, []string{"up 1 menu.csv soup;5;{create.id}\n", "up 2 menu.csv soup;5;{create.id}\n",
		"up 3 menu.csv soup;5;{create.id}\n"}, menus)
}

// uploadsOrder creates an order of the platform uploads.
func (n *publishClient) uploadsOrder(id string) int64 {
	n.t.Helper()
	c := newOrderClientAt(n.menuClient)
	taken := c.sendAsChannel("POST", channelOrdersRoute,
		strings.Replace(orderOf(id, `,"delivery_type":"self"`), `"web"`, `"uploads"`, 1))
	require.Equal(n.t, 200, taken.status, taken.text)
	return int64(taken.body["order_id"].(float64))
}

// rider creates an order and reports its rider, which becomes a call. It returns the order.
func (n *publishClient) rider(id string) int64 {
	n.t.Helper()
	order := n.uploadsOrder(id)
	n.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":%s}`, order, riderData))
	return order
}

// riderSteps returns the requests of the rider's call, once it is done.
func (n *publishClient) riderSteps(order int64) (steps []string) {
	n.t.Helper()
	n.advanceUntil("the call is done", func() bool {
		calls, err := consolelists.New(n.hub.db).CallsOfOrder(n.t.Context(), n.tenant.ID, order)
		require.NoError(n.t, err)
		at := slices.IndexFunc(calls, func(c console.Call) bool { return c.Kind == string(relay.RiderStatus) })
		steps = nil
		for _, a := range calls[at].Attempts {
			steps = append(steps, strings.TrimSpace(fmt.Sprintf("%d %s %d %s", a.N, a.Step, a.Status, a.Error)))
		}
		return calls[at].State == string(relay.Done)
	})
	return steps
}

func TestCompletedStepsAreNotSentAgain(t *testing.T) {
	n, u := newUploadClient(t)
	responses := []string{"503 {}", "404 {}", "503 {}"}
	given := 0
	u.change("PUT /riders/1/status", func() string { given++; return responses[given-1] })
	u.change("PUT /riders/2/status", func() string {
		if given++; given == 3 {
			return responses[2]
		}
		return ""
	})
	u.change("POST /uploads", func() string { return "503 {}" }) // menus do not count riders
	steps := n.riderSteps(n.rider("S-2"))
	require.Equal(t, []string{"1 create 201", "1 change 503 the aggregator responded with 503 Service Unavailable",
		"2 change 404 the aggregator responded with 404 Not Found", "3 create 201",
		"3 change 503 the aggregator responded with 503 Service Unavailable", "4 change 202"}, steps)
}

func TestHostileValuesEndASequence(t *testing.T) {
	n, u := newUploadClient(t)
	hostile := []string{`201 {}`, `201 {"id":"../admin"}`, `201 {"id":"%2e%2e%5cadmin"}`, `201 {"id":{"a":1}}`,
		`201 {"id":"` + strings.Repeat("x", 1<<20) + `"}`}
	given := 0
	u.change("POST /riders", func() string {
		if given++; given <= len(hostile) {
			return hostile[given-1]
		}
		return ""
	})
	all, err := json.Marshal(n.riderSteps(n.rider("S-1")))
	require.NoError(t, err)
	for _, want := range []string{`1 create 201 the response to the step \"create\" has no text or number at /id`,
		`2 change 0 the value {create.id} cannot be a part of a path`, `3 change 0 the value {create.id} cannot`,
		`4 create 201 the response`, `5 create 201 the response`, "6 create 201", "6 change 202"} {
		require.Contains(t, string(all), want)
	}
	requests, _, _ := u.seen()
	require.NotContains(t, strings.Join(requests, " "), "admin")
}

func TestAcknowledgementIsInterpretedWithEarlierSteps(t *testing.T) {
	n, _ := newUploadClient(t)
	order := n.uploadsOrder("S-3")
	var acknowledged console.Call
	n.advanceUntil("the call has ended", func() bool {
		calls, err := consolelists.New(n.hub.db).CallsOfOrder(t.Context(), n.tenant.ID, order)
		require.NoError(t, err)
		at := slices.IndexFunc(calls, func(c console.Call) bool { return c.Kind == string(relay.OrderAcknowledge) })
		if at < 0 || calls[at].FinishedAt.IsZero() {
			return false
		}
		acknowledged = calls[at]
		return true
	})
	require.Equal(t, string(relay.Done), acknowledged.State, acknowledged.Message)
}
