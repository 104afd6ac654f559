package simulator

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Menu is what customers can order at a store of a platform.
type Menu struct {
	Store string `json:"store"`           // the merchant's ref_id
	Code  string `json:"code,omitempty"`  // the platform store id
	City  string `json:"city,omitempty"`  // city of the customers' addresses
	Point *Point `json:"point,omitempty"` // location of the store
	Items []Item `json:"dishes"`

	options []string // refs of all options, also of nested groups
}

// Point is a location in decimal degrees.
type Point struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Item is an item on a menu. Prices are decimals.
type Item struct {
	Ref          string        `json:"ref"`
	Title        string        `json:"title"`
	Price        string        `json:"price"`
	OutOfStock   bool          `json:"out,omitempty"` // out of stock
	OptionGroups []OptionGroup `json:"choices,omitempty"`
}

// OptionGroup is an option group of an item.
type OptionGroup struct {
	Min     int64    `json:"min"`
	Max     int64    `json:"max"` // -1: any number
	Options []Option `json:"options"`
}

// Option is an option of a group.
type Option struct {
	Ref   string `json:"ref"`
	Title string `json:"title"`
	Price string `json:"price"`
}

// Delivery types and order types of an order.
const (
	BySelf    = "self"    // the merchant's riders
	ByPartner = "partner" // the platform's riders
	Delivery  = "delivery"
	Pickup    = "pickup"
)

// OrderSpec has the required properties of an order. Empty fields are random.
type OrderSpec struct {
	Mode        string `json:"mode,omitempty"`    // Delivery or Pickup
	DeliveredBy string `json:"carrier,omitempty"` // BySelf or ByPartner
	Bulk        bool   `json:"bulk,omitempty"`
}

// Basket is an order, independent of an aggregator's format.
type Basket struct {
	Number      string   `json:"number"` // digits; the aggregator's order id is derived from it
	Store       string   `json:"store"`
	Code        string   `json:"code,omitempty"`
	Mode        string   `json:"mode"`
	DeliveredBy string   `json:"carrier"`
	Bulk        bool     `json:"bulk,omitempty"`
	Note        string   `json:"note,omitempty"`
	Customer    Customer `json:"customer"`
	Lines       []Line   `json:"lines"`
}

// Customer is the customer of an order.
type Customer struct {
	Name   string `json:"name"`
	Phone  string `json:"phone"`
	Street string `json:"street"`
	City   string `json:"city"`
	Zip    string `json:"zip"`
	Point  Point  `json:"point"`
}

// Line is an item of a basket.
type Line struct {
	Ref      string   `json:"ref"`
	Title    string   `json:"title"`
	Price    string   `json:"price"`
	Quantity int64    `json:"quantity"`
	Note     string   `json:"note,omitempty"`
	Options  []Option `json:"options,omitempty"`
}

var (
	names = []string{"Maya Ortiz", "Liam Chen", "Aisha Khan", "Noah Weber", "Priya Nair", "Sofia Rossi",
		"Omar Haddad", "Emma Larsen", "Kenji Mori", "Chloé Martin"}
	streets   = []string{"Pier Road", "Orchard Lane", "Mill Street", "Station Avenue", "Hill Crescent", "Lake View"}
	notes     = []string{"Ring twice", "Leave it at the door", "No cutlery, please", "Call when you are downstairs"}
	lineNotes = []string{"mild", "extra hot", "no onions", "sauce on the side"}
	// defaultLocation is the location of customers of a store without one.
	defaultLocation = Point{37.8044, -122.2712}
)

