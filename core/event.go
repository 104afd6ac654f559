package core

import (
	"strconv"
	"time"
)

// EventType is the type of event that a webhook subscribes to.
type EventType string

// The event types. WebhookRetry and FeatureAction exist for callbacks of requests.
const (
	OrderPlaced            EventType = "order_placed"
	OrderStatusUpdate      EventType = "order_status_update"
	OrderUpdated           EventType = "order_updated"
	OrderReleased          EventType = "order_released"
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
	StorePlatformStatus    EventType = "store_platform_status"
)

// eventTypes lists every event type, in a fixed order, with the number that existing clients use or 0.
var eventTypes = []struct {
	name   EventType
	number int
}{
	{OrderPlaced, 18}, {OrderStatusUpdate, 60008}, {RiderStatusUpdate, 60012}, {InventoryUpdate, 60013},
	{StoreCreation, 60014}, {StoreAction, 60015}, {ItemStateToggle, 12004}, {CatalogueTimingGroup, 60016},
	{OptionStateToggle, 12005}, {HubMenuPublish, 12002}, {OrderItemsOOSProcessed, 60018}, {WebhookRetry, 0},
	{FeatureAction, 0}, {OrderReleased, 0}, {OrderUpdated, 0}, {StorePlatformStatus, 0},
}

// EventTypes returns every event type, in a fixed order.
func EventTypes() []EventType {
	list := make([]EventType, len(eventTypes))
	for i := range eventTypes {
		list[i] = eventTypes[i].name
	}
	return list
}

// ParseEventType parses an event type from its name or numeric id.
func ParseEventType(s string) (EventType, bool) {
	for _, t := range eventTypes {
		if s == string(t.name) || t.number != 0 && s == strconv.Itoa(t.number) {
			return t.name, true
		}
	}
	return EventType(s), false
}

// Number returns the numeric id of an event type, or 0 if it has none.
func (t EventType) Number() int {
	for _, known := range eventTypes {
		if known.name == t {
			return known.number
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
