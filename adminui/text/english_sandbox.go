package text

// Words of the sandbox.
const (
	Sandbox      = "Sandbox"
	SandboxNote  = "Simulated customers of a business in test mode"
	SandboxBegun = "The scenario has started."
	SandboxNone  = "The business is not in test mode: none of its aggregators is simulated. Create one with servery " +
		"business create --sandbox, and run the simulator."
	SandboxReady  = "No scenario has run since this hub started. Orders use the store's menu."
	SandboxAbout  = "%s: %s at store %s, seed %d."
	SandboxRuns   = "It is running."
	SandboxRan    = "Every call had the expected response."
	SandboxFailed = "It failed: %s"
	PlayOrderSay  = "Customers place orders from the store's menu."
	PlayRiderSay  = "Customers place self-delivery orders, and riders move from the store to the customer."
	PlayCancelSay = "Customers place orders. The merchant moves some of them to a random state, and they are then " +
		"cancelled."
	PlayEditSay = "Customers place orders and change them. The hub knows the id of a changed order and stores only " +
		"the first. So the first is cancelled, and the changed one is placed with another id."
	PlayRushSay      = "Customers place many orders at a fixed rate, at most 200 a second for a minute."
	PlayStore        = "Store (ref_id)"
	PlayStoreHint    = "such as S-1"
	PlayCount        = "Orders"
	PlayRate         = "Orders a second; 0: one after the other"
	PlaySeed         = "Seed; the same one places the same orders, empty: random"
	PlayPlatform     = "Platform; empty: all of the store's"
	PlayPlaces       = "Locations that each rider sends"
	PlayStep         = "Seconds between two moves of a rider"
	PlayShare        = "Cancelled orders, in percent"
	PlayNumber       = "%s must be a number."
	PlayCallsTitle   = "No calls yet"
	PlayCallsText    = "The calls of the scenario and their response times appear here."
	PlayAnsweredFast = "Half within"
	PlayAnswered     = "99% within"
	Arrived          = "Orders delivered"
	ArrivedOf        = "of %s for %s"
	ArrivedFailed    = "Failed"
	ArrivedWaiting   = "%s pending"
	ArrivedFast      = "Half delivered within"
	ArrivedIn        = "99% delivered within"
	ArrivedSince     = "from acceptance to the receiver's response"
	ArrivedNot       = "Failed deliveries of order_placed: %s."
	ArrivedRetry     = "Deliveries of order_placed that will be retried: %s."
	ArrivedNone      = "No webhook is subscribed to order_placed, so the orders are not sent."
	ArrivedKnown     = "Orders that the hub knew already, from the same seed: %s. They cause no webhook."
	ArrivedLook      = "View deliveries"
	FaultsTitle      = "Faults"
	FaultOn          = "Start a fault"
	FaultSay         = "Only the simulated aggregators of this business are affected."
	FaultKind        = "Fault"
	FaultBefalls     = "Call"
	FaultStatus      = "Status, where it fails"
	FaultDelay       = "Seconds, where it is slow"
	FaultProbability = "How often, in percent"
	FaultSeed        = "Seed of the random choice; empty: 0"
	FaultLasts       = "Seconds until it ends; 0: until it is stopped"
	FaultNever       = "How often must be above 0 and at most 100."
	FaultsOn         = "Active faults: %d. Simulated aggregators fail on purpose."
	FaultsDetail     = "Calls of the hub to them may fail and be retried."
	FaultsUnknown    = "It is not known whether faults are active: %s."
	FaultsOff        = "Stop all faults"
	FaultUntil       = "Until"
	FaultForever     = "it is stopped"
	FaultForeign     = "the simulator stops"
	FaultHits        = "So far"
	FaultShare       = "in %s%% of the calls, seed %d"
	FaultHow         = "How"
	FaultSwitched    = "The fault is active."
	FaultsCleared    = "All faults of this business are stopped."
)

// Plays are the scenarios in words.
var Plays = map[string]string{"order": "Place orders", "rider": "Move riders", "cancel": "Cancel orders",
	"edit": "Edit orders", "rush": "Rush"}

// FaultKinds are the kinds of faults in words.
var FaultKinds = map[string]string{
	"fail": "Fails with a status", "delay": "Responds late", "hang": "Never responds", "reset": "Cuts the connection",
	"refuse":    "Rejects, in its own format",
	"duplicate": "Sends everything twice",
}