// RandomBasket returns the n-th random order of a seed, with one to four items and the options that they require. The
// same menu, spec, seed and n return the same order. It returns an error if nothing can be ordered.
func (s Menu) RandomBasket(spec OrderSpec, seed uint64, n int) (Basket, error) {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	items := make([]*Item, 0, len(s.Items))
	for i := range s.Items {
		if s.Items[i].orderable() {
			items = append(items, &s.Items[i])
		}
	}
	if len(items) == 0 {
		return Basket{}, fmt.Errorf("store %q has nothing to order", s.Store)
	}
	b := Basket{
		Number: s.orderNumber(seed, n), Store: s.Store, Code: s.Code, Bulk: spec.Bulk,
		Mode:        choose(random, spec.Mode, Pickup, Delivery, 0.15),
		DeliveredBy: choose(random, spec.DeliveredBy, BySelf, ByPartner, 0.4),
		Customer:    s.customer(random),
	}
	if random.Float64() < 0.3 {
		b.Note = notes[random.IntN(len(notes))]
	}
	lines := min(1+random.IntN(2)+random.IntN(2)+random.IntN(2), len(items))
	for range lines {
		i := random.IntN(len(items))
		b.Lines = append(b.Lines, items[i].line(random, spec.Bulk))
		items[i] = items[len(items)-1]
		items = items[:len(items)-1]
	}
	return b, nil
}

// orderNumber derives an order's number from the seed, n and the store.
func (s Menu) orderNumber(seed uint64, n int) string {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d/%d/%s", seed, n, s.Store)
	return strconv.FormatUint(100_000_000_000+sum.Sum64()%900_000_000_000, 10)
}

// Edited returns the basket with one more of the first item, and without the last of several.
func (b Basket) Edited() Basket {
	b.Lines = slices.Clone(b.Lines[:max(1, len(b.Lines)-1)])
	b.Lines[0].Quantity++
	return b
}

// EditedNumber returns the number of the order that replaces an edited one.
func EditedNumber(number string) string { return "1" + number }

func choose(random *rand.Rand, required, rare, common string, share float64) string {
	if rarely := random.Float64() < share; required == "" && rarely {
		return rare
	}
	if required != "" {
		return required
	}
	return common
}

func (s Menu) customer(random *rand.Rand) Customer {
	home, city := defaultLocation, "Oakland"
	if s.Point != nil {
		home = *s.Point
	}
	if s.City != "" {
		city = s.City
	}
	// within about 2 km, rounded to a metre
	near := func(at float64) float64 { return float64(int64((at+(random.Float64()-0.5)*0.04)*1e5)) / 1e5 }
	return Customer{
		Name: names[random.IntN(len(names))], Phone: fmt.Sprintf("+1510555%04d", random.IntN(10_000)),
		Street: fmt.Sprintf("%d %s", 1+random.IntN(200), streets[random.IntN(len(streets))]), City: city,
		Zip:   fmt.Sprintf("946%02d", random.IntN(100)),
		Point: Point{near(home.Latitude), near(home.Longitude)},
	}
}

// orderable reports whether the item is in stock and has enough options for its groups.
func (d *Item) orderable() bool {
	if d.OutOfStock {
		return false
	}
	for _, c := range d.OptionGroups {
		if int64(len(c.Options)) < c.Min {
			return false
		}
	}
	return true
}

func (d *Item) line(random *rand.Rand, bulk bool) Line {
	l := Line{Ref: d.Ref, Title: d.Title, Price: d.Price, Quantity: 1}
	switch {
	case bulk:
		l.Quantity = 10 + random.Int64N(20)
	case random.Float64() < 0.25:
		l.Quantity = 2 + random.Int64N(2)
	}
	if random.Float64() < 0.15 {
		l.Note = lineNotes[random.IntN(len(lineNotes))]
	}
	chosen := map[string]bool{} // an option in two groups is chosen once
	for _, c := range d.OptionGroups {
		most := min(int64(len(c.Options)), c.Min+2)
		if c.Max >= 0 {
			most = max(min(most, c.Max), c.Min)
		}
		remaining := c.Min + random.Int64N(most-c.Min+1)
		for _, i := range random.Perm(len(c.Options)) {
			if o := c.Options[i]; remaining > 0 && !chosen[o.Ref] {
				chosen[o.Ref] = true
				l.Options = append(l.Options, o)
				remaining--
			}
		}
	}
	return l
}
