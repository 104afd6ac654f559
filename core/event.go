package core

import (
	"slices"
	"strconv"
	"time"
)

// EventType is the type of event that a webhook subscribes to.
type EventType string

// The event types. WebhookRetry and FeatureAction report the results of order retries and feature actions.
const (
	OrderPlaced            EventType = "order_placed"
	OrderStatusUpdate      EventType = "order_status_update"
	RiderStatusUpdate      EventType = "rider_status_update"
	InventoryUpdate        EventType = "inventory_update"
	StoreCreation          EventType = "store_creation"
	StoreAction            EventType = "store_action"
	ItemStateToggle        EventType = "item_state_toggle"
	CatalogueTimingGroup   EventType = "catalogue_timing_grp"
	OptionStateToggle      EventType = "option_state_toggle"
	HubMenuPublish         EventType = "hub_menu_publish"
	OrderItemsOOSProcessed EventType = "order_items_oos_processed"
	WebhookRetry           EventType = "webhook_retry"
	FeatureAction          EventType = "feature_action"
)

// EventTypes returns every event type, in the order of the API reference.
func EventTypes() []EventType {
	return []EventType{
		OrderPlaced, OrderStatusUpdate, RiderStatusUpdate, InventoryUpdate, StoreCreation, StoreAction,
		ItemStateToggle, CatalogueTimingGroup, OptionStateToggle, HubMenuPublish, OrderItemsOOSProcessed,
		WebhookRetry, FeatureAction,
	}
}

// eventNumbers maps the numeric ids that existing clients use to event types.
var eventNumbers = map[string]EventType{
	"18": OrderPlaced, "12002": HubMenuPublish, "12004": ItemStateToggle, "12005": OptionStateToggle,
	"60008": OrderStatusUpdate, "60012": RiderStatusUpdate, "60013": InventoryUpdate, "60014": StoreCreation,
	"60015": StoreAction, "60016": CatalogueTimingGroup, "60018": OrderItemsOOSProcessed,
}

// ParseEventType parses an event type from its name or numeric id.
func ParseEventType(s string) (EventType, bool) {
	if t, ok := eventNumbers[s]; ok {
		return t, true
	}
	t := EventType(s)
	return t, slices.Contains(EventTypes(), t)
}

// Number returns the numeric id of an event type, or 0 if it has none.
func (t EventType) Number() int {
	for number, named := range eventNumbers {
		if named == t {
			id, _ := strconv.Atoi(number) // every key is a number
			return id
		}
	}
	return 0
}

// Event is something that happened in a business and that its subscribers are notified of. It is stored in the same
// transaction as its cause.
type Event struct {
	ID          ID
	Business    BusinessID
	Type        EventType
	At          time.Time
	Body        []byte // the JSON body that receivers get
	Reference   string // the reference of the request that caused it, if any
	CallbackURL string // if set, the event goes to this URL and to no subscription
	OrderID     int64  // the order it belongs to; 0 is none
	Sequence    int    // its sequence among the events of its order, from 1; 0: assigned when it is stored
	WebhookID   int64  // if set, the event goes to this subscription only, even if disabled
	Test        bool   // a sample, sent on request
	Trace       Trace  // the trace it belongs to; "": taken from the context when it is stored
}
