package simulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The formats of aggregator A, as in plugins/aggregatora/README.md.
type (
	menuA struct {
		Outlet struct {
			ID        string `json:"id" as:"id"`
			Reference string `json:"reference" as:"id"`
			Brand     string `json:"brand,omitempty"`
			Name      string `json:"name"`
			City      string `json:"city"`
			Open      bool   `json:"open"`
			Currency  string `json:"currency,omitempty"`
			Timezone  string `json:"timezone,omitempty"`

			Hours []hoursA `json:"hours,omitempty"`
			Dates []dateA  `json:"dates,omitempty"`
		} `json:"outlet"`
		Categories []struct {
			ID       string   `json:"id" as:"id"`
			Name     string   `json:"name"`
			Parent   string   `json:"parent,omitempty"`
			Position int64    `json:"position"`
			Hours    []hoursA `json:"hours,omitempty"`
		} `json:"categories"`
		Products       []productA       `json:"products"`
		ModifierGroups []modifierGroupA `json:"modifier_groups"`
		Taxes          []adjustmentA    `json:"taxes"`
		Charges        []adjustmentA    `json:"charges"`
	}
	hoursA struct {
		Day  string `json:"day" as:"weekday"`
		From string `json:"from" as:"time"`
		To   string `json:"to" as:"time"`
	}
	dateA struct {
		Date  string `json:"date" as:"date"`
		Hours []struct {
			From string `json:"from" as:"time"`
			To   string `json:"to" as:"time"`
		} `json:"hours"`
		Note string `json:"note,omitempty"`
	}
	productA struct {
		ID             string            `json:"id" as:"id"`
		Name           string            `json:"name"`
		Description    string            `json:"description,omitempty"`
		Price          string            `json:"price" as:"decimal"`
		Was            string            `json:"was,omitempty" as:"decimal"`
		Categories     []string          `json:"categories"`
		ModifierGroups []string          `json:"modifier_groups,omitempty"`
		Diet           string            `json:"diet,omitempty" as:"one of veg non_veg egg"`
		Position       int64             `json:"position"`
		Featured       bool              `json:"featured"`
		Stock          *int64            `json:"stock,omitempty"`
		Image          string            `json:"image,omitempty"`
		Labels         []string          `json:"labels,omitempty"`
		Modes          []string          `json:"modes,omitempty" as:"one of delivery pickup"`
		Nutrition      map[string]string `json:"nutrition,omitempty" as:"count"`
	}
	modifierGroupA struct {
		ID        string      `json:"id" as:"id"`
		Name      string      `json:"name"`
		Min       int64       `json:"min"`
		Max       *int64      `json:"max,omitempty"`
		Repeat    bool        `json:"repeat"`
		Modifiers []modifierA `json:"modifiers"`
	}
	modifierA struct {
		ID             string   `json:"id" as:"id"`
		Name           string   `json:"name"`
		Price          string   `json:"price" as:"decimal"`
		Diet           string   `json:"diet,omitempty" as:"one of veg non_veg egg"`
		Position       int64    `json:"position"`
		ModifierGroups []string `json:"modifier_groups,omitempty"`
	}
	adjustmentA struct {
		Code     string   `json:"code" as:"id"`
		Name     string   `json:"name"`
		Value    string   `json:"value" as:"decimal"`
		On       string   `json:"on,omitempty" as:"one of item.quantity item.price order.order_subtotal"`
		Products []string `json:"products"`
		Modes    []string `json:"modes,omitempty" as:"one of delivery pickup"`
	}
	acceptA struct {
		PrepMinutes int64 `json:"prep_minutes,omitempty"`
	}
	rejectA struct {
		Reason string `json:"reason"`
		Code   string `json:"code,omitempty"`
	}
	statusA struct {
		Status string `json:"status" as:"one of ready dispatched completed cancelled"`
		Note   string `json:"note,omitempty"`
		Code   string `json:"code,omitempty"`
		At     string `json:"at" as:"instant"`
	}
	outOfStockA struct {
		Products  []string `json:"products"`
		Modifiers []string `json:"modifiers"`
		MayEdit   bool     `json:"customer_may_edit"`
		At        string   `json:"at" as:"instant"`
	}
	listingA struct {
		Listed bool `json:"listed"`
	}
	temperatureA struct {
		Fahrenheit float64 `json:"fahrenheit"`
		RiderPhone string  `json:"rider_phone,omitempty" as:"count"`
	}
	maskA struct {
		Wearing    bool   `json:"wearing"`
		RiderPhone string `json:"rider_phone,omitempty" as:"count"`
	}
	additionalRiderA struct {
		RiderPhone string `json:"rider_phone,omitempty" as:"count"`
	}
	contactA struct {
		RequestID  string `json:"request_id" as:"id"`
		RiderPhone string `json:"rider_phone,omitempty" as:"count"`
	}
	stateA struct {
		Open bool `json:"open"`
	}
	paceA struct {
		Busy    bool   `json:"busy"`
		Minutes int64  `json:"prep_minutes,omitempty"`
		Until   string `json:"until,omitempty" as:"instant"`
	}
	availabilityA struct {
		Available bool     `json:"available"`
		Products  []string `json:"products"`
		Modifiers []string `json:"modifiers"`
	}
)

