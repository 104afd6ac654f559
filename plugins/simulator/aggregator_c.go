package simulator

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/servery-hub/servery/plugins/sdk"
)

// The formats of aggregator C, as in plugins/aggregatorc/README.md.
type (
	menuC struct {
		Shop struct {
			Code   string `json:"code" as:"id"`
			Ref    string `json:"ref" as:"id"`
			Names  namesC `json:"names"`
			Zone   string `json:"zone,omitempty"`
			Status int64  `json:"status"`
		} `json:"shop"`
		Groups []struct {
			Code   string              `json:"code" as:"id"`
			Names  namesC              `json:"names"`
			Parent string              `json:"parent,omitempty"`
			Seq    int64               `json:"seq"`
			Sale   map[string][]string `json:"sale,omitempty" as:"span"`
		} `json:"groups"`
		Dishes []struct {
			Code      string            `json:"code" as:"id"`
			Names     namesC            `json:"names"`
			Texts     namesC            `json:"texts,omitempty"`
			Minor     int64             `json:"price_minor"`
			Groups    []string          `json:"groups"`
			Choices   []string          `json:"choices,omitempty"`
			Seq       int64             `json:"seq"`
			Left      int64             `json:"left"`
			Picture   string            `json:"picture,omitempty"`
			Nutrients map[string]string `json:"nutrients,omitempty" as:"count"`
		} `json:"dishes"`
		Choices []struct {
			Code  string `json:"code" as:"id"`
			Names namesC `json:"names"`
			Min   int64  `json:"min"`
			Max   int64  `json:"max"`
		} `json:"choices"`
		Extras []struct {
			Code    string   `json:"code" as:"id"`
			Names   namesC   `json:"names"`
			Minor   int64    `json:"price_minor"`
			Choices []string `json:"choices"`
		} `json:"extras"`
	}
	namesC map[string]string
	replyC struct {
		No      string `json:"no" as:"id"`
		Accept  bool   `json:"accept"`
		Minutes int64  `json:"ready_min,omitempty"`
		Why     string `json:"why,omitempty"`
		WhyCode string `json:"why_code,omitempty"`
	}
	stageC struct {
		No      string `json:"no" as:"id"`
		Stage   int64  `json:"stage"`
		WhyCode string `json:"why_code,omitempty"`
		At      string `json:"at" as:"instant"`
	}
	statusC struct {
		Shop   string `json:"shop" as:"id"`
		Status int64  `json:"status"`
	}
	listingC struct {
		Shop   string `json:"shop" as:"id"`
		Listed bool   `json:"listed"`
	}
	soldOutC struct {
		No     string   `json:"no" as:"id"`
		Dishes []string `json:"dishes"`
		Extras []string `json:"extras"`
		Swap   bool     `json:"swap"`
		At     string   `json:"at" as:"instant"`
	}
	switchC struct {
		Shop   string   `json:"shop" as:"id"`
		On     bool     `json:"on"`
		Dishes []string `json:"dishes"`
		Extras []string `json:"extras"`
	}
)

var stagesC = map[int64]string{30: "ready", 40: "dispatched", 50: "completed", 90: "cancelled"}

var aggregatorC = aggregator{
	Needs: Needs{Plugin: "aggregator-c", Endpoints: []string{"gateway"}, Outgoing: "app_key", Inbound: "shop_token"},
	routes: []route{
		{"POST /gw/menu.replace", CallMenu, func(_ *http.Request, body []byte) (update, error) {
			m, err := decodeStrict[menuC](body)
			open, err := openC(m.Shop.Status, err)
			return update{store: m.Shop.Code, storeRef: m.Shop.Ref, open: open, itemCount: len(m.Dishes)}, err
		}},
		{"POST /gw/shop.status", CallStoreState, func(_ *http.Request, body []byte) (update, error) {
			s, err := decodeStrict[statusC](body)
			open, err := openC(s.Status, err)
			return update{store: s.Shop, open: open}, err
		}},
		{"POST /gw/shop.listing", CallListing,
			bodyParser(func(_ *http.Request, l listingC) update { return update{store: l.Shop, listed: &l.Listed} })},
		{"POST /gw/order.soldout", CallItemsOOS, bodyParser(func(_ *http.Request, o soldOutC) update {
			return update{order: o.No, summary: outOfStockText(o.Swap, o.Dishes, o.Extras)}
		})},
		{"POST /gw/dish.switch", CallItemState, bodyParser(func(_ *http.Request, s switchC) update {
			return update{store: s.Shop, availability: &availabilityChange{s.On, s.Dishes, s.Extras}}
		})},
		{"POST /gw/order.reply", CallDecision, bodyParser(func(_ *http.Request, r replyC) update {
			what := map[bool]string{true: "accepted", false: "refused"}[r.Accept]
			return update{order: r.No, summary: readyIn(strings.TrimSuffix(what+": "+r.Why, ": "), r.Minutes)}
		})},
		{"POST /gw/order.stage", CallStatus, func(_ *http.Request, body []byte) (update, error) {
			s, err := decodeStrict[stageC](body)
			if err == nil && stagesC[s.Stage] == "" {
				err = formatErrors{fmt.Sprintf("stage %d must be 30, 40, 50 or 90", s.Stage)}
			}
			return update{order: s.No, summary: stagesC[s.Stage]}, err
		}},
	},
	authorized: func(r *http.Request, secrets map[string]string) bool {
		return secretsEqual(r.Header.Get("X-App-Key"), secrets["app_key"])
	},
	key:      func(r *http.Request) string { return r.URL.Query().Get("nonce") },
	response: responseC, parseMenu: parseMenuC, newOrder: orderC,
	cancelOrder: func(id string) message {
		return message{CallCancel, "message", id,
			marshal(map[string]any{"type": "ORDER_CANCEL", "data": map[string]any{"no": id, "why": cancelReason}})}
	},
	sign: func(h http.Header, _ []byte, secrets map[string]string) { h.Set("X-Shop-Token", secrets["shop_token"]) },
}

