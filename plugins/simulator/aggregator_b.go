package simulator

import (
	"cmp"
	"net/http"
	"strings"
)

// The formats of aggregator B, as in plugins/aggregatorb/README.md.
type (
	catalogueB struct {
		MerchantID string `json:"merchantId,omitempty"`
		Restaurant struct {
			ID       string `json:"id" as:"id"`
			Ref      string `json:"ref" as:"id"`
			Name     string `json:"name"`
			TimeZone string `json:"timeZone,omitempty"`
			Accepts  bool   `json:"acceptsOrders"`
			PrepSecs int64  `json:"prepSeconds,omitempty"`
		} `json:"restaurant"`
		Sections []topSectionB `json:"sections"`
		Fees     []struct {
			Code  string `json:"code" as:"id"`
			Title string `json:"title"`
			Value string `json:"value" as:"decimal"`
		} `json:"fees"`
	}
	topSectionB struct {
		ID       string     `json:"id" as:"id"`
		Title    string     `json:"title"`
		Order    int64      `json:"order"`
		Dishes   []dishB    `json:"dishes"`
		Sections []sectionB `json:"sections,omitempty"`
		Served   []servedB  `json:"served,omitempty"`
	}
	sectionB struct {
		ID     string    `json:"id" as:"id"`
		Title  string    `json:"title"`
		Order  int64     `json:"order"`
		Dishes []dishB   `json:"dishes"`
		Served []servedB `json:"served,omitempty"`
	}
	servedB struct {
		Weekday string `json:"weekday" as:"one of MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY"`
		From    string `json:"from" as:"time"`
		Until   string `json:"until" as:"time"`
	}
	moneyB struct {
		Amount   string `json:"amount" as:"decimal"`
		Currency string `json:"currency"`
	}
	dishB struct {
		ID          string   `json:"id" as:"id"`
		Title       string   `json:"title"`
		Description string   `json:"description,omitempty"`
		Price       moneyB   `json:"price"`
		Order       int64    `json:"order"`
		Photo       string   `json:"photo,omitempty"`
		Tags        []string `json:"tags,omitempty"`
		Additional  *struct {
			Accompaniments string `json:"accompaniments,omitempty"`
			Quantity       string `json:"quantity,omitempty" as:"count"`
			Unit           string `json:"unit,omitempty" as:"unit"`
		} `json:"additionalInfo,omitempty"`
		AddOns []struct {
			ID     string `json:"id" as:"id"`
			Title  string `json:"title"`
			Min    int64  `json:"min"`
			Max    int64  `json:"max"`
			AddOns []struct {
				ID    string `json:"id" as:"id"`
				Title string `json:"title"`
				Price moneyB `json:"price"`
			} `json:"addOns"`
		} `json:"addOns,omitempty"`
	}
	decisionB struct {
		Decision string `json:"decision" as:"one of CONFIRMED DECLINED"`
		Reason   string `json:"reason,omitempty"`
		Code     string `json:"reasonCode,omitempty"`
		ReadyIn  int64  `json:"readyInSeconds,omitempty"`
	}
	progressB struct {
		Progress string `json:"progress" as:"one of READY ON_THE_WAY CLOSED CANCELLED"`
		Code     string `json:"reasonCode,omitempty"`
		At       string `json:"at" as:"instant"`
	}
	deliveryB struct {
		State string `json:"state" as:"rider state"`
		Rider *struct {
			Name  string `json:"name"`
			Phone string `json:"phone"`
		} `json:"rider,omitempty"`
		At string `json:"at" as:"instant"`
	}
	positionB struct {
		Lat float64 `json:"lat"`
		Lng float64 `json:"lng"`
		At  string  `json:"at" as:"instant"`
	}
	openingB struct {
		Accepts bool   `json:"acceptsOrders"`
		At      string `json:"at" as:"instant"`
	}
	listingB struct {
		Listed bool `json:"listed"`
	}
	missingB struct {
		Dishes     []string `json:"dishIds"`
		AddOns     []string `json:"addOnIds"`
		Substitute bool     `json:"substitute"`
		At         string   `json:"at" as:"instant"`
	}
	stockB struct {
		InStock bool     `json:"inStock"`
		Dishes  []string `json:"dishIds"`
		AddOns  []string `json:"addOnIds"`
		At      string   `json:"at" as:"instant"`
	}
)

