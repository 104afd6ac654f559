package hub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servery-hub/servery/core"
)

// deliverooStandIn is a stand-in for Deliveroo's Partner Platform API. It is derived from public documents, and not
// certified: Deliveroo may behave differently.
type deliverooStandIn struct {
	*httptest.Server
	clock core.Clock

	mu       sync.Mutex
	requests []string // method and path of accepted requests, and their bodies
	tokens   int
	expires  time.Time
	orders   map[string]string // states by order
	items    []string          // ids of the menu
}

// The client and the secret of the stand-in.
const (
	deliverooClient  = "client-7"
	deliverooSecret  = "secret-of-the-client"
	deliverooWebhook = "secret-of-webhooks"
)

func newDeliverooStandIn(t *testing.T, clock core.Clock) *deliverooStandIn {
	t.Helper()
	d := &deliverooStandIn{clock: clock, orders: map[string]string{}}
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Close)
	return d
}

// deliverooRoutes are the calls of the API, and what they require of a body.
var deliverooRoutes = []struct {
	method string
	path   *regexp.Regexp
	handle func(d *deliverooStandIn, parts []string, body []byte) int
}{
	{"PUT", regexp.MustCompile(`^/menu/v1/brands/tasty/menus/([^/]+)$`), (*deliverooStandIn).menu},
	{"POST", regexp.MustCompile(`^/menu/v2/brands/tasty/sites/(\w+)/menu/item_unavailabilities$`),
		(*deliverooStandIn).unavailabilities},
	{"PUT", regexp.MustCompile(`^/site/v1/brands/tasty/sites/(\w+)/status$`), (*deliverooStandIn).status},
	{"POST", regexp.MustCompile(`^/site/v1/brands/tasty/sites/(\w+)/opening_hours$`),
		func(*deliverooStandIn, []string, []byte) int { return 200 }},
	{"PATCH", regexp.MustCompile(`^/order/v1/orders/([^/]+)$`), (*deliverooStandIn).order},
	{"POST", regexp.MustCompile(`^/order/v1/orders/([^/]+)/(sync_status|prep_stage)$`), (*deliverooStandIn).stage},
}

func (d *deliverooStandIn) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.URL.Path == "/oauth2/token" {
		d.grant(w, r, string(body))
		return
	}
	if d.clock.Now().After(d.expires) || r.Header.Get("Authorization") != fmt.Sprint("Bearer token-", d.tokens) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for _, route := range deliverooRoutes {
		parts := route.path.FindStringSubmatch(r.URL.Path)
		if parts == nil || route.method != r.Method {
			continue
		}
		status := route.handle(d, parts[1:], body)
		if status < 300 {
			d.requests = append(d.requests, r.Method+" "+r.URL.Path+" "+string(body))
		}
		w.WriteHeader(status)
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// grant grants a token for 300 seconds, by client credentials.
func (d *deliverooStandIn) grant(w http.ResponseWriter, r *http.Request, body string) {
	client, secret, _ := r.BasicAuth()
	if client != deliverooClient || secret != deliverooSecret || !strings.Contains(body, "client_credentials") {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	d.tokens++
	d.expires = d.clock.Now().Add(300 * time.Second)
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprint("token-", d.tokens), "expires_in": 300,
		"token_type": "Bearer"})
}

func (d *deliverooStandIn) menu(_ []string, body []byte) int {
	var sent struct {
		Name  string   `json:"name"`
		Sites []string `json:"site_ids"`
		Menu  struct {
			Items []struct {
				ID    string `json:"id"`
				Price struct {
					Price *int64 `json:"price"`
				} `json:"price_info"`
			} `json:"items"`
			Categories []struct {
				ItemIDs []string `json:"item_ids"`
			} `json:"categories"`
		} `json:"menu"`
	}
	if json.Unmarshal(body, &sent) != nil || sent.Name == "" || len(sent.Sites) == 0 {
		return http.StatusBadRequest
	}
	d.items = nil
	for _, item := range sent.Menu.Items {
		if item.Price.Price == nil {
			return http.StatusBadRequest
		}
		d.items = append(d.items, item.ID)
	}
	for _, category := range sent.Menu.Categories {
		for _, id := range category.ItemIDs {
			if !slices.Contains(d.items, id) {
				return http.StatusBadRequest
			}
		}
	}
	return http.StatusOK
}

