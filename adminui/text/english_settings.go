package text

// Texts of settings.
const (
	Settings          = "Settings"
	SettingsNote      = "Platforms, and the settings of their plugins"
	PlatformSettings  = "Settings"
	Own               = "own"
	Addresses         = "URLs"
	AcceptedBy        = "Orders are accepted by"
	AcceptedByHub     = "the hub, as soon as it stores an order"
	AcceptedByPOS     = "the POS, when it acknowledges an order"
	ServedOwn         = "own: the merchant's website and apps"
	AddPlatform       = "Add a platform"
	PlatformName      = "Name, as the merchant calls it; it cannot be changed later"
	PlatformNameWrong = "The name of a platform has 1 to 255 characters."
	NoPlatformsTitle  = "No platforms"
	NoPlatformsText   = "Stores and items are listed on platforms. Add one that the merchant's own channels serve, " +
		"or one that the plugin of an aggregator serves."
	NoSuchPlugin      = "There is no plugin %q."
	SettingsJSON      = "Settings for the plugin, a JSON object"
	AcceptUnsupported = "Plugin %s cannot report that the POS accepted an order. Let the hub accept the orders of " +
		"this platform."
	ServedByChange = "Changing this removes the secrets and URLs below. Enter those of the new one afterwards."
	SettingsOwn    = "Only plugins have settings. This platform is served by the merchant's own channels, so leave " +
		"them empty."
	SettingsWrong    = "Plugin %s rejects the current settings: %s."
	SettingsNoJSON   = "The settings must be a JSON object, such as {\"nutrition\": \"required\"}."
	EndpointOf       = "URL of"
	SecretOf         = "Secret"
	SecretSet        = "Set"
	SecretMissing    = "Not set"
	SecretDrop       = "Remove"
	SecretOfStores   = "Stores with an own value: %s."
	TokenOf          = "Access token %s"
	TokenOfStore     = "Access token %s of store %s"
	TokenNever       = "not requested yet"
	TokenRenewed     = "renewed; valid until %s"
	TokenRenewedOnce = "renewed"
	TokenFailing     = "%s The hub retries with each call."
	LoginOf          = "Login for %s"
	LogIn            = "Log in at the aggregator"
	LoginByOthers    = "Support staff and administrators can log in"
	LoginBack        = "Return URL of logins"
	LoginBackNote    = "Register it with the aggregator, as redirect URI."
	LoginAt          = "Log in at"
	LoginNote        = "For the credential %s. The login ends within 10 minutes, in this browser."
	LoggedIn         = "Logged in. The hub requests access tokens with this login from now on."
	LoginRejected    = "The aggregator rejected the login: %s."
	LoginElsewhere   = "This login started in another browser or too long ago. Log in again on the page of the " +
		"platform."
	ValueOf            = "Value %s, kept by the plugin"
	ValueOfStore       = "Value %s of store %s, kept by the plugin"
	PollOf             = "Poll %s"
	PollOfStore        = "Poll %s of store %s"
	PollNever          = "not polled yet"
	PollNothing        = "no result"
	PollDue            = "due next %s"
	PollRunning        = "running now"
	PollUnscheduled    = "not scheduled: its plugin does not run or declare it, or the platform does not list the store"
	PollFailing        = "%s The hub retries, with a longer pause after each failed run."
	PollsMore          = "Polls not shown"
	Save               = "Save"
	Stored             = "Saved."
	CallbackKeys       = "Callback keys"
	CallbackAddress    = "The aggregator calls"
	OneCallbackKey     = "1 key. With a key, the URL needs no ?business"
	CallbackKeys_      = "the newest of %s keys. With a key, the URL needs no ?business"
	KeysNone           = "none"
	MakeCallbackKey    = "Create a callback key"
	MakeCallbackKeySay = "The aggregator uses it to prove its identity. It is shown once. Earlier keys stay valid " +
		"until they are revoked."
	DropCallbackKeys    = "Revoke earlier keys"
	DropCallbackKeysSay = "From now on, calls with an earlier key are rejected with 401. Earlier keys: %d."
	NewCallbackKey      = "The new callback key, shown this once"
	NewCallbackKeyText  = "Give it to the aggregator now: the hub stores only a hash of it. When the aggregator uses " +
		"it, revoke the earlier keys."
)