var aggregatorB = aggregator{
	Needs: Needs{Plugin: "aggregator-b", Endpoints: []string{"catalogue_api", "delivery_api"}, Outgoing: "access_token",
		Inbound: "callback_token"},
	routes: []route{
		{"POST /api/restaurants/{store}/catalogue", CallMenu, bodyParser(func(_ *http.Request, c catalogueB) update {
			items := map[string]bool{}
			c.each(func(d *dishB) { items[d.ID] = true })
			return update{store: c.Restaurant.ID, storeRef: c.Restaurant.Ref, open: &c.Restaurant.Accepts,
				itemCount: len(items)}
		})},
		{"PUT /api/restaurants/{store}/opening", CallStoreState, bodyParser(func(r *http.Request, o openingB) update {
			return update{store: r.PathValue("store"), open: &o.Accepts}
		})},
		{"PUT /api/restaurants/{store}/listing", CallListing, bodyParser(func(r *http.Request, l listingB) update {
			return update{store: r.PathValue("store"), listed: &l.Listed}
		})},
		{"POST /api/restaurants/{store}/stock", CallItemState, bodyParser(func(r *http.Request, s stockB) update {
			return update{store: r.PathValue("store"), availability: &availabilityChange{s.InStock, s.Dishes, s.AddOns}}
		})},
		{"POST /api/orders/{order}/decision", CallDecision, orderParser(func(d decisionB) string {
			return readyIn(strings.TrimSuffix(d.Decision+": "+d.Reason, ": "), d.ReadyIn/60)
		})},
		{"POST /api/orders/{order}/progress", CallStatus, orderParser(func(p progressB) string { return p.Progress })},
		{"POST /api/orders/{order}/missing", CallItemsOOS,
			orderParser(func(m missingB) string { return outOfStockText(m.Substitute, m.Dishes, m.AddOns) })},
		{"POST /api/orders/{order}/delivery-state", CallRiderStatus, orderParser(func(d deliveryB) string {
			if d.Rider == nil {
				return d.State
			}
			return d.State + " " + cmp.Or(d.Rider.Name, d.Rider.Phone)
		})},
		{"PUT /api/orders/{order}/rider-position", CallRiderLocation,
			bodyParser(func(r *http.Request, p positionB) update {
				return update{order: r.PathValue("order"), location: &Point{p.Lat, p.Lng}}
			})},
	},
	authorized: func(r *http.Request, secrets map[string]string) bool {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return bearer && secretsEqual(given, secrets["access_token"])
	},
	key:      func(r *http.Request) string { return r.Header.Get("X-Request-Id") },
	response: responseB, parseMenu: parseMenuB, newOrder: orderB,
	cancelOrder: func(id string) message {
		return message{CallCancel, "cancellation", id, marshal(map[string]any{"orderId": id, "reason": cancelReason})}
	},
	sign: func(h http.Header, _ []byte, secrets map[string]string) {
		h.Set("Authorization", "Bearer "+secrets["callback_token"])
	},
}

// each visits every item once per section.
func (c *catalogueB) each(visit func(*dishB)) {
	all := func(list []dishB) {
		for i := range list {
			visit(&list[i])
		}
	}
	for _, top := range c.Sections {
		all(top.Dishes)
		for _, below := range top.Sections {
			all(below.Dishes)
		}
	}
}

func responseB(_ Call, v result) (int, any) {
	switch {
	case v.kind == resultFault:
		return v.status, map[string]any{"message": v.message}
	case v.kind == resultAccepted && len(v.problems) == 0:
		return http.StatusNoContent, nil
	}
	body := map[string]any{"message": v.message}
	if len(v.problems) > 0 {
		rejected := []map[string]string{}
		for _, p := range v.problems {
			rejected = append(rejected, map[string]string{"dishId": p.id, "reason": p.detail})
		}
		body["rejected"] = rejected
	}
	return httpStatuses[v.kind], body
}

func parseMenuB(body []byte, _ Account) (Menu, error) {
	c, err := decodeStrict[catalogueB](body)
	menu, seen := Menu{Store: c.Restaurant.Ref, Code: c.Restaurant.ID}, map[string]bool{}
	c.each(func(d *dishB) {
		if seen[d.ID] {
			return
		}
		seen[d.ID] = true
		item := Item{Ref: d.ID, Title: d.Title, Price: d.Price.Amount}
		for _, set := range d.AddOns {
			group := OptionGroup{Min: set.Min, Max: set.Max}
			if set.Max == 0 {
				group.Max = -1
			}
			for _, o := range set.AddOns {
				group.Options = append(group.Options, Option{o.ID, o.Title, o.Price.Amount})
			}
			item.OptionGroups = append(item.OptionGroups, group)
		}
		menu.Items = append(menu.Items, item)
	})
	return menu, err
}

// orderB leaves out fees, taxes and the total.
func orderB(b Basket, _ Account) (message, error) {
	mode := map[string]string{BySelf: "SELF_DELIVERY", ByPartner: "DELIVERY"}[b.DeliveredBy]
	if b.Mode == Pickup {
		mode = "TAKEAWAY"
	}
	cart := make([]map[string]any, len(b.Lines))
	for i, l := range b.Lines {
		addOns := []map[string]any{}
		for _, o := range l.Options {
			addOns = append(addOns, map[string]any{"addOnId": o.Ref, "title": o.Title, "count": 1,
				"unitPrice": o.Price})
		}
		cart[i] = map[string]any{"dishId": l.Ref, "title": l.Title, "count": l.Quantity, "unitPrice": l.Price,
			"note": l.Note, "addOns": addOns}
	}
	c, id := b.Customer, "B-"+b.Number
	return message{CallOrder, "order", id, marshal(map[string]any{
		"orderId": id, "restaurantId": b.Code, "restaurantRef": b.Store, "mode": mode, "largeOrder": b.Bulk,
		"cart": cart, "note": b.Note,
		"customer": map[string]any{"fullName": c.Name, "phone": c.Phone, "street": c.Street, "city": c.City,
			"zip":      c.Zip,
			"location": map[string]any{"lat": c.Point.Latitude, "lng": c.Point.Longitude}},
	})}, nil
}