var aggregatorA = aggregator{
	Needs: Needs{Plugin: "aggregator-a", Endpoints: []string{"partner_api"}, Outgoing: "api_key",
		Inbound: "webhook_secret"},
	routes: []route{
		{"PUT /v2/outlets/{store}/menu", CallMenu, bodyParser(func(_ *http.Request, m menuA) update {
			return update{store: m.Outlet.ID, storeRef: m.Outlet.Reference, open: &m.Outlet.Open,
				itemCount: len(m.Products)}
		})},
		{"PUT /v2/outlets/{store}/state", CallStoreState, bodyParser(func(r *http.Request, s stateA) update {
			return update{store: r.PathValue("store"), open: &s.Open}
		})},
		{"PUT /v2/outlets/{store}/pace", CallStoreState, bodyParser(func(r *http.Request, p paceA) update {
			return update{store: r.PathValue("store"), pace: &pace{p.Busy, p.Minutes}}
		})},
		{"PUT /v2/outlets/{store}/listing", CallListing, bodyParser(func(r *http.Request, l listingA) update {
			return update{store: r.PathValue("store"), listed: &l.Listed}
		})},
		{"POST /v2/outlets/{store}/availability", CallItemState,
			bodyParser(func(r *http.Request, a availabilityA) update {
				return update{store: r.PathValue("store"),
					availability: &availabilityChange{a.Available, a.Products, a.Modifiers}}
			})},
		{"POST /v2/orders/{order}/accept", CallDecision,
			orderParser(func(a acceptA) string { return readyIn("accepted", a.PrepMinutes) })},
		{"POST /v2/orders/{order}/reject", CallDecision,
			orderParser(func(a rejectA) string { return strings.TrimSuffix("rejected: "+a.Reason, ": ") })},
		{"POST /v2/orders/{order}/status", CallStatus, orderParser(func(s statusA) string { return s.Status })},
		{"POST /v2/orders/{order}/out-of-stock", CallItemsOOS,
			orderParser(func(o outOfStockA) string { return outOfStockText(o.MayEdit, o.Products, o.Modifiers) })},
		{"POST /v2/orders/{order}/rider-temperature", CallAction,
			orderParser(func(t temperatureA) string { return fmt.Sprintf("rider_body_temp %v °F", t.Fahrenheit) })},
		{"POST /v2/orders/{order}/rider-mask", CallAction,
			orderParser(func(m maskA) string { return fmt.Sprintf("rider_with_mask %t", m.Wearing) })},
		{"POST /v2/orders/{order}/additional-rider", CallAction,
			orderParser(func(additionalRiderA) string { return "request_additional_rider" })},
		{"POST /v2/orders/{order}/customer-contact", CallAction, bodyParser(func(r *http.Request, c contactA) update {
			return update{order: r.PathValue("order"), summary: "fetch_customer_data", requestID: c.RequestID}
		})},
	},
	authorized: func(r *http.Request, secrets map[string]string) bool {
		return secretsEqual(r.Header.Get("X-Partner-Key"), secrets["api_key"])
	},
	key:      func(r *http.Request) string { return r.Header.Get("Idempotency-Key") },
	response: responseA, parseMenu: parseMenuA, newOrder: orderA,
	cancelOrder: func(id string) message {
		return message{CallCancel, "orders", id, marshal(map[string]any{
			"event": "order.cancelled", "order": map[string]any{"id": id}, "reason": cancelReason})}
	},
	contactCallback: func(request, order, phone, failure string) message {
		body := map[string]any{"request_id": request, "order_id": order}
		if failure != "" {
			body["error"] = failure
		} else {
			body["masked_phone"] = phone
		}
		return message{CallCallback, "customer-data", order, marshal(body)}
	},
	sign: func(h http.Header, body []byte, secrets map[string]string) {
		mac := hmac.New(sha256.New, []byte(secrets["webhook_secret"]))
		mac.Write(body)
		h.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	},
}

