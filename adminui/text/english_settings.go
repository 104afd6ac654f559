package text

// Words of settings.
const (
	Settings          = "Settings"
	SettingsNote      = "Platforms, and what their plugins need"
	PlatformSettings  = "Settings"
	Own               = "own"
	Addresses         = "Addresses"
	AcceptedBy        = "Orders are accepted by"
	AcceptedByHub     = "the hub, as soon as one is stored"
	AcceptedByPOS     = "the POS, when it acknowledges one"
	ServedOwn         = "own: the merchant's website and apps"
	AddPlatform       = "Add a platform"
	PlatformName      = "Name, as the merchant calls it; it cannot be changed later"
	PlatformNameWrong = "The name of a platform has 1 to 255 characters."
	NoPlatformsTitle  = "No platforms"
	NoPlatformsText   = "Stores and items are listed on platforms. Add one: served by the merchant's own " +
		"channels, or by the plugin of an aggregator."
	NoSuchPlugin = "There is no plugin %q."
	SettingsJSON = "Settings for the plugin, a JSON object"
	AcceptTold   = "%s tells nobody that an order is accepted: the hub accepts orders of this platform."
	ServedAnew   = "With another, the secrets and endpoints are taken away: they are set anew for it."
	SettingsOwn  = "Settings are for plugins; this platform is served by the merchant's own channels. Empty " +
		"them."
	SettingsWrong      = "Plugin %s does not take the settings as they are: %s."
	SettingsNoJSON     = "The settings must be a JSON object, such as {\"nutrition\": \"required\"}."
	EndpointOf         = "Address of"
	SecretOf           = "Secret"
	SecretSet          = "Set"
	SecretMissing      = "Not set"
	SecretDrop         = "Take it away"
	Save               = "Save"
	Stored             = "Stored."
	CallbackKeys       = "Callback keys"
	CallbackAddress    = "The aggregator calls"
	KeysNone           = "none"
	KeysMade           = "the newest of %d; with a key the address needs no ?business"
	MakeCallbackKey    = "Make a callback key"
	MakeCallbackKeySay = "By it the aggregator shows that it is who it says. It is shown once. Earlier keys go on " +
		"working until they are revoked."
	DropCallbackKeys    = "Revoke earlier keys"
	DropCallbackKeysSay = "What comes with one of the %d earlier keys is answered 401 from now on."
	NewCallbackKey      = "The new callback key, shown this once"
	NewCallbackKeyText  = "Give it to the aggregator now: only a hash of it is kept. When it uses it, revoke the " +
		"earlier ones."
)

// Words of how a business is watched over.
const (
	Watching      = "How it is watched over"
	WatchSay      = "Spans such as 5m; 0: for ever; hub: as the hub says. A store that is silent counts once a minute."
	AckWithin     = "Orders are escalated after"
	SilentAfter   = "A POS is silent after"
	CloseSilent   = "Close stores while it is silent"
	AsTheHub      = "hub: as the hub says"
	ForEver       = "0: for ever"
	WatchConflict = "It was changed meanwhile; nothing was stored. Load the page again to see how it is now."
)

// Words of where new stores are listed.
const (
	ListStores     = "New stores without platform lists are listed on"
	ListStoresAct  = "Where new stores are listed"
	ListStoresAll  = "all platforms"
	ListStoresNone = "no platform"
	ListStoresSay  = "It counts for stores that are created from now on without included_platforms and " +
		"excluded_platforms. Stores that exist stay as they are."
)

// Words of the aliases of platforms.
const (
	Aliases     = "Aliases"
	Alias       = "Alias"
	AliasNote   = "also %s"
	AliasSent   = "events name it %s"
	AddAlias    = "Add an alias"
	AddAliasSay = "Requests can name the platform by it. Stores and menus that name it already count for this " +
		"platform from now on."
	SendAlias   = "Events name the platform by it"
	SentName    = "Name in events"
	SentNameSay = "Events and the API of the POS name the platform so from now on. Events that were stored before " +
		"stay as they are."
	OwnName        = "%s, its own name"
	RemoveAlias    = "Remove an alias"
	RemoveAliasSay = "Requests that name the platform by it are refused, or have no effect there, from now on. What " +
		"was stored stays listed on the platform."
)

// Words of items and stores on platforms.
const (
	HereNotSold        = "Not shown: the store does not sell it"
	ItemNotListed      = "Not listed: included_platforms of the item does not name it"
	ItemRefused        = "Not listed: rule %s: %s"
	ItemRefusedThere   = "Refused by the platform: %s"
	PriceStorePlatform = "the store's for this platform"
	PriceOfPlatform    = "the catalogue's for this platform"
	PriceExternal      = "the store's external_price"
	PriceOfStore       = "the store's"
	PriceToCome        = "%s, once the change is there"
	CauseItemFinding   = "The item is not listed on %s: %s"
	RemedyFinding      = "Rule %s of the platform. Send the item with what is missing; the rule is applied again " +
		"with the next menu request."
	PublishFailed      = "Its menu was not taken: %s"
	PublishWaits       = "Its menu waits to be published: %s"
	PublishUnderWay    = "Its menu is being published."
	PublishWithout     = "Published without %s (%s): %s"
	CausePluginUnknown = "No hub knows plugin %s, which is to serve it."
	CauseStoreOnBut    = "On %s it is not live: %s"
	MenuThere          = "Menu there"
	MenuFailed         = "Refused"
	ChangeFailed       = "Change refused"
	MenuWaits          = "Waits"
	PriceOn            = "Values on"
	OwnValues          = "The store's own"
	NoSuchStore        = "No store is so"
	NoSuchStoreText    = "There is no store with this ref_id."
	PublishNow         = "Publish now"
	PublishNowSay      = "The store's menu goes out to the platforms at once, also where they have it already. What " +
		"comes of it shows here."
	PublishOn         = "Platform"
	PublishEverywhere = "All on which it is listed"
	PublishAsked      = "The menu is on its way to the platforms. What comes of it shows below in a moment."
)
