package store

import (
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// Effective is a store as a channel shows it.
type Effective struct {
	ID              int64          `json:"id"`
	RefID           string         `json:"ref_id"`
	Name            string         `json:"name"`
	City            string         `json:"city"`
	Address         *string        `json:"address,omitzero"`
	ContactPhone    *string        `json:"contact_phone,omitzero"`
	Latitude        *float64       `json:"geo_latitude,omitzero"`
	Longitude       *float64       `json:"geo_longitude,omitzero"`
	MinPickupTime   *int64         `json:"min_pickup_time,omitzero"`   // seconds
	MinDeliveryTime *int64         `json:"min_delivery_time,omitzero"` // seconds
	MinOrderValue   *core.Amount   `json:"min_order_value,omitempty"`
	HideFromUI      bool           `json:"hide_from_ui"`
	Active          bool           `json:"active"`
	OrderingEnabled bool           `json:"ordering_enabled"`
	ClosedOn        []string       `json:"closed_on,omitempty"` // platforms on which it takes no orders
	BusyOn          []PlatformBusy `json:"busy_on,omitempty"`
	OpenNow         bool           `json:"open_now"`
	Timings         []Timing       `json:"timings"`

	SpecialTimings []core.DateHours `json:"special_timings,omitempty"`

	ZipCodes     []string       `json:"zip_codes"`
	Platforms    []string       `json:"platforms"` // on which it is listed
	PlatformData []PlatformData `json:"platform_data,omitzero"`
	Translations []Translation  `json:"translations,omitzero"`
}

// StoreContext is the state of a business, other than its stores, that effective stores depend on.
type StoreContext struct {
	Timezone  string // IANA name
	Platforms []core.Platform
	Names     core.PlatformNames // of these
	ZipCodes  bool               // at least one of the business's stores has zip codes
}

// platform returns a platform by its name or an alias, or NotFound.
func (p StoreContext) platform(name string) (core.Platform, error) {
	for _, platform := range p.Platforms {
		if platform.Name == p.Names.Resolve(name) {
			return platform, nil
		}
	}
	return core.Platform{}, core.NoSuch("platform", strconv.Quote(name), "there is no platform with this name")
}

// UsesZipCodes reports whether zip codes decide deliverability on the platform. They do on the merchant's own platforms
// if any store of the business has zip codes. Otherwise the channel decides.
func (p StoreContext) UsesZipCodes(platform core.Platform) bool {
	return p.ZipCodes && platform.ServedBy == core.ServedByMerchant
}

// DeliversTo reports whether a list of zip codes contains one. It ignores case and spaces.
func DeliversTo(zipCodes []string, zip string) bool {
	wanted := normalizeZip(zip)
	for _, code := range zipCodes {
		if normalizeZip(code) == wanted {
			return true
		}
	}
	return false
}

func normalizeZip(zip string) string { return strings.ToUpper(strings.ReplaceAll(zip, " ", "")) }

// effective returns a store as a channel shows it at a local time.
func effective(s Stored, p StoreContext, local time.Time) Effective {
	listing, platforms := Listing{s.ExcludedPlatforms, s.IncludedPlatforms}, make([]string, 0, len(p.Platforms))
	for _, platform := range p.Platforms {
		platforms = append(platforms, platform.Name)
	}
	open, _ := s.OpeningHours().OpenAt(local)
	e := Effective{
		ID: s.ID, RefID: *s.RefID, Name: *s.Name, City: *s.City, Address: s.Address, ContactPhone: s.ContactPhone,
		Latitude: s.Latitude, Longitude: s.Longitude, MinPickupTime: s.MinPickupTime,
		MinDeliveryTime: s.MinDeliveryTime,
		MinOrderValue:   s.MinOrderValue, HideFromUI: *s.HideFromUI, Active: *s.Active,
		OrderingEnabled: s.TakesOrders(),
		OpenNow:         open, Timings: s.Timings, SpecialTimings: s.SpecialTimings,
		ZipCodes: s.ZipCodes, Platforms: listing.Filter(platforms),
		PlatformData: s.PlatformData, Translations: s.Translations,
	}
	for _, closing := range s.ClosedOn {
		e.ClosedOn = append(e.ClosedOn, closing.Platform)
	}
	for _, busy := range s.BusyOn {
		busy.Actor = ""
		e.BusyOn = append(e.BusyOn, busy)
	}
	if e.Timings == nil {
		e.Timings = []Timing{}
	}
	if e.ZipCodes == nil {
		e.ZipCodes = []string{}
	}
	return e
}
