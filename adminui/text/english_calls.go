package text

// Texts of calls to aggregators.
const (
	PlatformCalls = "Platform calls"
	PlatformCall  = "Call"
	CallID        = "Call id"
	CallsNote     = "A call is a request of the hub to a platform, such as the new state of an order. Menus and " +
		"accepted rider locations are not included."
	CallPayload   = "What the call is about"
	NoCallsFound  = "No calls"
	NoCallsFound_ = "The hub calls a platform when something changes about its orders, or about a store there."
	NoCallsFilter = "Select a longer time, or clear the filters."
	StoreOf       = "Store %d"
	TextInCall    = "Request or response"

	CallState_done    = "Accepted"
	CallState_pending = "Result expected"
	CallState_skipped = "Not sent"

	CallKind_order_acknowledge = "Acknowledgement"
	CallKind_order_status      = "Order status"
	CallKind_items_oos         = "Items out of stock"
	CallKind_rider_status      = "Rider status"
	CallKind_action            = "Action"
	CallKind_store_action      = "Store opened or closed"
	CallKind_item_action       = "Items enabled or disabled"
	CallKind_inbound_fetch     = "Fetch of an order"
)