func openC(status int64, err error) (*bool, error) {
	open := status == 1
	if err == nil && status != 0 && status != 1 {
		err = formatErrors{fmt.Sprintf("status %d must be 0 or 1", status)}
	}
	return &open, err
}

// responseC responds with 200 to everything but a technical failure. The code in the body is the result.
func responseC(call Call, v result) (int, any) {
	if v.kind == resultFault {
		return v.status, map[string]any{"code": v.status, "msg": v.message}
	}
	body := map[string]any{"code": httpStatuses[v.kind], "msg": v.message}
	if v.kind == resultAccepted {
		body["code"] = 0
	}
	if call == CallMenu || call == CallItemState {
		failed := []map[string]any{}
		for _, p := range v.problems {
			failed = append(failed, map[string]any{"dish": p.id, "code": http.StatusNotFound, "msg": p.detail})
		}
		body["failed"] = failed
	}
	return http.StatusOK, body
}

func parseMenuC(body []byte, a Account) (Menu, error) {
	m, err := decodeStrict[menuC](body)
	digits, _ := sdk.MinorDigits(a.Currency)
	price := func(minor int64) string { return sdk.FromMinorUnits(minor, digits) }
	groups := make(map[string]*OptionGroup, len(m.Choices))
	for _, c := range m.Choices {
		groups[c.Code] = &OptionGroup{Min: c.Min, Max: c.Max}
	}
	for _, e := range m.Extras {
		for _, code := range e.Choices {
			if c := groups[code]; c != nil {
				c.Options = append(c.Options, Option{e.Code, e.Names["default"], price(e.Minor)})
			}
		}
	}
	menu := Menu{Store: m.Shop.Ref, Code: m.Shop.Code}
	for _, d := range m.Dishes {
		item := Item{Ref: d.Code, Title: d.Names["default"], Price: price(d.Minor), OutOfStock: d.Left == 0}
		for _, code := range d.Choices {
			if c := groups[code]; c != nil {
				item.OptionGroups = append(item.OptionGroups, *c)
			}
		}
		menu.Items = append(menu.Items, item)
	}
	return menu, err
}

// lineC is a line of an order, or an extra of a line.
type lineC struct {
	Dish   string  `json:"dish"`
	Name   string  `json:"name"`
	N      int64   `json:"n"`
	Minor  int64   `json:"price_minor"`
	Remark string  `json:"remark,omitempty"`
	Extras []lineC `json:"extras,omitempty"`
}

// taxPercentC is the tax in percent that the simulated C adds to orders, because its menu has no taxes.
const taxPercentC = 5

// orderC includes the total of the lines and their tax. The simulated C adds no fees.
func orderC(b Basket, a Account) (message, error) {
	var total int64
	var wrong error
	digits, _ := sdk.MinorDigits(a.Currency)
	minor := func(price string) int64 {
		units, err := sdk.MinorUnits("price", price, digits)
		n, overflow := units.Int64()
		if err != nil || overflow != nil {
			wrong = fmt.Errorf("the price %q is invalid", price)
		}
		return n
	}
	lines := make([]lineC, len(b.Lines))
	for i, l := range b.Lines {
		lines[i] = lineC{l.Ref, l.Title, l.Quantity, minor(l.Price), l.Note, nil}
		each := lines[i].Minor
		for _, o := range l.Options {
			extra := lineC{Dish: o.Ref, Name: o.Title, N: 1, Minor: minor(o.Price)}
			each += extra.Minor
			lines[i].Extras = append(lines[i].Extras, extra)
		}
		total += each * l.Quantity
	}
	tax := (total*taxPercentC + 50) / 100 // half up
	total += tax
	taxes := []map[string]any{{"name": "Tax", "code": "TAX", "minor": tax}}
	c, id := b.Customer, "C"+b.Number
	return message{CallOrder, "message", id, marshal(map[string]any{"type": "ORDER_NEW", "data": map[string]any{
		"no": id, "shop_code": b.Code, "shop_ref": b.Store, "pickup": b.Mode == Pickup,
		"own_rider": b.DeliveredBy == BySelf, "group_order": b.Bulk,
		"lines": lines, "taxes": taxes,
		"total_minor": total, "paid_minor": total, "paid_by": "wallet", "remark": b.Note,
		"recipient": map[string]any{"name": c.Name, "tel": c.Phone, "address": c.Street, "city": c.City, "zip": c.Zip},
	}})}, wrong
}