// Texts of the monitoring of a business.
const (
	Monitoring     = "Monitoring"
	MonitoringHelp = "Enter times such as 5m, 0 for never, or hub for the default of the hub. Stores are checked " +
		"once a minute."
	AckWithin          = "Report orders that are not acknowledged within"
	SilentAfter        = "Report a POS without contact for"
	CloseSilent        = "Close stores while their POS has no contact"
	HubDefault         = "as the hub is set up"
	ZeroNever          = "0: never"
	MonitoringConflict = "Nothing was saved, because another user has changed it. The page shows the " +
		"current values. Confirm to replace them."
)

// Texts of the default listing of new stores.
const (
	ListStores     = "New stores without platforms from the POS"
	ListStoresAct  = "Where new stores are listed"
	ListStoresAll  = "listed on all platforms"
	ListStoresNone = "listed on no platform"
	ListStoresSay  = "This is for new stores without included_platforms and excluded_platforms. Existing stores do " +
		"not change."
)

// Texts of the aliases of platforms.
const (
	Aliases     = "Aliases"
	Alias       = "Alias"
	AliasNote   = "also %s"
	AliasSent   = "named %s in events"
	AddAlias    = "Add an alias"
	AddAliasSay = "Requests can use it as the name of the platform. Stores and menus that use it already now belong " +
		"to this platform."
	SendAlias   = "Use this name in events"
	SentName    = "Name in events"
	SentNameSay = "From now on, events and the API of the POS use this name for the platform. Earlier events do not " +
		"change."
	OwnName        = "%s, its own name"
	RemoveAlias    = "Remove an alias"
	RemoveAliasSay = "From now on, requests with this name are rejected or have no effect on the platform. Stores " +
		"and items stay listed on it."
)

// Texts of items and stores on platforms.
const (
	HereNotSold   = "The store does not sell it"
	ItemNotListed = "The POS has not selected this platform for the item. To sell it there, select " +
		"the platform in the POS (field included_platforms)."
	ItemRejected           = "The platform does not accept the item: %[2]s (rule %[1]s)"
	ItemRejectedByPlatform = "Rejected by the platform: %s"
	PriceStorePlatform     = "the store's price for this platform"
	PriceOfPlatform        = "the catalogue's price for this platform"
	PriceExternal          = "the store's external_price"
	PriceOfStore           = "the store's price"
	PriceToCome            = "%s, not yet on the platform"
	PriceSent              = "%s, sent to the platform %s"
	CauseItemFinding       = "%s does not accept %s: %s"
	CauseItemWarning       = "%s accepts %s, with a warning: %s"
	RemedyWarning          = "The platform lists the item. Its rule is %s."
	FindingOfItem          = "the item"
	FindingOfStore         = "the store"
	FindingOfEntity        = "the item because of its %s %s"
	RemedyStoreFinding     = "In the POS, correct the store and resend it. The hub then checks the rule %s again."
	RemedyStoreWarning     = "The platform lists the store. Its rule is %s."
	RemedyFinding          = "In the POS, correct the item and resend the menu. The hub then checks the rule " +
		"%s again."
	PublishFailed      = "The menu was not published: %s"
	PublishWaits       = "The menu is waiting to be published: %s"
	PublishUnconfirmed = "Waiting for %s to confirm the menu, since %s, until %s."
	PublishOldShown    = "It shows the menu of %s."
	PublishWarnings    = "The platform has the menu, with %s: %s"
	PublishUnderWay    = "The menu is being published."
	PublishWithout     = "Published without %s (%s): %s"
	CausePluginUnknown = "The platform needs plugin %s, which is not installed. Ask the operator of the hub to " +
		"install it."
	CauseStoreOnBut   = "Not live on %s. %s"
	CauseNotConnected = "Not connected to %s. %s"
	MenuThere         = "Menu published"
	MenuFailed        = "Failed"
	ChangeFailed      = "Last change failed"
	MenuWaits         = "Waiting"
	MenuOwn           = "website or app fetches it"
	NoSuchStore       = "Store not found"
	NoSuchStoreText   = "There is no store with this ref_id."
	PublishNow        = "Publish now"
	PublishNowSay     = "This sends the store's menu to the platforms now, even if they have it already. The " +
		"merchant's own website and apps fetch the menu themselves. Where a plugin does not run, it waits. The " +
		"result appears here."
	PublishOn         = "Platform"
	PublishEverywhere = "all selected platforms with a plugin"
	PublishAsked      = "The menu is being sent to the platforms. The result appears below in a moment."
)
