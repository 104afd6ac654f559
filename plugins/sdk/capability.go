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

// capability is a capability of this version of the protocol, with the methods that need it. One without a method is
// about a part of Menu.CheckItems, Orders.PlanStatus or Availability.PlanItems.
type capability struct {
	name    string
	has     func(Plugin) bool
	methods []string
}

var capabilities = []capability{
	{CapabilityActionCallback, implements[CallbackInterpreter], []string{"Actions.InterpretCallback"}},
	{CapabilityActionPlan, implements[ActionPlanner], []string{"Actions.PlanAction"}},
	{CapabilityActionResponse, implements[ResponseInterpreter], []string{"Actions.InterpretResponse"}},
	{CapabilityAvailability, implements[AvailabilityInterpreter], []string{"Availability.InterpretAnswer"}},
	{CapabilityItemAction, implements[ItemActionPlanner], []string{"Availability.PlanItems"}},
	{CapabilityItemActionFull, implements[FullItemActionPlanner], nil},
	{CapabilityMenuCheck, func(p Plugin) bool {
		return implements[MenuChecker](p) || implements[MenuContextChecker](p)
	}, []string{"Menu.CheckItems"}},
	{CapabilityMenuContext, implements[MenuContextChecker], nil},
	{CapabilityMenuRender, implements[MenuRenderer], []string{"Menu.Render"}},
	{CapabilityMenuResult, implements[PublishInterpreter], []string{"Menu.InterpretPublish"}},
	{CapabilityMenuServe, implements[MenuServer], []string{"Menu.Serve"}},
	{CapabilityMenuUnlist, implements[Unlister], []string{"Menu.PlanUnlist"}},
	{CapabilityOrderAcknowledge, implements[OrderAcknowledger], []string{"Orders.PlanAcknowledge"}},
	{CapabilityOrderFetch, implements[FetchTranslator], []string{"Orders.TranslateFetched"}},
	{CapabilityAcknowledgement, implements[AcknowledgeInterpreter], []string{"Orders.InterpretAcknowledge"}},
	{CapabilityOrderItemsOOS, implements[ItemsOOSPlanner], []string{"Orders.PlanItemsOOS"}},
	{CapabilityOrderOOSResult, implements[ItemsOOSInterpreter], []string{"Orders.InterpretItemsOOS"}},
	{CapabilityOrderPreparing, implements[PreparingPlanner], nil},
	{CapabilityOrderStatus, implements[OrderStatusPlanner], []string{"Orders.PlanStatus"}},
	{CapabilityOrderTranslate, implements[OrderTranslator], []string{"Orders.Translate"}},
	{CapabilityPoll, implements[Poller], []string{"Polls.Plan", "Polls.Interpret"}},
	{CapabilityRiderLocation, implements[RiderLocationPlanner], []string{"Riders.PlanLocation"}},
	{CapabilityRiderStatus, implements[RiderStatusPlanner], []string{"Riders.PlanStatus"}},
	{CapabilityStoreAction, implements[StoreActionPlanner], []string{"Availability.PlanStore"}},
	{CapabilityStoreBusy, implements[StoreBusyPlanner], []string{"Availability.PlanBusy"}},
}

// CapabilityOf returns the capability of a method, such as Menu.Render. It returns "" for a method of every plugin
// and for an unknown one.
func CapabilityOf(method string) string {
	for _, c := range capabilities {
		if slices.Contains(c.methods, method) {
			return c.name
		}
	}
	return ""
}

// Capabilities returns the capabilities of a plugin, sorted.
func Capabilities(p Plugin) []string {
	var has []string
	for _, c := range capabilities {
		if c.has(p) {
			has = append(has, c.name)
		}
	}
	slices.Sort(has)
	return has
}

func implements[T any](p Plugin) bool {
	_, ok := p.(T)
	return ok
}

// knownCapability reports whether this version of the protocol has a capability.
func knownCapability(name string) bool {
	return slices.ContainsFunc(capabilities, func(c capability) bool { return c.name == name })
}
