package compat

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

// delivery is a received event.
type delivery struct {
	value
	header http.Header
}

// receiver is the endpoint of a client. It checks each body against the schema of its event and against the required
// keys.
type receiver struct {
	t        *testing.T
	url      string
	mu       sync.Mutex
	received []delivery

	arrived chan struct{} // closed at the next event
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, arrived: make(chan struct{})}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/events"
	return r
}

// ServeHTTP stores an event.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	event := request.Header.Get("X-Event-Type")
	eventtest.Check(r.t, core.EventType(event), body)
	v := parse(r.t, event, body)
	for _, problem := range missing(event, v.is) {
		r.t.Errorf("%s: %s in %s", event, problem, body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, delivery{v, request.Header.Clone()})
	close(r.arrived)
	r.arrived = make(chan struct{})
}

// deliveries returns the received events of a type, and a channel that is closed at the next event.
func (r *receiver) deliveries(event string) (list []delivery, arrived <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.received {
		if d.header.Get("X-Event-Type") == event {
			list = append(list, d)
		}
	}
	return list, r.arrived
}

// await waits for an event that meets a condition.
func (r *receiver) await(event string, is func(value) bool) value {
	r.t.Helper()
	return r.awaitDelivery(event, is).value
}

// waitTimeout bounds how long a test waits for an event.
const waitTimeout = 30 * time.Second

func (r *receiver) awaitDelivery(event string, is func(value) bool) delivery {
	r.t.Helper()
	late := time.NewTimer(waitTimeout)
	defer late.Stop()
	for {
		list, arrived := r.deliveries(event)
		for _, d := range list {
			if is(d.value) {
				return d
			}
		}
		select {
		case <-arrived:
		case <-late.C:
			require.FailNow(r.t, "no such "+event, "%d others came", len(list))
		}
	}
}

// value is a part of a body. Its methods read it like clients, without a check: a missing key or another type fails the
// test.
type value struct {
	t    *testing.T
	path string
	is   any
}

func parse(t *testing.T, path string, body []byte) value {
	v := value{t: t, path: path}
	if err := json.Unmarshal(body, &v.is); err != nil {
		t.Errorf("%s: %v in %.200s", path, err, body)
	}
	return v
}

// get follows names and indexes, such as order.items.0.price.
func (v value) get(path string) value {
	v.t.Helper()
	for _, name := range strings.Split(path, ".") {
		within := v.path
		v.path += "." + name
		switch is := v.is.(type) {
		case map[string]any:
			require.Contains(v.t, is, name, "%s has no key %q", within, name)
			v.is = is[name]
		case []any:
			index, err := strconv.Atoi(name)
			require.NoError(v.t, err, v.path)
			require.Less(v.t, index, len(is), v.path)
			v.is = is[index]
		default:
			require.Fail(v.t, "neither an object nor a list", "%s: %v", within, v.is)
		}
	}
	return v
}

// all returns the values at several paths.
func (v value) all(paths ...string) []any {
	v.t.Helper()
	values := make([]any, len(paths))
	for i, path := range paths {
		values[i] = v.get(path).is
	}
	return values
}

func (v value) has(name string) bool {
	object, is := v.is.(map[string]any)
	_, has := object[name]
	return is && has
}

func (v value) text() string    { return as[string](v) }
func (v value) number() float64 { return as[float64](v) }
func (v value) truth() bool     { return as[bool](v) }

func (v value) list() []value {
	v.t.Helper()
	elements := as[[]any](v)
	list := make([]value, len(elements))
	for i, element := range elements {
		list[i] = value{v.t, v.path + "." + strconv.Itoa(i), element}
	}
	return list
}

// find returns the object of a list by the value of a key.
func find(list []value, key, is string) value {
	for _, v := range list {
		if v.get(key).is == is {
			return v
		}
	}
	return value{t: list[0].t, path: key + "=" + is}
}

func as[T any](v value) T {
	v.t.Helper()
	is, ok := v.is.(T)
	require.True(v.t, ok, "%s is %v (%T)", v.path, v.is, v.is)
	return is
}
