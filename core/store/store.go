// Package store implements the rules of stores. It decodes and checks bulk requests, plans their changes and renders
// the callback. It also decides on which platforms a store is listed.
package store

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// MaxStores bounds the stores of one request.
const MaxStores = 5000

// Object is a store as a POS submits it. A nil field was not sent, and an update leaves it unchanged. A slice that was
// sent empty is not nil.
type Object struct {
	RefID              *string        `json:"ref_id,omitzero"`
	City               *string        `json:"city,omitzero"`
	Name               *string        `json:"name,omitzero"`
	MinPickupTime      *int64         `json:"min_pickup_time,omitzero"`   // seconds
	MinDeliveryTime    *int64         `json:"min_delivery_time,omitzero"` // seconds
	ContactPhone       *string        `json:"contact_phone,omitzero"`
	NotificationPhones []string       `json:"notification_phones,omitzero"`
	NotificationEmails []string       `json:"notification_emails,omitzero"`
	MinOrderValue      *core.Amount   `json:"min_order_value,omitempty"`
	HideFromUI         *bool          `json:"hide_from_ui,omitzero"`
	Address            *string        `json:"address,omitzero"`
	ZipCodes           []string       `json:"zip_codes,omitzero"`
	Longitude          *float64       `json:"geo_longitude,omitzero"`
	Latitude           *float64       `json:"geo_latitude,omitzero"`
	Active             *bool          `json:"active,omitzero"`
	OrderingEnabled    *bool          `json:"ordering_enabled,omitzero"`
	Translations       []Translation  `json:"translations,omitzero"`
	ExcludedPlatforms  []string       `json:"excluded_platforms,omitzero"`
	IncludedPlatforms  []string       `json:"included_platforms,omitzero"`
	PlatformData       []PlatformData `json:"platform_data,omitzero"`
	Timings            []Timing       `json:"timings,omitzero"`

	SpecialTimings []core.DateHours `json:"special_timings,omitzero"` // replace timings on their dates
}

// OpeningHours returns the hours of the store.
func (o Object) OpeningHours() core.OpeningHours {
	return core.OpeningHours{Week: o.Timings, Dates: o.SpecialTimings}
}

// Translation is the name of a store in one language.
type Translation struct {
	Language string `json:"language"` // see core.ReadLanguage
	Name     string `json:"name"`
}

// PlatformData identifies the store on a platform.
type PlatformData struct {
	Name            string `json:"name"`
	URL             string `json:"url,omitzero"`
	PlatformStoreID string `json:"platform_store_id,omitzero"`
}

// Timing is the opening hours of one weekday.
type Timing = core.DayHours

// Submitted is one store of a request, in raw and decoded form.
type Submitted struct {
	Raw      jsontext.Value
	Object   Object
	Warnings []core.Warning // about what was read otherwise than it was sent
}

// Request is a bulk request that passed the structural checks.
type Request struct {
	Stores      []Submitted
	CallbackURL string
}

// RefIDs returns the ref_ids of the stores, in the order of the request.
func (r Request) RefIDs() []string {
	refs := make([]string, len(r.Stores))
	for i, submitted := range r.Stores {
		refs[i] = *submitted.Object.RefID
	}
	return refs
}

// PlatformStoreIDs returns the ids that platforms may use for the stores after the request. A store without platform
// fields keeps its ids. If it is new, the default listing of its business applies.
func (r Request) PlatformStoreIDs(state State) (ids []string) {
	for _, submitted := range r.Stores {
		o := submitted.Object
		_, exists := state.Stores[*o.RefID]
		if !exists && state.Default == ListAll || o.ExcludedPlatforms != nil || o.IncludedPlatforms != nil ||
			o.PlatformData != nil {
			ids = append(ids, *o.RefID)
		}
		for _, data := range o.PlatformData {
			if data.PlatformStoreID != "" {
				ids = append(ids, data.PlatformStoreID)
			}
		}
	}
	return ids
}
