package text

// Texts of the sandbox.
const (
	Sandbox        = "Sandbox"
	SandboxNote    = "Simulated customers of a business in test mode"
	SandboxStarted = "The scenario has started."
	SandboxNone    = "The business is not in test mode: none of its aggregators is simulated. Create a " +
		"test business with servery business create --sandbox, and run the simulator."
	SandboxReady       = "No scenario has run since this hub started. Orders use the store's menu."
	SandboxAbout       = "%s: %s at store %s, seed %d."
	SandboxRuns        = "It is running."
	SandboxRan         = "Every call had the expected response."
	SandboxFailed      = "It failed: %s"
	ScenarioOrderHelp  = "Customers place orders from the store's menu."
	ScenarioRiderHelp  = "Customers place self-delivery orders, and riders move from the store to the customer."
	ScenarioCancelHelp = "Customers place orders. The merchant moves some of them to a random state, and they are " +
		"then cancelled."
	ScenarioEditHelp = "Customers place orders and change them. The hub knows the id of a changed order and stores " +
		"only the first. So the first is cancelled, and the changed one is placed with another id."
	ScenarioRushHelp   = "Customers place many orders at a fixed rate, at most 200 a second for a minute."
	ScenarioStore      = "Store (ref_id)"
	ScenarioStoreHint  = "such as S-1"
	ScenarioCount      = "Orders"
	ScenarioRate       = "Orders a second; 0: one after the other"
	ScenarioSeed       = "Seed; the same one places the same orders, empty: random"
	ScenarioPlatform   = "Platform; empty: all of the store's"
	ScenarioLocations  = "Locations that each rider sends"
	ScenarioStep       = "Seconds between two moves of a rider"
	ScenarioShare      = "Cancelled orders, in percent"
	ScenarioNumber     = "%s must be a number."
	ScenarioCallsTitle = "No calls yet"
	ScenarioCallsText  = "The calls of the scenario and their response times appear here."
	ResponseP50        = "Half within"
	ResponseP99        = "99% within"
	OrdersDelivered    = "Orders delivered"
	OrdersDeliveredOf  = "of %s for %s"
	OrdersFailed       = "Failed"
	OrdersPending      = "%s pending"
	DeliveredP50       = "Half delivered within"
	DeliveredP99       = "99% delivered within"
	DeliveredSince     = "from acceptance to the receiver's response"
	CauseOrdersFailed  = "Failed deliveries of order_placed: %s."
	CauseOrdersRetried = "Deliveries of order_placed that will be retried: %s."
	CauseOrdersNotSent = "No webhook is subscribed to order_placed, so the orders are not sent."
	CauseOrdersKnown   = "Orders that the hub knew already, from the same seed: %s. They cause no webhook."
	ActSeeDeliveries   = "View deliveries"
	FaultsTitle        = "Faults"
	FaultOn            = "Start a fault"
	FaultSay           = "Only the simulated aggregators of this business are affected."
	FaultKind          = "Fault"
	FaultAppliesTo     = "Call"
	FaultStatus        = "Status, where it fails"
	FaultDelay         = "Seconds, where it is slow"
	FaultProbability   = "How often, in percent"
	FaultSeed          = "Seed of the random choice; empty: 0"
	FaultDuration      = "Seconds until it ends; 0: until it is stopped"
	FaultNever         = "How often must be above 0 and at most 100."
	FaultsOn           = "Active faults: %d. Simulated aggregators fail on purpose."
	FaultsDetail       = "Calls of the hub to them may fail and be retried."
	FaultsUnknown      = "It is not known whether faults are active: %s."
	FaultsOff          = "Stop all faults"
	FaultUntil         = "Until"
	FaultForever       = "it is stopped"
	FaultGlobal        = "the simulator stops"
	FaultHits          = "So far"
	FaultShare         = "in %s%% of the calls, seed %d"
	FaultHow           = "How"
	FaultStarted       = "The fault is active."
	FaultsCleared      = "All faults of this business are stopped."
)

// ScenarioNames are the labels of scenarios by kind.
var ScenarioNames = map[string]string{"order": "Place orders", "rider": "Move riders", "cancel": "Cancel orders",
	"edit": "Edit orders", "rush": "Rush"}

// FaultKinds are the labels of faults by kind.
var FaultKinds = map[string]string{
	"fail": "Fails with a status", "delay": "Responds late", "hang": "Never responds", "reset": "Cuts the connection",
	"refuse":    "Rejects, in its own format",
	"duplicate": "Sends everything twice",
}
