package core

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventType is what a webhook subscribes to (spec, Events).
type EventType string

// The event types of the spec, and the two that carry the callbacks for which
// the spec has no event.
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

// EventTypes lists every event type, the spec's first and in its order.
func EventTypes() []EventType {
	return []EventType{
		OrderPlaced, OrderStatusUpdate, RiderStatusUpdate, InventoryUpdate, StoreCreation, StoreAction,
		ItemStateToggle, CatalogueTimingGroup, OptionStateToggle, HubMenuPublish, OrderItemsOOSProcessed,
		WebhookRetry, FeatureAction,
	}
}

// eventNumbers are the numeric ids by which existing clients name event types.
var eventNumbers = map[string]EventType{
	"18": OrderPlaced, "12002": HubMenuPublish, "12004": ItemStateToggle, "12005": OptionStateToggle,
	"60008": OrderStatusUpdate, "60012": RiderStatusUpdate, "60013": InventoryUpdate, "60014": StoreCreation,
	"60015": StoreAction, "60016": CatalogueTimingGroup, "60018": OrderItemsOOSProcessed,
}

// ParseEventType reads an event type by its name or its numeric id.
func ParseEventType(s string) (EventType, bool) {
	if t, ok := eventNumbers[s]; ok {
		return t, true
	}
	t := EventType(s)
	return t, slices.Contains(EventTypes(), t)
}

// Number is the numeric id of an event type, 0 where it has none.
func (t EventType) Number() int {
	for number, named := range eventNumbers {
		if named == t {
			id, _ := strconv.Atoi(number) // the table holds numbers alone
			return id
		}
	}
	return 0
}

// EventTypeNames is the list of names for messages.
func EventTypeNames() string {
	names := make([]string, 0, len(eventNumbers)+2)
	for _, t := range EventTypes() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// Event is something that happened in a business and is told to its
// subscribers. It is stored in the transaction of its cause.
type Event struct {
	ID          ID
	Business    BusinessID
	Type        EventType
	At          time.Time
	Body        []byte // the JSON that receivers get
	Reference   string // the request's reference, when it answers one
	CallbackURL string // when set, the event goes there and to no subscription
	Order       int64  // the order that it belongs to; 0: none
	Place       int    // its position among the events of its order, from 1; 0: the next one, when it is stored
	WebhookID   int64  // when set, the event goes to this subscription alone, switched on or not
	Test        bool   // a sample, sent on request
	Trace       Trace  // where it happened; "": where the context is in which it is stored
}
