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

// bench is a simulator over HTTP with an account at each aggregator, and a hub
// that keeps what it gets.
type bench struct {
	*Simulator
	t       *testing.T
	url     string
	waiting chan chan time.Time // of each wait, what ends it

	mu     sync.Mutex
	posted []posted
	answer func(n int) (int, string)
}

type posted struct {
	path   string
	header http.Header
	body   string
}

// merchants are a directory of what does not change.
type merchants []Account

func (list merchants) Account(_ context.Context, space, platform string) (Account, error) {
	for _, a := range list {
		if a.Space == space && a.Platform == platform {
			return a, nil
		}
	}
	return Account{}, ErrNoAccount
}

func newBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, waiting: make(chan chan time.Time, 1000), answer: func(int) (int, string) {
		return 200, `{"status":"success","message":"order accepted","order_id":10001}`
	}}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.posted = append(b.posted, posted{r.URL.Path, r.Header, string(body)})
		status, text := b.answer(len(b.posted))
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
	config := Config{Directory: merchants{
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

// reached are the messages that the hub got.
func (b *bench) reached() []posted {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]posted{}, b.posted...)
}

// answered is an answer of the simulator.
type answered struct {
	status int
	text   string
}

func (b *bench) do(method, path, body string, headers map[string]string) (answered, error) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answered{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answered{response.StatusCode, string(text)}, err
}

// tell sends what the hub of a space would, with its credentials.
func (b *bench) tell(space, method, path, body string) answered {
	b.t.Helper()
	key := "key-" + space
	r, err := b.do(method, "/"+space+path, body,
		map[string]string{"X-Partner-Key": key, "Authorization": "Bearer " + key, "X-App-Key": key})
	require.NoError(b.t, err)
	return r
}

// admin asks the admin API, and reads its answer.
func (b *bench) admin(method, path, body string, into any) answered {
	b.t.Helper()
	r, err := b.do(method, "/admin/"+path, body, nil)
	require.NoError(b.t, err)
	if into != nil {
		require.Equal(b.t, 200, r.status, r.text)
		require.NoError(b.t, json.Unmarshal([]byte(r.text), into), r.text)
	}
	return r
}

// plan is a request as a plugin plans it, of its golden files.
type plan struct {
	Method, Path string
	Query        map[string]string
	Body         json.RawMessage
}

// plans reads what a plugin's golden files plan, by the files' names.
func plans(t testing.TB, plugin string) map[string]plan {
	t.Helper()
	files, err := filepath.Glob("../" + plugin + "/testdata/*.golden.json")
	require.NoError(t, err)
	found := map[string]plan{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var golden struct{ Answer struct{ Plan *plan } }
		require.NoError(t, json.Unmarshal(text, &golden))
		if golden.Answer.Plan != nil {
			found[strings.TrimSuffix(filepath.Base(file), ".golden.json")] = *golden.Answer.Plan
		}
	}
	require.NotEmpty(t, found)
	return found
}

// menuOf sends the golden menu of a plugin.
func (b *bench) menuOf(letter string) {
	b.t.Helper()
	p := plans(b.t, "aggregator"+letter)["menu"]
	require.Less(b.t, b.tell("7", p.Method, "/"+letter+p.Path, string(p.Body)).status, 300)
}

func (b *bench) storesOf(letter string) (stores []Store) {
	b.t.Helper()
	b.admin("GET", "7/"+letter+"/stores", "", &stores)
	return stores
}
