package simulator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// harness is a simulator over HTTP with an account at each aggregator, and a hub that records requests.
type harness struct {
	*Simulator
	t       *testing.T
	url     string
	waiting chan chan time.Time // a channel for each wait; sending ends it

	mu          sync.Mutex
	posted      []hubRequest
	hubResponse func(n int) (int, string)
}

type hubRequest struct {
	path   string
	header http.Header
	body   string
}

// fixedDirectory is a fixed directory.
type fixedDirectory []Account

func (list fixedDirectory) Account(_ context.Context, space, platform string) (Account, error) {
	for _, a := range list {
		if a.Space == space && a.Platform == platform {
			return a, nil
		}
	}
	return Account{}, ErrNoAccount
}

func newHarness(t *testing.T, change func(*Config)) *harness {
	t.Helper()
	b := &harness{t: t, waiting: make(chan chan time.Time, 1000), hubResponse: func(int) (int, string) {
		return 200, `{"status":"success","message":"order accepted","order_id":10001}`
	}}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.posted = append(b.posted, hubRequest{r.URL.Path, r.Header, string(body)})
		status, text := b.hubResponse(len(b.posted))
		b.mu.Unlock()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(hub.Close)
	account := func(space, platform, plugin string) Account {
		return Account{Space: space, Platform: platform, Plugin: plugin,
			Callback: hub.URL + "/channel/api/v1/" + platform + "/callback/{kind}/?business=" + space,
			Secrets: map[string]string{
				"api_key": "key-" + space, "access_token": "key-" + space, "app_key": "key-" + space,
				"webhook_secret": "in-" + space, "callback_token": "in-" + space, "shop_token": "in-" + space,
			}}
	}
	config := Config{Directory: fixedDirectory{
		account("7", "a", "aggregator-a"), account("7", "b", "aggregator-b"), account("7", "c", "aggregator-c"),
		account("8", "a", "aggregator-a"), account("8", "z", "aggregator-z"),
	}, After: func(time.Duration) <-chan time.Time {
		c := make(chan time.Time)
		b.waiting <- c
		return c
	}}
	if change != nil {
		change(&config)
	}
	var err error
	b.Simulator, err = New(config)
	require.NoError(t, err)
	server := httptest.NewServer(b)
	t.Cleanup(func() {
		b.end()
		server.Close()
		b.Close()
	})
	b.url = server.URL
	return b
}

// hubRequests returns the messages that the hub received.
func (b *harness) hubRequests() []hubRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]hubRequest{}, b.posted...)
}

// httpReply is a response of the simulator.
type httpReply struct {
	status int
	text   string
}

func (b *harness) do(method, path, body string, headers map[string]string) (httpReply, error) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return httpReply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return httpReply{response.StatusCode, string(text)}, err
}

// sendAsHub sends a request as the hub of a space, with its credentials.
func (b *harness) sendAsHub(space, method, path, body string) httpReply {
	b.t.Helper()
	key := "key-" + space
	r, err := b.do(method, "/"+space+path+"?nonce=k-1", body, map[string]string{"X-Partner-Key": key,
		"Authorization": "Bearer " + key, "X-App-Key": key, "Idempotency-Key": "k-1", "X-Request-Id": "k-1"})
	require.NoError(b.t, err)
	return r
}

// admin calls the admin API and decodes the response.
func (b *harness) admin(method, path, body string, into any) httpReply {
	b.t.Helper()
	r, err := b.do(method, "/admin/"+path, body, nil)
	require.NoError(b.t, err)
	if into != nil {
		require.Equal(b.t, 200, r.status, r.text)
		require.NoError(b.t, json.Unmarshal([]byte(r.text), into), r.text)
	}
	return r
}

// goldenPlan is a planned request in a golden file of a plugin.
type goldenPlan struct {
	Method, Path string
	Query        map[string]string
	Body         json.RawMessage
}

// goldenPlans returns the plans in a plugin's golden files, by file name.
func goldenPlans(t testing.TB, plugin string) map[string]goldenPlan {
	t.Helper()
	files, err := filepath.Glob("../" + plugin + "/testdata/*.golden.json")
	require.NoError(t, err)
	found := map[string]goldenPlan{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var golden struct{ Answer struct{ Plan *goldenPlan } }
		require.NoError(t, json.Unmarshal(text, &golden))
		if golden.Answer.Plan != nil {
			found[strings.TrimSuffix(filepath.Base(file), ".golden.json")] = *golden.Answer.Plan
		}
	}
	require.NotEmpty(t, found)
	return found
}

// sendMenu sends the golden menu of a plugin to the simulator.
func (b *harness) sendMenu(letter string) {
	b.t.Helper()
	p := goldenPlans(b.t, "aggregator"+letter)["menu"]
	require.Less(b.t, b.sendAsHub("7", p.Method, "/"+letter+p.Path, string(p.Body)).status, 300)
}

func (b *harness) storesOf(letter string) (stores []Store) {
	b.t.Helper()
	b.admin("GET", "7/"+letter+"/stores", "", &stores)
	return stores
}
