package compat

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/webhook"
)

const (
	storesPath        = "/external/api/v1/stores/"
	menuPath          = "/external/api/v1/inventory/locations/"
	webhooksPath      = "/external/api/v1/webhooks/"
	ordersPath        = "/external/api/v1/orders/"
	riderStatusPath   = "/ext/api/v1/generic/pos/rider-status/"
	riderLocationPath = "/ext/api/v1/generic/pos/rider-location/"
	channelOrdersPath = "/channel/api/v1/orders/"
)

// client is a client of the hub, with its business and its receiver.
type client struct {
	*runningHub
	*receiver
	t        *testing.T
	business core.BusinessID
	pos      string            // Authorization of the point of sale
	channel  string            // Authorization of the shop that places orders
	library  map[string]string // headers that its HTTP library adds to every request
}

// newClient returns a client in the United States. The map library contains the headers of its HTTP library.
func newClient(t *testing.T, library map[string]string) *client {
	t.Helper()
	return newClientOf(t, core.Business{Name: "Test Kitchen", Country: "US", Timezone: "America/New_York",
		Currency: "USD"}, library)
}

func newClientOf(t *testing.T, profile core.Business, library map[string]string) *client {
	t.Helper()
	c := &client{runningHub: sharedHub(t), t: t, library: library}
	accounts := access.Access{Keys: accessdb.New(c.db), Clock: c.db.Clock()}
	business, err := accounts.CreateBusiness(t.Context(), profile, webhook.NewSecret(), nil)
	require.NoError(t, err)
	c.business = business.ID
	for scope, into := range map[core.Scope]*string{core.ScopePOS: &c.pos, core.ScopeChannel: &c.channel} {
		_, secret, err := accounts.CreateKey(t.Context(),
			access.Key{Business: business.ID, Username: "client", Scope: scope})
		require.NoError(t, err)
		*into = "apikey client:" + secret
	}
	c.receiver = newReceiver(t)
	return c
}

// reply is a response of the hub.
type reply struct {
	value
	status int
	header http.Header
	text   string
}

func (r reply) message() string { return r.get("message").text() }

// send sends a request as the point of sale.
func (c *client) send(method, path, body string) reply {
	c.t.Helper()
	return c.exchange(method, path, body, map[string]string{"Authorization": c.pos})
}

// exchange sends a request with the headers of the library and others.
func (c *client) exchange(method, path, body string, headers map[string]string) reply {
	c.t.Helper()
	content := []byte(body)
	if c.library["Content-Encoding"] == "gzip" {
		content = compressed(c.t, content)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, c.hubURL+path, bytes.NewReader(content))
	require.NoError(c.t, err)
	if c.library["Transfer-Encoding"] == "chunked" {
		request.ContentLength = -1
	}
	for _, list := range []map[string]string{c.library, headers} {
		for name, value := range list {
			request.Header.Set(name, value)
		}
	}
	if body == "" {
		request.Body, request.ContentLength = nil, 0
		request.Header.Del("Content-Type")
		request.Header.Del("Content-Encoding")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(c.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	r := reply{status: response.StatusCode, header: response.Header, text: string(text)}
	if len(text) > 0 {
		r.value = parse(c.t, method+" "+path, text)
	}
	return r
}

func compressed(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// ok sends a request that must be accepted.
func (c *client) ok(method, path, body string) reply {
	c.t.Helper()
	r := c.send(method, path, body)
	require.Equal(c.t, http.StatusOK, r.status, r.text)
	return r
}

// refused sends a request that must be rejected as a whole, with a message that contains the text.
func (c *client) refused(method, path, body, message string) {
	c.t.Helper()
	r := c.send(method, path, body)
	require.Equal(c.t, http.StatusBadRequest, r.status, r.text)
	require.Contains(c.t, r.message(), message)
}

// subscribe registers the receiver for events.
func (c *client) subscribe(events ...string) {
	c.t.Helper()
	for _, event := range events {
		c.ok("POST", webhooksPath, fmt.Sprintf(`{"event_type": %q, "url": %q}`, event, c.receiver.url))
	}
}

// stores sends stores that are listed everywhere, and waits for the callback.
func (c *client) stores(refs ...string) {
	c.t.Helper()
	c.subscribe("store_creation", "inventory_update")
	objects := make([]string, len(refs))
	for i, ref := range refs {
		objects[i] = fmt.Sprintf(`{"ref_id": %q, "name": "Store %s", "city": "Oakland", "excluded_platforms": []}`,
			ref, ref)
	}
	callback := c.push(storesPath, `{"stores": [`+strings.Join(objects, ",")+`]}`)
	require.Equal(c.t, float64(len(refs)), callback.get("stats.created").number())
}

// push sends stores or a menu, and returns the callback.
func (c *client) push(path, body string) value {
	c.t.Helper()
	reference := c.ok("POST", path, body).get("reference").text()
	event := "inventory_update"
	if path == storesPath {
		event = "store_creation"
	}
	return c.await(event, func(v value) bool { return v.get("reference").text() == reference })
}

// menu sends a menu to a location, and returns the callback.
func (c *client) menu(location, body string) value {
	c.t.Helper()
	return c.push(menuPath+location+"/", body)
}

// applied returns the callback of a menu in which no object fails.
func (c *client) applied(location, body string) value {
	c.t.Helper()
	callback := c.menu(location, body)
	require.Empty(c.t, failures(callback))
	return callback
}

// failures returns the messages of the objects that failed, by kind and index.
func failures(callback value) map[string]string {
	failed := map[string]string{}
	for _, kind := range []string{"categories", "items", "option_groups", "options", "taxes", "charges", "stores"} {
		if !callback.has(kind) {
			continue
		}
		for i, object := range callback.get(kind).list() {
			if object.get("upipr_status.error").truth() {
				failed[fmt.Sprintf("%s[%d]", kind, i)] = object.get("upipr_status.err_msg").text()
			}
		}
	}
	return failed
}

// warnings returns the messages of a callback or of an object in it.
func warnings(business value) []string {
	list := []string{}
	if !business.has("warnings") {
		return list
	}
	for _, warning := range business.get("warnings").list() {
		list = append(list, warning.get("path").text()+": "+warning.get("message").text())
	}
	return list
}

// stored reads an array of a location back.
func (c *client) stored(location, kind string) []value {
	c.t.Helper()
	return c.ok("GET", menuPath+location+"/?only="+kind, "").get(kind).list()
}

// place places an order as the shop, and returns the hub's id of it.
func (c *client) place(body string) int64 {
	c.t.Helper()
	r := c.exchange("POST", channelOrdersPath, body, map[string]string{"Authorization": c.channel})
	require.Equal(c.t, http.StatusOK, r.status, r.text)
	return int64(r.get("order_id").number())
}

// placed waits for the order_placed of an order.
func (c *client) placed(id int64) value {
	c.t.Helper()
	return c.await("order_placed", func(v value) bool { return int64(v.get("order.details.id").number()) == id })
}

// order is the path of an order.
func order(id int64, more string) string { return fmt.Sprintf("%s%d/%s", ordersPath, id, more) }

// texts returns the strings of a list.
func texts(list []value) []string {
	all := []string{}
	for _, v := range list {
		all = append(all, v.text())
	}
	return all
}

// encode writes JSON like most libraries.
func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// waitUntil waits for a condition.
func (c *client) waitUntil(what string, condition func() bool) {
	c.t.Helper()
	hubtest.WaitUntil(c.t, what, condition)
}
