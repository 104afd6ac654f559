package text

// Words of the sandbox.
const (
	Sandbox      = "Sandbox"
	SandboxNote  = "Simulated customers of a business in test mode"
	SandboxBegun = "The scenario has begun."
	SandboxNone  = "The business is not in test mode: none of its aggregators is simulated. servery business " +
		"create --sandbox makes one that is; the simulator has to run."
	SandboxReady  = "Nothing has been played since this hub started. Orders come from the store's own menu."
	SandboxAbout  = "%s: %s orders at store %s, seed %d."
	SandboxRuns   = "It is being played."
	SandboxRan    = "Every call was answered as it should be."
	SandboxFailed = "It went wrong: %s"
	PlayOrderSay  = "Customers place orders from the store's menu."
	PlayRiderSay  = "Customers place self-delivery orders, whose riders move from the store to the door."
	PlayCancelSay = "Customers place orders. The merchant brings some of them to a state drawn by lot, and there " +
		"they are cancelled."
	PlayEditSay = "Customers place orders and change them. The order anew, under its id, is known to the hub, " +
		"which says so and keeps the first; so the first is cancelled, and the changed one comes under another id."
	PlayRushSay      = "Customers place many orders at a rate, at most 200 a second for a minute."
	PlayStore        = "Store (ref_id)"
	PlayStoreHint    = "such as S-1"
	PlayCount        = "Orders"
	PlayRate         = "Orders a second; 0: one after the other"
	PlaySeed         = "Seed; the same one places the same orders, empty draws one"
	PlayPlatform     = "Platform; empty: all of the store's"
	PlayPlaces       = "Places that are told on the way"
	PlayStep         = "Seconds between two moves of a rider"
	PlayShare        = "Of them cancelled, in percent"
	PlayNumber       = "%s must be a number."
	PlayCallsTitle   = "No calls yet"
	PlayCallsText    = "What the scenario calls, and how soon it is answered, shows here."
	PlayAnsweredFast = "Half within"
	PlayAnswered     = "99% within"
	Arrived          = "Orders arrived"
	ArrivedOf        = "of %s webhooks of %s new orders"
	ArrivedFailed    = "Given up"
	ArrivedWaiting   = "%s under way"
	ArrivedFast      = "Half arrived within"
	ArrivedIn        = "99% arrived within"
	ArrivedSince     = "from acceptance to the receiver's answer"
	ArrivedNot       = "%s order_placed webhooks were given up."
	ArrivedRetry     = "%s order_placed webhooks were refused and are sent again later."
	ArrivedNone      = "Nothing is subscribed to order_placed, so the orders are sent nowhere."
	ArrivedKnown     = "%s orders were known to the hub before, by the same seed: they bring no webhook."
	ArrivedLook      = "Look at them"
	FaultsTitle      = "Faults"
	FaultOn          = "Let it fail"
	FaultSay         = "The simulated aggregators of this business do wrong, and of no other."
	FaultKind        = "Fault"
	FaultBefalls     = "Call"
	FaultStatus      = "Status, where it fails"
	FaultDelay       = "Seconds, where it is slow"
	FaultProbability = "How often, in percent"
	FaultSeed        = "Seed of what is drawn; empty: 0"
	FaultLasts       = "Seconds until it ends by itself; 0: until it is switched off"
	FaultNever       = "The fault would never happen: how often must be above 0, up to 100."
	FaultsOn         = "Faults that are on: %d. Simulated aggregators do wrong on purpose."
	FaultsDetail     = "What the hub tells them may fail and come again later."
	FaultsUnknown    = "Whether faults are on cannot be told: %s."
	FaultsOff        = "Switch all faults off"
	FaultUntil       = "Until"
	FaultForever     = "it is switched off"
	FaultForeign     = "the simulator stops"
	FaultHits        = "So far"
	FaultShare       = "in %s%% of the calls, seed %d"
	FaultHow         = "How"
	FaultSwitched    = "The fault is on."
	FaultsCleared    = "All faults of this business are off."
)

// Plays are the scenarios in words.
var Plays = map[string]string{"order": "Place orders", "rider": "Move riders", "cancel": "Cancel orders",
	"edit": "Edit orders", "rush": "Rush"}

// FaultKinds are the kinds of faults in words.
var FaultKinds = map[string]string{
	"fail": "Fails with a status", "delay": "Answers late", "hang": "Never answers", "reset": "Cuts the connection",
	"refuse":    "Refuses, in its own form",
	"duplicate": "Sends what it sends twice",
}