// unavailabilities rejects all items if it does not know one.
func (d *deliverooStandIn) unavailabilities(_ []string, body []byte) int {
	var sent struct {
		Items []struct {
			ID     string `json:"item_id"`
			Status string `json:"status"`
		} `json:"item_unavailabilities"`
	}
	if json.Unmarshal(body, &sent) != nil {
		return http.StatusBadRequest
	}
	for _, item := range sent.Items {
		if !slices.Contains(d.items, item.ID) ||
			!slices.Contains([]string{"available", "unavailable", "hidden"}, item.Status) {
			return http.StatusBadRequest
		}
	}
	return http.StatusNoContent
}

func (d *deliverooStandIn) status(_ []string, body []byte) int {
	if string(body) != `{"status":"OPEN"}` && string(body) != `{"status":"CLOSED"}` {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// order accepts or rejects an order that is placed, and confirms one that is accepted.
func (d *deliverooStandIn) order(parts []string, body []byte) int {
	var sent struct {
		Status string `json:"status"`
		Reason string `json:"reject_reason"`
	}
	if json.Unmarshal(body, &sent) != nil || sent.Status == "rejected" && sent.Reason == "" {
		return http.StatusBadRequest
	}
	state, known := d.orders[parts[0]]
	expected := map[string]string{"accepted": "placed", "rejected": "placed", "confirmed": "accepted"}[sent.Status]
	switch {
	case !known:
		return http.StatusNotFound
	case expected == "":
		return http.StatusBadRequest
	case state != expected:
		return http.StatusConflict
	}
	d.orders[parts[0]] = sent.Status
	return http.StatusNoContent
}

func (d *deliverooStandIn) stage(parts []string, _ []byte) int {
	if _, known := d.orders[parts[0]]; !known {
		return http.StatusNotFound
	}
	return http.StatusOK
}

// got returns the accepted requests whose text begins with a prefix.
func (d *deliverooStandIn) got(prefix string) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, request := range d.requests {
		if strings.HasPrefix(request, prefix) {
			list = append(list, request)
		}
	}
	return list
}

// sign returns the headers of a webhook.
func (d *deliverooStandIn) sign(body string) map[string]string {
	const guid = "b3a1a1f0-0000-4000-8000-000000000001"
	mac := hmac.New(sha256.New, []byte(deliverooWebhook))
	fmt.Fprintf(mac, "%s %s", guid, body)
	return map[string]string{"X-Deliveroo-Sequence-Guid": guid,
		"X-Deliveroo-Hmac-Sha256": hex.EncodeToString(mac.Sum(nil))}
}

// newOrder returns the webhook of a new order, which the stand-in then knows.
func (d *deliverooStandIn) newOrder(id, site string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.orders[id] = "placed"
	return fmt.Sprintf(`{"event":"order.new","body":{"order":{"id":%q,"order_number":"28401753","location_id":%q,
		"display_id":"1753","status":"placed","fulfillment_type":"deliveroo","order_notes":"No pickles please",
		"asap":true,"prepare_for":"2026-03-07T16:36:15Z","partner_order_total":{"fractional":1000,
		"currency_code":"USD"},"items":[{"pos_item_id":"soup","name":"Soup","quantity":2,
		"unit_price":{"fractional":500,"currency_code":"USD"},"modifiers":[]}],
		"customer":{"first_name":"Jane","contact_number":"+442071838750"}}}}`, id, site)
}