// orderParser returns a parser for an update of the order in the path.
func orderParser[T any](say func(T) string) func(*http.Request, []byte) (update, error) {
	return bodyParser(func(r *http.Request, body T) update {
		return update{order: r.PathValue("order"), summary: say(body)}
	})
}

// readyIn appends the preparation time to a decision, if there is one.
func readyIn(decision string, minutes int64) string {
	if minutes == 0 {
		return decision
	}
	return fmt.Sprintf("%s, ready in %d min", decision, minutes)
}

func responseA(call Call, v result) (int, any) {
	status := httpStatuses[v.kind]
	if v.kind == resultFault {
		status = v.status
	}
	body := map[string]any{"message": v.message}
	if v.phone != "" {
		body["masked_phone"] = v.phone
	}
	if v.pin != "" {
		body["pin"] = v.pin
	}
	if call == CallMenu || call == CallItemState || call == CallStoreState {
		problems := []map[string]string{}
		for _, p := range v.problems {
			problems = append(problems,
				map[string]string{"kind": p.kind, "id": p.id, "code": p.code, "detail": p.detail})
		}
		body["accepted"], body["problems"] = v.kind == resultAccepted, problems
	}
	return status, body
}

func parseMenuA(body []byte, _ Account) (Menu, error) {
	m, err := decodeStrict[menuA](body)
	menu := Menu{Store: m.Outlet.Reference, Code: m.Outlet.ID, City: m.Outlet.City}
	groups := make(map[string]OptionGroup, len(m.ModifierGroups))
	for _, g := range m.ModifierGroups {
		c := OptionGroup{Min: g.Min, Max: -1}
		if g.Max != nil {
			c.Max = *g.Max
		}
		for _, o := range g.Modifiers {
			c.Options = append(c.Options, Option{o.ID, o.Name, o.Price})
			menu.options = append(menu.options, o.ID)
		}
		groups[g.ID] = c
	}
	for _, p := range m.Products {
		d := Item{Ref: p.ID, Title: p.Name, Price: p.Price, OutOfStock: p.Stock != nil && *p.Stock == 0}
		for _, id := range p.ModifierGroups {
			d.OptionGroups = append(d.OptionGroups, groups[id])
		}
		menu.Items = append(menu.Items, d)
	}
	return menu, err
}

// lineA is a line of an order, or a modifier of a line.
type lineA struct {
	SKU       string      `json:"sku"`
	Name      string      `json:"name"`
	Qty       int64       `json:"qty"`
	UnitPrice json.Number `json:"unit_price"`
	Note      string      `json:"note,omitempty"`
	Modifiers []lineA     `json:"modifiers,omitempty"`
}

// orderA leaves out fees, taxes and totals. The hub calculates them from the taxes and charges of the menu.
func orderA(b Basket, _ Account) (message, error) {
	lines := make([]lineA, len(b.Lines))
	for i, l := range b.Lines {
		lines[i] = lineA{l.Ref, l.Title, l.Quantity, json.Number(l.Price), l.Note, nil}
		for _, o := range l.Options {
			lines[i].Modifiers = append(lines[i].Modifiers,
				lineA{SKU: o.Ref, Name: o.Title, Qty: 1, UnitPrice: json.Number(o.Price)})
		}
	}
	c := b.Customer
	order := map[string]any{
		"id": json.Number(b.Number), "outlet_id": b.Code, "outlet_reference": b.Store, "fulfilment": b.Mode,
		"delivered_by": map[string]string{BySelf: "merchant", ByPartner: "platform"}[b.DeliveredBy], "bulk": b.Bulk,
		"note": b.Note, "lines": lines,
		"customer": map[string]any{"name": c.Name, "phone": c.Phone, "address": map[string]any{
			"line1": c.Street, "city": c.City, "postcode": c.Zip, "lat": c.Point.Latitude, "lng": c.Point.Longitude}},
	}
	body, err := json.Marshal(map[string]any{"event": "order.created", "order": order}) // fails for an invalid number
	return message{CallOrder, "orders", b.Number, body}, err
}
