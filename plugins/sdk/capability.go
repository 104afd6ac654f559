package sdk

import "slices"

// The capabilities of plugins: one for each interface of this package, sorted by name.
const (
	CapabilityActionCallback   = "action_callback"
	CapabilityActionPlan       = "action_plan"
	CapabilityActionResponse   = "action_response"
	CapabilityAvailability     = "availability_result"
	CapabilityItemAction       = "item_action"
	CapabilityItemActionFull   = "item_action_full"
	CapabilityMenuCheck        = "menu_check"
	CapabilityMenuContext      = "menu_check_context"
	CapabilityMenuRender       = "menu_render"
	CapabilityMenuResult       = "menu_result"
	CapabilityMenuServe        = "menu_serve"
	CapabilityMenuUnlist       = "menu_unlist"
	CapabilityOrderAcknowledge = "order_acknowledge"
	CapabilityOrderFetch       = "order_fetch"
	CapabilityAcknowledgement  = "order_acknowledge_result"
	CapabilityOrderItemsOOS    = "order_items_oos"
	CapabilityOrderOOSResult   = "order_items_oos_result"
	CapabilityOrderPreparing   = "order_preparing"
	CapabilityOrderStatus      = "order_status"
	CapabilityOrderTranslate   = "order_translate"
	CapabilityPoll             = "poll"
	CapabilityRiderLocation    = "rider_location"
	CapabilityRiderStatus      = "rider_status"
	CapabilityStoreAction      = "store_action"
	CapabilityStoreBusy        = "store_busy"
)

// methods is the capability by method of the protocol.
var methods = map[string]string{
	"Menu.CheckItems":              CapabilityMenuCheck,
	"Menu.Render":                  CapabilityMenuRender,
	"Menu.InterpretPublish":        CapabilityMenuResult,
	"Menu.PlanUnlist":              CapabilityMenuUnlist,
	"Menu.Serve":                   CapabilityMenuServe,
	"Orders.Translate":             CapabilityOrderTranslate,
	"Orders.TranslateFetched":      CapabilityOrderFetch,
	"Orders.PlanAcknowledge":       CapabilityOrderAcknowledge,
	"Orders.InterpretAcknowledge":  CapabilityAcknowledgement,
	"Orders.PlanStatus":            CapabilityOrderStatus,
	"Orders.PlanItemsOOS":          CapabilityOrderItemsOOS,
	"Orders.InterpretItemsOOS":     CapabilityOrderOOSResult,
	"Riders.PlanStatus":            CapabilityRiderStatus,
	"Riders.PlanLocation":          CapabilityRiderLocation,
	"Polls.Plan":                   CapabilityPoll,
	"Polls.Interpret":              CapabilityPoll,
	"Availability.PlanStore":       CapabilityStoreAction,
	"Availability.PlanItems":       CapabilityItemAction,
	"Availability.PlanBusy":        CapabilityStoreBusy,
	"Availability.InterpretAnswer": CapabilityAvailability,
	"Actions.PlanAction":           CapabilityActionPlan,
	"Actions.InterpretResponse":    CapabilityActionResponse,
	"Actions.InterpretCallback":    CapabilityActionCallback,
}

// CapabilityOf returns the capability of a method, such as Menu.Render. It returns "" for a method of every plugin
// and for an unknown one.
func CapabilityOf(method string) string { return methods[method] }

// Capabilities returns the capabilities of a plugin, sorted.
func Capabilities(p Plugin) []string {
	var has []string
	add := func(capability string, ok bool) {
		if ok {
			has = append(has, capability)
		}
	}
	add(CapabilityActionCallback, implements[CallbackInterpreter](p))
	add(CapabilityActionPlan, implements[ActionPlanner](p))
	add(CapabilityActionResponse, implements[ResponseInterpreter](p))
	add(CapabilityAvailability, implements[AvailabilityInterpreter](p))
	add(CapabilityItemAction, implements[ItemActionPlanner](p))
	add(CapabilityItemActionFull, implements[FullItemActionPlanner](p))
	add(CapabilityMenuCheck, implements[MenuChecker](p) || implements[MenuContextChecker](p))
	add(CapabilityMenuContext, implements[MenuContextChecker](p))
	add(CapabilityMenuRender, implements[MenuRenderer](p))
	add(CapabilityMenuResult, implements[PublishInterpreter](p))
	add(CapabilityMenuServe, implements[MenuServer](p))
	add(CapabilityMenuUnlist, implements[Unlister](p))
	add(CapabilityOrderAcknowledge, implements[OrderAcknowledger](p))
	add(CapabilityOrderFetch, implements[FetchTranslator](p))
	add(CapabilityAcknowledgement, implements[AcknowledgeInterpreter](p))
	add(CapabilityOrderItemsOOS, implements[ItemsOOSPlanner](p))
	add(CapabilityOrderOOSResult, implements[ItemsOOSInterpreter](p))
	add(CapabilityOrderPreparing, implements[PreparingPlanner](p))
	add(CapabilityOrderStatus, implements[OrderStatusPlanner](p))
	add(CapabilityOrderTranslate, implements[OrderTranslator](p))
	add(CapabilityPoll, implements[Poller](p))
	add(CapabilityRiderLocation, implements[RiderLocationPlanner](p))
	add(CapabilityRiderStatus, implements[RiderStatusPlanner](p))
	add(CapabilityStoreAction, implements[StoreActionPlanner](p))
	add(CapabilityStoreBusy, implements[StoreBusyPlanner](p))
	slices.Sort(has)
	return has
}

func implements[T any](p Plugin) bool {
	_, ok := p.(T)
	return ok
}

// knownCapability reports whether this version of the protocol has a capability.
func knownCapability(name string) bool {
	for _, capability := range methods {
		if capability == name {
			return true
		}
	}
	// Of parts of Menu.CheckItems, Orders.PlanStatus and Availability.PlanItems.
	return name == CapabilityMenuContext || name == CapabilityOrderPreparing || name == CapabilityItemActionFull
}
