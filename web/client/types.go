// Code generated from web/openapi.yaml by web/client/generate. DO NOT EDIT.

package client

import "encoding/json"

// Accepted is as the reference describes it.
type Accepted struct {
	Message   string `json:"message"`   // What happens next, for people
	Reference string `json:"reference"` // Names the request; its callback carries the same
	Status    string `json:"status"`    // Always `success`
}

// Attempt is as the reference describes it.
type Attempt struct {
	Attempt         int64             `json:"attempt"`
	Error           *string           `json:"error,omitzero"`       // The same in plain words
	ErrorClass      *string           `json:"error_class,omitzero"` // Why it failed; absent where it was accepted
	RequestHeaders  map[string]string `json:"request_headers"`      // As sent; values of custom headers are hidden
	ResponseBody    string            `json:"response_body"`        // The first 4 KiB; values of custom headers are hidden where the answer repeats them
	ResponseHeaders map[string]string `json:"response_headers"`     // Empty where there was no answer
	StartedAt       string            `json:"started_at"`
	Status          *int64            `json:"status,omitzero"`
	TimingMs        AttemptTimingMs   `json:"timing_ms"` // When phases ended, in milliseconds since the start; a phase that did not take place is absent
	URL             string            `json:"url"`
}

// AttemptTimingMs: When phases ended, in milliseconds since the start; a phase that did not take place is absent
type AttemptTimingMs struct {
	Connect   *json.Number `json:"connect,omitzero"`
	Dns       *json.Number `json:"dns,omitzero"`
	FirstByte *json.Number `json:"first_byte,omitzero"`
	Tls       *json.Number `json:"tls,omitzero"`
	Total     *json.Number `json:"total,omitzero"`
}

// Category is as the reference describes it.
type Category struct {
	Active       *bool              `json:"active,omitzero"`        // Whether its items can be ordered
	Description  *string            `json:"description,omitzero"`   // Text about it
	ImgURL       *string            `json:"img_url,omitzero"`       // Address of a picture; empty for none
	Name         *string            `json:"name,omitzero"`          // What it is called
	ParentRefID  *string            `json:"parent_ref_id,omitzero"` // The category above it; empty for none
	RefID        string             `json:"ref_id"`                 // Your identifier of the category
	SortOrder    *int64             `json:"sort_order,omitzero"`    // Its place; `0` comes first and is the default
	Translations []NamedTranslation `json:"translations,omitzero"`  // Texts in other languages, each language once
}

// ChannelStore is as the reference describes it.
type ChannelStore struct {
	Active          bool              `json:"active"`
	Address         *string           `json:"address,omitzero"`
	City            string            `json:"city"`
	ClosedOn        []string          `json:"closed_on,omitzero"` // Platforms on which it was closed for orders; absent where there are none
	ContactPhone    *string           `json:"contact_phone,omitzero"`
	GeoLatitude     *json.Number      `json:"geo_latitude,omitzero"`
	GeoLongitude    *json.Number      `json:"geo_longitude,omitzero"`
	HideFromUI      bool              `json:"hide_from_ui"`
	ID              int64             `json:"id"`
	MinDeliveryTime *int64            `json:"min_delivery_time,omitzero"` // Seconds
	MinOrderValue   *json.Number      `json:"min_order_value,omitzero"`
	MinPickupTime   *int64            `json:"min_pickup_time,omitzero"` // Seconds
	Name            string            `json:"name"`
	OpenNow         bool              `json:"open_now"`         // By its opening hours, at the moment of the answer
	OrderingEnabled bool              `json:"ordering_enabled"` // Whether it takes orders; where a platform is asked for, on that
	PlatformData    []json.RawMessage `json:"platform_data,omitzero"`
	Platforms       []string          `json:"platforms"` // On which it is listed
	RefID           string            `json:"ref_id"`
	Timings         []json.RawMessage `json:"timings"` // Opening hours as the merchant sent them
	Translations    []json.RawMessage `json:"translations,omitzero"`
	ZipCodes        []string          `json:"zip_codes"`
}

// ChannelStorePage is as the reference describes it.
type ChannelStorePage struct {
	Meta   PageMeta       `json:"meta"`
	Stores []ChannelStore `json:"stores"`
}

// Charge is as the reference describes it.
type Charge struct {
	Active            *bool           `json:"active,omitzero"`             // Whether it is made
	Code              string          `json:"code"`                        // `PC` for packaging, `DC` for delivery; `_F` fixed, `_P` a percentage
	Description       *string         `json:"description,omitzero"`        // Text about it
	ExcludedPlatforms []string        `json:"excluded_platforms,omitzero"` // Platforms where it is not made
	FulfillmentModes  []string        `json:"fulfillment_modes,omitzero"`  // For which orders it is made
	ItemRefIDs        []string        `json:"item_ref_ids,omitzero"`       // Items it falls on, or `all` alone
	Structure         ChargeStructure `json:"structure"`                   // How much it is, and of what
	Title             *string         `json:"title,omitzero"`              // What it is called, in any letter case
}

// ChargeStructure: How much it is, and of what
type ChargeStructure struct {
	ApplicableOn *string     `json:"applicable_on,omitzero"` // What it falls on: `item.quantity` for a fixed charge on items, `item.price` for a percentage on items; a fixed charge on the order leaves it out
	Value        json.Number `json:"value"`                  // An amount, or percent
}

// Checklist is as the reference describes it.
type Checklist struct {
	Done  int64            `json:"done"` // Steps that are done
	Steps []ChecklistSteps `json:"steps"`
	Total int64            `json:"total"` // All steps
}

// ChecklistSteps is as the reference describes it.
type ChecklistSteps struct {
	Command   *string `json:"command,omitzero"`   // Does it in a shell, once the words in capitals stand for what is yours; absent once it is done
	Done      bool    `json:"done"`               // Whether the hub has seen it work
	Name      string  `json:"name"`               // The step, for programs
	Next      *string `json:"next,omitzero"`      // What to do; absent once it is done
	Reference *string `json:"reference,omitzero"` // The job that tells what is wrong
	Title     string  `json:"title"`              // The step, for people
}

// DayHours is as the reference describes it.
type DayHours struct {
	Day   string          `json:"day"` // The weekday on which the slots begin, in any letter case
	Slots []DayHoursSlots `json:"slots,omitzero"`
}

// DayHoursSlots is as the reference describes it.
type DayHoursSlots struct {
	EndTime   string `json:"end_time"`   // Before `start_time`: on the next day
	StartTime string `json:"start_time"` // `HH:MM:SS`; `HH:MM` is read too
}

// Deliverable is as the reference describes it.
type Deliverable struct {
	ByZipCodes  bool   `json:"by_zip_codes"` // Whether zip codes decided
	Deliverable bool   `json:"deliverable"`
	StoreRefID  string `json:"store_ref_id"`
	ZipCode     string `json:"zip_code"`
}

// DeliverableStores is as the reference describes it.
type DeliverableStores struct {
	ByZipCodes bool           `json:"by_zip_codes"`
	Meta       PageMeta       `json:"meta"`
	Stores     []ChannelStore `json:"stores"`
	ZipCode    string         `json:"zip_code"`
}

// Delivery is as the reference describes it.
type Delivery struct {
	Attempts      int64         `json:"attempts"` // Finished so far
	CreatedAt     string        `json:"created_at"`
	EventID       string        `json:"event_id"` // The webhook-id header of every attempt
	EventType     string        `json:"event_type"`
	FinishedAt    *string       `json:"finished_at,omitzero"`  // Of one that came to an end
	HeldBecause   *string       `json:"held_because,omitzero"` // Of one that is held: for what it waits, in plain words
	ID            string        `json:"id"`
	LastError     *string       `json:"last_error,omitzero"`      // What went wrong in the last attempt, in plain words
	LastStatus    *int64        `json:"last_status,omitzero"`     // HTTP status of the last attempt; absent when there was no answer
	NextAttemptAt *string       `json:"next_attempt_at,omitzero"` // Of one that is pending
	OrderID       *int64        `json:"order_id,omitzero"`        // Of the order that the event tells of
	Reference     *string       `json:"reference,omitzero"`       // Of the request that the event answers
	State         DeliveryState `json:"state"`
	TraceID       *string       `json:"trace_id,omitzero"` // Trace (W3C Trace Context) of what led to it, such as the request that carried `traceparent`; every attempt carries it on
	URL           string        `json:"url"`
	WebhookID     *int64        `json:"webhook_id,omitzero"` // Absent where it goes to the callback_url of a request
}

// DeliveryPage is as the reference describes it.
type DeliveryPage struct {
	Deliveries []Delivery       `json:"deliveries"`
	Meta       DeliveryPageMeta `json:"meta"`
}

// DeliveryPageMeta is as the reference describes it.
type DeliveryPageMeta struct {
	Limit int64   `json:"limit"`
	Next  *string `json:"next,omitzero"` // The `after` of the next page; absent on the last
}

// DeliveryState: `pending` waits for its next attempt or is under way
type DeliveryState = string

// DeliveryWithAttempts is as the reference describes it.
type DeliveryWithAttempts struct {
	AttemptList   []Attempt       `json:"attempt_list"`
	Attempts      int64           `json:"attempts"`      // Finished so far
	Body          json.RawMessage `json:"body,omitzero"` // As it is sent; absent where the event is no longer kept
	CreatedAt     string          `json:"created_at"`
	EventID       string          `json:"event_id"` // The webhook-id header of every attempt
	EventType     string          `json:"event_type"`
	FinishedAt    *string         `json:"finished_at,omitzero"`  // Of one that came to an end
	HeldBecause   *string         `json:"held_because,omitzero"` // Of one that is held: for what it waits, in plain words
	ID            string          `json:"id"`
	LastError     *string         `json:"last_error,omitzero"`      // What went wrong in the last attempt, in plain words
	LastStatus    *int64          `json:"last_status,omitzero"`     // HTTP status of the last attempt; absent when there was no answer
	NextAttemptAt *string         `json:"next_attempt_at,omitzero"` // Of one that is pending
	OrderID       *int64          `json:"order_id,omitzero"`        // Of the order that the event tells of
	Reference     *string         `json:"reference,omitzero"`       // Of the request that the event answers
	State         DeliveryState   `json:"state"`
	TraceID       *string         `json:"trace_id,omitzero"` // Trace (W3C Trace Context) of what led to it, such as the request that carried `traceparent`; every attempt carries it on
	URL           string          `json:"url"`
	WebhookID     *int64          `json:"webhook_id,omitzero"` // Absent where it goes to the callback_url of a request
}

// Difference is as the reference describes it.
type Difference struct {
	After         json.RawMessage `json:"after,omitzero"`  // As it was then; absent where there was nothing any more
	Before        json.RawMessage `json:"before,omitzero"` // As it was; absent where there was nothing
	Entity        string          `json:"entity"`
	LocationRefID *string         `json:"location_ref_id,omitzero"` // Of values of a store
	RefID         *string         `json:"ref_id,omitzero"`          // Absent where the entity is gone
	Relation      *string         `json:"relation,omitzero"`        // Of an association: what it is called in a request
}

// EffectiveCategory is as the reference describes it.
type EffectiveCategory struct {
	AvailableNow *bool                    `json:"available_now,omitzero"` // Whether it is on sale at this moment
	Description  *string                  `json:"description,omitzero"`   // Text about it
	ID           int64                    `json:"id"`                     // The hub's number of it
	ImgURL       *string                  `json:"img_url,omitzero"`       // A picture
	Name         string                   `json:"name"`                   // What it is called
	ParentRefID  *string                  `json:"parent_ref_id,omitzero"` // The category above it
	RefID        string                   `json:"ref_id"`                 // Your identifier
	SortOrder    int64                    `json:"sort_order"`             // Its place
	Timings      []DayHours               `json:"timings,omitzero"`       // When it is on sale, by its own times and those of the category above it
	Translations []StoredNamedTranslation `json:"translations,omitzero"`  // Texts in other languages
}

// EffectiveItem is as the reference describes it.
type EffectiveItem struct {
	CategoryRefIDs    []string                  `json:"category_ref_ids"`           // Its categories, of those in this menu
	CurrentStock      int64                     `json:"current_stock"`              // How many are there; `-1` is never out of stock
	Description       *string                   `json:"description,omitzero"`       // Text about it
	FoodType          *string                   `json:"food_type,omitzero"`         // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	FulfillmentModes  []string                  `json:"fulfillment_modes,omitzero"` // How it can be had
	ID                int64                     `json:"id"`                         // The hub's number of it
	ImgURL            *string                   `json:"img_url,omitzero"`           // The picture for this platform
	KeyValueGroups    []StoredKeyValueGroup     `json:"key_value_groups,omitzero"`  // Further facts by group
	MarkupPrice       *json.Number              `json:"markup_price,omitzero"`      // A higher price to strike out
	OptionGroupRefIDs []string                  `json:"option_group_ref_ids"`       // Its option groups, of those in this menu, in their order
	Price             json.Number               `json:"price"`                      // The price on this platform
	Recommended       bool                      `json:"recommended"`                // Whether it is recommended
	RefID             string                    `json:"ref_id"`                     // Your identifier
	Serves            *int64                    `json:"serves,omitzero"`            // How many people it serves
	SortOrder         int64                     `json:"sort_order"`                 // Its place
	Tags              []string                  `json:"tags,omitzero"`              // The tags for this platform
	Title             string                    `json:"title"`                      // What it is called
	Translations      []StoredTitledTranslation `json:"translations,omitzero"`      // Texts in other languages
	Weight            *json.Number              `json:"weight,omitzero"`            // Weight in grams
}

// EffectiveMenu is as the reference describes it.
type EffectiveMenu struct {
	Categories      []EffectiveCategory    `json:"categories"`                // Categories with something to order in them or below them
	Charges         []StoredCharge         `json:"charges"`                   // Charges on these items or on every order
	Items           []EffectiveItem        `json:"items"`                     // Items that can be ordered
	OptionGroups    []EffectiveOptionGroup `json:"option_groups"`             // Option groups with something to choose
	Options         []EffectiveOption      `json:"options"`                   // Options that can be ordered
	OrderingEnabled *bool                  `json:"ordering_enabled,omitzero"` // Whether the store takes orders on the platform at present
	Platform        string                 `json:"platform"`                  // The platform
	StoreRefID      string                 `json:"store_ref_id"`              // The store
	Taxes           []StoredTax            `json:"taxes"`                     // Taxes that fall on these items
}

// EffectiveOption is as the reference describes it.
type EffectiveOption struct {
	Description    *string                   `json:"description,omitzero"`      // Text about it
	FoodType       *string                   `json:"food_type,omitzero"`        // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	ID             int64                     `json:"id"`                        // The hub's number of it
	ImgURL         *string                   `json:"img_url,omitzero"`          // The picture for this platform
	KeyValueGroups []StoredKeyValueGroup     `json:"key_value_groups,omitzero"` // Further facts by group
	NestedOptGrps  []string                  `json:"nested_opt_grps,omitzero"`  // The groups nested under it, of those in this menu
	OptGrpRefIDs   []string                  `json:"opt_grp_ref_ids"`           // The groups it is in, of those in this menu
	Price          json.Number               `json:"price"`                     // What it adds to the price
	Recommended    bool                      `json:"recommended"`               // Whether it is recommended
	RefID          string                    `json:"ref_id"`                    // Your identifier
	SortOrder      int64                     `json:"sort_order"`                // Its place
	Title          string                    `json:"title"`                     // What it is called
	Translations   []StoredTitledTranslation `json:"translations,omitzero"`     // Texts in other languages
	Weight         *int64                    `json:"weight,omitzero"`           // Weight in grams
}

// EffectiveOptionGroup is as the reference describes it.
type EffectiveOptionGroup struct {
	Description         *string                   `json:"description,omitzero"`  // Text about it
	DisplayInline       bool                      `json:"display_inline"`        // Whether a nested group is shown on the level above it
	ID                  int64                     `json:"id"`                    // The hub's number of it
	MaxSelectable       int64                     `json:"max_selectable"`        // How many may be chosen; `-1` is any number
	MinSelectable       int64                     `json:"min_selectable"`        // How many options must be chosen
	MultiOptionsEnabled bool                      `json:"multi_options_enabled"` // Whether an option may be chosen more than once
	RefID               string                    `json:"ref_id"`                // Your identifier
	SortOrder           int64                     `json:"sort_order"`            // Its place
	Title               string                    `json:"title"`                 // What it is called
	Translations        []StoredTitledTranslation `json:"translations,omitzero"` // Texts in other languages
}

// Enqueued is as the reference describes it.
type Enqueued struct {
	Message string `json:"message"` // What was done, for people
	Status  string `json:"status"`  // Always `success`
}

// Error is as the reference describes it.
type Error struct {
	Errors  []ErrorErrors `json:"errors,omitzero"` // Of `404`, the field that names what there is none of, where it is one of the body
	Message string        `json:"message"`         // What went wrong, for people
	Status  string        `json:"status"`          // Always `error`
}

// ErrorErrors is as the reference describes it.
type ErrorErrors struct {
	Code    string `json:"code"`    // `unknown`
	Message string `json:"message"` // What is wrong, for people
	Path    string `json:"path"`    // Where, such as `stores[3].timings[0].day`; empty for the whole body
}

// EventType is as the reference describes it.
type EventType = string

// EventTypeEntry is as the reference describes it.
type EventTypeEntry struct {
	Description string          `json:"description"`     // When it is sent and what to do with it
	EventType   EventType       `json:"event_type"`      // The event type
	Number      *int64          `json:"number,omitzero"` // The number that stands for it
	Sample      json.RawMessage `json:"sample"`          // A body, valid by the schema
	Schema      json.RawMessage `json:"schema"`          // JSON Schema 2020-12 of the body
	Title       string          `json:"title"`           // What happened, in short
}

// EventTypeInput: The event, by its name or by the number that stands for it
type EventTypeInput = json.RawMessage

// FailedObject is as the reference describes it.
type FailedObject struct {
	Entity  string `json:"entity"`  // The array it was sent in
	Message string `json:"message"` // Why
	RefID   string `json:"ref_id"`  // Which; of a tax or charge its code and structure
}

// FeatureActionReading is as the reference describes it.
type FeatureActionReading struct {
	Action          string                         `json:"action"`
	Attempts        []FeatureActionReadingAttempts `json:"attempts"`
	Created         int64                          `json:"created"` // Epoch milliseconds
	CustomerPhone   *string                        `json:"customer_phone,omitzero"`
	Finished        *int64                         `json:"finished,omitzero"` // Epoch milliseconds
	Message         *string                        `json:"message,omitzero"`  // Why, for people
	OrderID         int64                          `json:"order_id"`
	Platform        string                         `json:"platform"`
	PlatformOrderID string                         `json:"platform_order_id"`
	Reference       string                         `json:"reference"`
	State           string                         `json:"state"` // `pending`: it was sent, and the aggregator answers later
}

// FeatureActionReadingAttempts is as the reference describes it.
type FeatureActionReadingAttempts struct {
	At         int64   `json:"at"`             // Epoch milliseconds
	Error      *string `json:"error,omitzero"` // In plain words
	ErrorClass *string `json:"error_class,omitzero"`
	Status     int64   `json:"status"` // Of the answer; 0 when there was none
}

// FeatureActionRequest is as the reference describes it.
type FeatureActionRequest struct {
	Action      string          `json:"action"`                // `rider_body_temp`, `rider_with_mask`, `request_additional_rider`, `fetch_customer_data`, or what else the platform's plugin offers
	OrderID     json.RawMessage `json:"order_id"`              // The `order_id` that the hub gave the order
	Phone       *string         `json:"phone,omitzero"`        // The rider's; for self-delivery orders only
	Temp        *json.Number    `json:"temp,omitzero"`         // Body temperature of the rider in degrees Fahrenheit; required with `rider_body_temp`, and read with it alone
	WearingMask *bool           `json:"wearing_mask,omitzero"` // Required with `rider_with_mask`, and read with it alone
}

// GetDeliverableQuery narrows GetDeliverable; what is zero is not sent.
type GetDeliverableQuery struct {
	ZipCode  string // Where to deliver; letter case and spaces do not matter
	Platform string // Name of one of the business's platforms; without it, one of the merchant's own
}

// GetEffectiveMenuQuery narrows GetEffectiveMenu; what is zero is not sent.
type GetEffectiveMenuQuery struct {
	Platform string // The name of one of the business's platforms
}

// GetItemThenQuery narrows GetItemThen; what is zero is not sent.
type GetItemThenQuery struct {
	Platform string // Name of one of the business's platforms
	Time     int64  // The moment, in epoch milliseconds; now where it is left out
}

// GetMenuQuery narrows GetMenu; what is zero is not sent.
type GetMenuQuery struct {
	Only  string // Which arrays to read, with commas between; all without it
	Limit int64  // How many objects a page holds; all without it
	After string // The `next` of the page before
}

// GetRevisionAnswer is as the reference describes it.
type GetRevisionAnswer struct {
	Actor         *string                    `json:"actor,omitzero"`   // Who sent it, such as `key:pos`
	At            int64                      `json:"at"`               // Epoch milliseconds
	BackTo        *string                    `json:"back_to,omitzero"` // Of a rollback: the revision that it went back to
	Changes       []GetRevisionAnswerChanges `json:"changes"`
	Differences   []Difference               `json:"differences"`
	ID            string                     `json:"id"`
	Kind          string                     `json:"kind"`
	LocationRefID *string                    `json:"location_ref_id,omitzero"` // What the request was sent to
	Reference     string                     `json:"reference"`                // Of the request that made it
}

// GetRevisionAnswerChanges is as the reference describes it.
type GetRevisionAnswerChanges struct {
	Entity        string  `json:"entity"`
	LocationRefID *string `json:"location_ref_id,omitzero"` // Of values of a store
	Rows          int64   `json:"rows"`                     // How many records, values and associations were changed
}

// GetRevisionQuery narrows GetRevision; what is zero is not sent.
type GetRevisionQuery struct {
	Limit  int64 // Differences on a page
	Offset int64 // Differences to leave out
}

// HeadersInput: Headers to send along with every delivery, such as a token of yours
type HeadersInput = map[string]string

// Image is as the reference describes it.
type Image struct {
	Tag string `json:"tag"` // A platform of the business, or `default` for all
	URL string `json:"url"` // Address of the picture, `http` or `https`, open to the public
}

// InternalError is as the reference describes it.
type InternalError struct {
	Message   string `json:"message"`    // What went wrong, for people
	RequestID string `json:"request_id"` // Names the request in the hub's logs; the same as the header `X-Request-Id`
	Status    string `json:"status"`     // Always `error`
}

// Invalid is as the reference describes it.
type Invalid struct {
	Errors  []InvalidErrors `json:"errors,omitzero"` // The mistakes, in the order found
	Message string          `json:"message"`         // The first mistake, and how many more there are
	Status  string          `json:"status"`          // Always `error`
}

// InvalidErrors is as the reference describes it.
type InvalidErrors struct {
	Code    string `json:"code"`    // Which rule, such as `required`, `type`, `range`, `length` or `duplicate`
	Message string `json:"message"` // What is wrong, for people
	Path    string `json:"path"`    // Where, such as `stores[3].timings[0].day`; empty for the whole body
}

// Item is as the reference describes it.
type Item struct {
	Available         *bool               `json:"available,omitzero"`           // Whether it can be ordered at the store now
	CategoryRefIDs    []string            `json:"category_ref_ids,omitzero"`    // Its categories; where there are sub-categories, name these
	ClearOptionGroups *bool               `json:"clear_option_groups,omitzero"` // Takes all option groups off the item, before the request puts any on
	CurrentStock      *int64              `json:"current_stock,omitzero"`       // How many are there; `-1`, the default, is never out of stock
	Description       *string             `json:"description,omitzero"`         // Text about it
	ExternalPrice     *json.Number        `json:"external_price,omitzero"`      // Price on aggregators, where it differs
	FoodType          json.RawMessage     `json:"food_type,omitzero"`           // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	FulfillmentModes  []string            `json:"fulfillment_modes,omitzero"`   // How it can be had
	Images            []Image             `json:"images,omitzero"`              // Pictures, each tag once
	ImgURL            *string             `json:"img_url,omitzero"`             // A picture, used where `images` has none for all platforms; empty for none
	IncludedPlatforms []string            `json:"included_platforms,omitzero"`  // The platforms that list it: all before the first time, none when empty
	KeyValueGroups    []KeyValueGroup     `json:"key_value_groups,omitzero"`    // Further facts by group, each group once
	MarkupPrice       *json.Number        `json:"markup_price,omitzero"`        // A higher price, shown struck out beside the price
	PlatformPricing   []PlatformPrice     `json:"platform_pricing,omitzero"`    // Prices of single platforms, each once
	Price             json.Number         `json:"price"`                        // Price on the website and apps of the merchant: at the store, and of the master record for stores to come
	Recommended       *bool               `json:"recommended,omitzero"`         // Whether it is recommended, at the store or for stores to come
	RefID             string              `json:"ref_id"`                       // Your identifier of the item
	RefTitle          *string             `json:"ref_title,omitzero"`           // A title for the merchant's own staff
	Serves            *int64              `json:"serves,omitzero"`              // How many people it serves
	SoldAtStore       *bool               `json:"sold_at_store,omitzero"`       // `false` takes the item from the store; any other request for the store that names it associates the two
	SortOrder         *int64              `json:"sort_order,omitzero"`          // Its place; `0` comes first and is the default
	Tags              map[string][]string `json:"tags,omitzero"`                // Tags by platform, or under `default` for all platforms
	Title             *string             `json:"title,omitzero"`               // What it is called
	Translations      []TitledTranslation `json:"translations,omitzero"`        // Texts in other languages, each language once
	Weight            *json.Number        `json:"weight,omitzero"`              // Weight in grams
}

// ItemAction: Names at least one item or option
type ItemAction struct {
	Action        string    `json:"action"`
	ItemRefIDs    []string  `json:"item_ref_ids,omitzero"`
	LocationRefID string    `json:"location_ref_id"` // The store
	OptionRefIDs  []string  `json:"option_ref_ids,omitzero"`
	TurnOnAt      *TurnOnAt `json:"turn_on_at,omitzero"`
}

// ItemThen is as the reference describes it.
type ItemThen struct {
	Item          *EffectiveItem  `json:"item,omitzero"`
	LocationRefID string          `json:"location_ref_id"`
	OnSale        *bool           `json:"on_sale,omitzero"` // One of its categories was on sale, by their timings; absent where they had none, and where it was not shown
	Platform      string          `json:"platform"`
	Record        json.RawMessage `json:"record,omitzero"` // As it was read back, with the store's values; absent where there was none
	RefID         string          `json:"ref_id"`
	Shown         bool            `json:"shown"`         // Customers of the platform could see it
	SoldAtStore   bool            `json:"sold_at_store"` // The store had it
	Time          int64           `json:"time"`          // Epoch milliseconds
}

// ItemsOutOfStock: The order goes by the hub's number or, where that is not sent, by yours
type ItemsOutOfStock struct {
	AllowEdit    *bool                     `json:"allow_edit,omitzero"` // The platform may let the customer change the order
	ItemsOos     []ItemsOutOfStockItemsOos `json:"items_oos"`
	OrderRefID   json.RawMessage           `json:"order_ref_id,omitzero"`   // What you call the order
	OrderUpiprID json.RawMessage           `json:"order_upipr_id,omitzero"` // The `order_id` that the hub gave the order
}

// ItemsOutOfStockItemsOos: Goes by `ref_id` or, where that is not sent, by the hub's number
type ItemsOutOfStockItemsOos struct {
	RefID   json.RawMessage `json:"ref_id,omitzero"`   // Your identifier of the item or option
	UpiprID json.RawMessage `json:"upipr_id,omitzero"` // The hub's number of the item or option
}

// Job is as the reference describes it.
type Job struct {
	Attempts     int64           `json:"attempts"`             // How often the work was begun
	CreatedAt    string          `json:"created_at"`           // When the request was accepted, in UTC
	Error        *string         `json:"error,omitzero"`       // That an attempt failed, or the work as a whole
	FinishedAt   *string         `json:"finished_at,omitzero"` // When it ended, in UTC
	Kind         string          `json:"kind"`                 // What kind of work it is
	ObjectsDone  int64           `json:"objects_done"`         // How many objects of the request are through
	ObjectsTotal int64           `json:"objects_total"`        // How many there are; 0 before they are counted
	Reference    string          `json:"reference"`            // The reference of the request
	Result       json.RawMessage `json:"result,omitzero"`      // What came of it, in the form of the kind of work; of a dry run, what would
	StartedAt    *string         `json:"started_at,omitzero"`  // When the work began, in UTC
	State        string          `json:"state"`                // `done` also where single objects failed; `failed` when the hub could not do the work at all
	Subject      *string         `json:"subject,omitzero"`     // The `location_ref_id` of a menu request
}

// KeyValueGroup is as the reference describes it.
type KeyValueGroup struct {
	Group        string                      `json:"group"`                   // `Servings`, `Nutrition`, `Deposit`, or a group that the plugin of a platform adds
	KeyValueData []KeyValueGroupKeyValueData `json:"key_value_data,omitzero"` // The facts, each key once
}

// KeyValueGroupKeyValueData is as the reference describes it.
type KeyValueGroupKeyValueData struct {
	Key   string `json:"key"`   // Of `Servings`: `serve_range_min` and `serve_range_max`
	Value string `json:"value"` // A positive whole number of at most 15 digits; `0.15` or `0.25` for `deposit_charge`
}

// KindPreview is as the reference describes it.
type KindPreview struct {
	Created       []string                   `json:"created"`       // Which would be new, by `ref_id`; taxes and charges by code and structure
	Deactivated   []string                   `json:"deactivated"`   // Which a flush would deactivate
	Disassociated []KindPreviewDisassociated `json:"disassociated"` // Which stores would lose
	Errors        []KindPreviewErrors        `json:"errors"`        // Which would fail
	Stats         MenuStats                  `json:"stats"`         // How many would come to which outcome
	Unchanged     int64                      `json:"unchanged"`     // How many are already so
	Updated       []string                   `json:"updated"`       // Which would change
}

// KindPreviewDisassociated is as the reference describes it.
type KindPreviewDisassociated struct {
	RefID  string `json:"ref_id"` // Which
	Stores int64  `json:"stores"` // How many stores would lose it
}

// KindPreviewErrors is as the reference describes it.
type KindPreviewErrors struct {
	Message string `json:"message"` // Why
	RefID   string `json:"ref_id"`  // Which
}

// ListChannelStoresQuery narrows ListChannelStores; what is zero is not sent.
type ListChannelStoresQuery struct {
	Platform string // Name of one of the business's platforms; only stores that are listed on it
	Limit    int64  // Stores on a page
	After    string // What the page before called `next`
}

// ListDeliverableStoresQuery narrows ListDeliverableStores; what is zero is not sent.
type ListDeliverableStoresQuery struct {
	ZipCode  string // Where to deliver; letter case and spaces do not matter
	Platform string // Name of one of the business's platforms; only stores that are listed on it
	Limit    int64  // Stores on a page
	After    string // What the page before called `next`
}

// ListDeliveriesQuery narrows ListDeliveries; what is zero is not sent.
type ListDeliveriesQuery struct {
	State     string // Where the delivery stands
	EventType string // Name or number of an event type
	WebhookID int64  // Of the webhook it goes to
	Reference string // Of the request that the event answers
	OrderID   int64  // Of the order that the event tells of, with what came of calls to its aggregator
	From      int64  // Created at or after, in epoch milliseconds
	To        int64  // Created before, in epoch milliseconds
	Limit     int64  // Deliveries on a page
	After     string // What the page before called `next`
}

// ListEventTypesAnswer is as the reference describes it.
type ListEventTypesAnswer struct {
	EventTypes []EventTypeEntry `json:"event_types"` // The event types
}

// ListOrdersQuery narrows ListOrders; what is zero is not sent.
type ListOrdersQuery struct {
	State      string // Where the order stands
	Platform   string // Name of the platform that it came from
	StoreRefID string // Your identifier of the store
	OrderRefID string // What you call the order
	Escalated  bool   // Only orders that waited too long for their acknowledgement, also those that were acknowledged since; with `state=Placed`, those that still wait
	From       int64  // Placed at or after, in epoch milliseconds
	To         int64  // Placed before, in epoch milliseconds
	Limit      int64  // Orders on a page
	After      string // What the page before called `next`
}

// ListPublicationsQuery narrows ListPublications; what is zero is not sent.
type ListPublicationsQuery struct {
	LocationRefID string // Your `ref_id` of the store
	Platform      string // Name of the platform
	Status        string // What became of the menu last
	Limit         int64  // Publications on a page
	After         string // What the page before called `next`
}

// ListRevisionsAnswer is as the reference describes it.
type ListRevisionsAnswer struct {
	Meta      PageMeta   `json:"meta"`
	Revisions []Revision `json:"revisions"`
}

// ListRevisionsQuery narrows ListRevisions; what is zero is not sent.
type ListRevisionsQuery struct {
	Entity        string // Revisions that changed such entities
	RefID         string // Revisions that changed this one; with `entity`
	LocationRefID string // Revisions that changed values of this store; with `-1` the master catalogue
	From          int64  // Made at or after, in epoch milliseconds
	To            int64  // Made before, in epoch milliseconds
	Limit         int64  // Revisions on a page
	After         string // What the page before called `next`
}

// ListStoresQuery narrows ListStores; what is zero is not sent.
type ListStoresQuery struct {
	Limit int64  // How many stores a page holds
	After string // Read on behind this `ref_id`; the first page without it
}

// ListTimingGroupsAnswer is as the reference describes it.
type ListTimingGroupsAnswer struct {
	TimingGroups []TimingGroup `json:"timing_groups"`
}

// ListWebhooksQuery narrows ListWebhooks; what is zero is not sent.
type ListWebhooksQuery struct {
	Limit  int64 // How many webhooks a page holds
	Offset int64 // How many webhooks to skip
}

// LocationAction is as the reference describes it.
type LocationAction struct {
	Action        string    `json:"action"`
	LocationRefID string    `json:"location_ref_id"`    // The store
	Platforms     []string  `json:"platforms,omitzero"` // Platforms; none: all on which the store is listed
	TurnOnAt      *TurnOnAt `json:"turn_on_at,omitzero"`
}

// MenuPreview is as the reference describes it.
type MenuPreview struct {
	Associations  map[string]MenuPreviewAssociationsValue `json:"associations"`      // How many associations would come and go, by relation
	Held          []string                                `json:"held,omitzero"`     // Flushes that would wait for `confirm_flush`
	Kinds         map[string]KindPreview                  `json:"kinds"`             // What would become of the objects, by the array they were sent in
	LocationRefID string                                  `json:"location_ref_id"`   // Of a dry run: the location of the request
	Warnings      []MenuWarning                           `json:"warnings,omitzero"` // What would have no effect, or change beyond what was sent
}

// MenuPreviewAssociationsValue is as the reference describes it.
type MenuPreviewAssociationsValue struct {
	Added   int64 `json:"added"`   // How many would come
	Removed int64 `json:"removed"` // How many would go
}

// MenuReading is as the reference describes it.
type MenuReading struct {
	Categories    []StoredCategory    `json:"categories,omitzero"`    // Categories
	Charges       []StoredCharge      `json:"charges,omitzero"`       // Charges
	Items         []StoredItem        `json:"items,omitzero"`         // Items
	LocationRefID string              `json:"location_ref_id"`        // The location of the request
	Next          *string             `json:"next,omitzero"`          // The `after` of the next page
	OptionGroups  []StoredOptionGroup `json:"option_groups,omitzero"` // Option groups
	Options       []StoredOption      `json:"options,omitzero"`       // Options
	Taxes         []StoredTax         `json:"taxes,omitzero"`         // Taxes
}

// MenuRequest is as the reference describes it.
type MenuRequest struct {
	CallbackURL       *string       `json:"callback_url,omitzero"`        // Where this request's callback goes instead of to the webhooks, signed with the callback secret of the business
	Categories        []Category    `json:"categories,omitzero"`          // Categories
	Charges           []Charge      `json:"charges,omitzero"`             // Charges
	ConfirmFlush      *bool         `json:"confirm_flush,omitzero"`       // Carries out a flush that takes out more than whoever runs the hub allows at once
	FlushCategories   *bool         `json:"flush_categories,omitzero"`    // Deactivates the categories that are not listed
	FlushCharges      *bool         `json:"flush_charges,omitzero"`       // Deactivates the charges that are not listed
	FlushItems        *bool         `json:"flush_items,omitzero"`         // Takes out the items that are not listed: of the master catalogue, or of the store
	FlushOptionGroups *bool         `json:"flush_option_groups,omitzero"` // Deactivates the option groups that are not listed
	FlushOptions      *bool         `json:"flush_options,omitzero"`       // Takes out the options that are not listed: of the master catalogue, or of the store
	FlushTaxes        *bool         `json:"flush_taxes,omitzero"`         // Deactivates the taxes that are not listed
	Items             []Item        `json:"items,omitzero"`               // Items
	OptionGroups      []OptionGroup `json:"option_groups,omitzero"`       // Option groups
	Options           []Option      `json:"options,omitzero"`             // Options
	Taxes             []Tax         `json:"taxes,omitzero"`               // Taxes
}

// MenuResult is as the reference describes it.
type MenuResult struct {
	Failed   []FailedObject       `json:"failed,omitzero"`   // The first 100 objects that failed; the callback tells of all
	Stats    map[string]MenuStats `json:"stats"`             // How many objects came to which outcome, by the array they were sent in; `timing_groups` of a rollback alone
	Warnings []MenuWarning        `json:"warnings,omitzero"` // What had no effect, or changed beyond what was sent
}

// MenuStats is as the reference describes it.
type MenuStats struct {
	Created int64 `json:"created"` // Objects that are new
	Deleted int64 `json:"deleted"` // Objects that a flush or `sold_at_store` took out; of a master flush what it deactivated, and the items and options that it took from stores
	Errors  int64 `json:"errors"`  // Objects that failed
	Updated int64 `json:"updated"` // Objects that existed
}

// MenuWarning is as the reference describes it.
type MenuWarning struct {
	Message string `json:"message"` // Why it had no effect, or what changed
	Path    string `json:"path"`    // What it is about
}

// NamedTranslation is as the reference describes it.
type NamedTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1
	Name        *string `json:"name,omitzero"`        // The name in that language
}

// Option is as the reference describes it.
type Option struct {
	Available          *bool               `json:"available,omitzero"`             // Whether it can be ordered at the store now
	ClearNestedOptGrps *bool               `json:"clear_nested_opt_grps,omitzero"` // Takes all nested groups off the option first
	ClearOptGrpRefIDs  *bool               `json:"clear_opt_grp_ref_ids,omitzero"` // Takes the option out of all its groups first
	ClearOptGrps       *bool               `json:"clear_opt_grps,omitzero"`        // The same as `clear_opt_grp_ref_ids`
	Description        *string             `json:"description,omitzero"`           // Text about it
	FoodType           json.RawMessage     `json:"food_type,omitzero"`             // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	Images             []Image             `json:"images,omitzero"`                // Pictures, each tag once
	ImgURL             *string             `json:"img_url,omitzero"`               // A picture, used where `images` has none for all platforms; empty for none
	KeyValueGroups     []KeyValueGroup     `json:"key_value_groups,omitzero"`      // Further facts by group, each group once
	NestedOptGrps      []string            `json:"nested_opt_grps,omitzero"`       // Groups to nest under the option; those that are there stay
	OptGrpRefIDs       []string            `json:"opt_grp_ref_ids,omitzero"`       // Groups to put the option in; those it is in stay
	Price              json.Number         `json:"price"`                          // What it adds to the price: at the store, and of the master record for stores to come
	Recommended        *bool               `json:"recommended,omitzero"`           // Whether it is recommended
	RefID              string              `json:"ref_id"`                         // Your identifier of the option
	RefTitle           *string             `json:"ref_title,omitzero"`             // A title for the merchant's own staff
	SoldAtStore        *bool               `json:"sold_at_store,omitzero"`         // `false` takes the option from the store; any other request for the store that names it associates the two
	SortOrder          *int64              `json:"sort_order,omitzero"`            // Its place; `0` comes first and is the default
	Title              *string             `json:"title,omitzero"`                 // What it is called
	Translations       []TitledTranslation `json:"translations,omitzero"`          // Texts in other languages, each language once
	Weight             *int64              `json:"weight,omitzero"`                // Weight in grams
}

// OptionGroup is as the reference describes it.
type OptionGroup struct {
	Active              *bool               `json:"active,omitzero"`                // Whether its options can be ordered
	ClearItemRefIDs     *bool               `json:"clear_item_ref_ids,omitzero"`    // Takes the group off all its items first
	ClearItems          *bool               `json:"clear_items,omitzero"`           // The same as `clear_item_ref_ids`
	ClearOptions        *bool               `json:"clear_options,omitzero"`         // Takes all options out of the group first
	Description         *string             `json:"description,omitzero"`           // Text about it
	DisplayInline       *bool               `json:"display_inline,omitzero"`        // Shows a nested group on the level of the group above it
	ItemRefIDs          []string            `json:"item_ref_ids,omitzero"`          // Items to put the group on; those it is on stay
	MaxSelectable       *int64              `json:"max_selectable,omitzero"`        // How many may be chosen, not below `min_selectable`; `-1`, the default, is any number
	MinSelectable       *int64              `json:"min_selectable,omitzero"`        // How many options must be chosen
	MultiOptionsEnabled *bool               `json:"multi_options_enabled,omitzero"` // Whether an option may be chosen more than once
	RefID               string              `json:"ref_id"`                         // Your identifier of the group
	RefTitle            *string             `json:"ref_title,omitzero"`             // A title for the merchant's own staff
	SortOrder           *int64              `json:"sort_order,omitzero"`            // Its place; `0` comes first and is the default
	Title               *string             `json:"title,omitzero"`                 // What it is called
	Translations        []TitledTranslation `json:"translations,omitzero"`          // Texts in other languages, each language once
}

// OrderAnswer is as the reference describes it.
type OrderAnswer struct {
	Message string `json:"message"`
	OrderID int64  `json:"order_id"`
	Status  string `json:"status"`
}

// OrderChange is as the reference describes it.
type OrderChange struct {
	Extra      *OrderChangeExtra `json:"extra,omitzero"`
	Message    *string           `json:"message,omitzero"`
	NewStatus  string            `json:"new_status"`           // The state to move to, in any letter case
	ReasonCode *string           `json:"reason_code,omitzero"` // Why, for programs
}

// OrderChangeExtra is as the reference describes it.
type OrderChangeExtra struct {
	PrepTimeMins *int64 `json:"prep_time_mins,omitzero"` // Minutes until the food is ready
}

// OrderFlag: Something odd about an order
type OrderFlag struct {
	Code     string       `json:"code"`
	Computed *json.Number `json:"computed,omitzero"` // The amount that the hub works out; of `below_minimum` the store's `min_order_value`
	Message  string       `json:"message"`
	Path     string       `json:"path"`          // In the order as it was sent, such as `items[0].price`
	Sent     *json.Number `json:"sent,omitzero"` // The amount that was sent
}

// OrderPage is as the reference describes it.
type OrderPage struct {
	Meta   PageMeta       `json:"meta"`
	Orders []OrderSummary `json:"orders"`
}

// OrderReading is as the reference describes it.
type OrderReading struct {
	Customer    json.RawMessage        `json:"customer"`           // As in the event `order_placed`
	Escalated   *int64                 `json:"escalated,omitzero"` // When it had waited too long for its acknowledgement, in epoch milliseconds
	Flags       []OrderFlag            `json:"flags"`
	History     []OrderReadingHistory  `json:"history"`
	ItemsOos    []OrderReadingItemsOos `json:"items_oos,omitzero"`    // The reports of items that are out of stock
	Order       OrderReadingOrder      `json:"order"`                 // As in the event `order_placed`, in the present state
	ReferenceID *string                `json:"reference_id,omitzero"` // What you call the order
	Rider       *OrderRider            `json:"rider,omitzero"`
	State       OrderState             `json:"state"`
}

// OrderReadingHistory is as the reference describes it.
type OrderReadingHistory struct {
	Actor        *string    `json:"actor,omitzero"` // Who moved it, such as `key:pos`
	At           int64      `json:"at"`             // Epoch milliseconds
	Message      *string    `json:"message,omitzero"`
	PrepTimeMins *int64     `json:"prep_time_mins,omitzero"`
	ReasonCode   *string    `json:"reason_code,omitzero"`
	State        OrderState `json:"state"`
}

// OrderReadingItemsOos is as the reference describes it.
type OrderReadingItemsOos struct {
	Actor       string                         `json:"actor"`      // Who reported it, such as `key:pos`
	AllowEdit   bool                           `json:"allow_edit"` // The customer may be let change the order
	At          int64                          `json:"at"`         // Epoch milliseconds
	ItemsOos    []OrderReadingItemsOosItemsOos `json:"items_oos"`
	Message     *string                        `json:"message,omitzero"`
	ReferenceID string                         `json:"reference_id"` // The reference of the report
	State       string                         `json:"state"`        // What became of telling the platform
}

// OrderReadingItemsOosItemsOos is as the reference describes it.
type OrderReadingItemsOosItemsOos struct {
	RefID   string `json:"ref_id"`
	UpiprID *int64 `json:"upipr_id,omitzero"` // The hub's number of the item or option
}

// OrderReadingOrder: As in the event `order_placed`, in the present state
type OrderReadingOrder struct {
	Details    OrderReadingOrderDetails `json:"details"`
	Items      []json.RawMessage        `json:"items"`
	NextState  *OrderState              `json:"next_state,omitzero"`
	NextStates []OrderState             `json:"next_states"`
	Payment    []json.RawMessage        `json:"payment"`
	Store      json.RawMessage          `json:"store"`
}

// OrderReadingOrderDetails is as the reference describes it.
type OrderReadingOrderDetails struct {
	ID         int64      `json:"id"`
	OrderState OrderState `json:"order_state"`
}

// OrderRequest is as the reference describes it.
type OrderRequest struct {
	Charges          []OrderRequestCharges   `json:"charges,omitzero"` // All charges
	Coupon           *string                 `json:"coupon,omitzero"`
	Customer         *OrderRequestCustomer   `json:"customer,omitzero"`
	DeliveryDatetime *int64                  `json:"delivery_datetime,omitzero"` // When the customer wants it, in epoch milliseconds
	DeliveryType     *string                 `json:"delivery_type,omitzero"`     // Who brings it
	Discount         *json.Number            `json:"discount,omitzero"`
	Discounts        []OrderRequestDiscounts `json:"discounts,omitzero"`
	Instructions     *string                 `json:"instructions,omitzero"`
	IsBulkOrder      *bool                   `json:"is_bulk_order,omitzero"`
	Items            []OrderRequestItems     `json:"items"`
	OrderSubtotal    *json.Number            `json:"order_subtotal,omitzero"`
	OrderTotal       *json.Number            `json:"order_total,omitzero"`
	OrderType        *string                 `json:"order_type,omitzero"`
	PayableAmount    *json.Number            `json:"payable_amount,omitzero"`
	Payment          []OrderRequestPayment   `json:"payment,omitzero"`
	Platform         string                  `json:"platform"`          // Name of one of the business's platforms
	PlatformOrderID  json.RawMessage         `json:"platform_order_id"` // The platform's identifier of the order, a text of at most 255 characters or a whole number
	StoreRefID       string                  `json:"store_ref_id"`      // The merchant's identifier of the store
	Taxes            []OrderRequestTaxes     `json:"taxes,omitzero"`    // All taxes
	TotalCharges     *json.Number            `json:"total_charges,omitzero"`
	TotalTaxes       *json.Number            `json:"total_taxes,omitzero"`
}

// OrderRequestCharges is as the reference describes it.
type OrderRequestCharges struct {
	Title string      `json:"title"`
	Value json.Number `json:"value"`
}

// OrderRequestCustomer is as the reference describes it.
type OrderRequestCustomer struct {
	Address *OrderRequestCustomerAddress `json:"address,omitzero"`
	Email   *string                      `json:"email,omitzero"`
	Name    *string                      `json:"name,omitzero"`
	Phone   *string                      `json:"phone,omitzero"`
}

// OrderRequestCustomerAddress is as the reference describes it.
type OrderRequestCustomerAddress struct {
	City        *string      `json:"city,omitzero"`
	Landmark    *string      `json:"landmark,omitzero"`
	Latitude    *json.Number `json:"latitude,omitzero"`
	Line1       *string      `json:"line_1,omitzero"`
	Line2       *string      `json:"line_2,omitzero"`
	Longitude   *json.Number `json:"longitude,omitzero"`
	Pin         *string      `json:"pin,omitzero"`
	SubLocality *string      `json:"sub_locality,omitzero"`
}

// OrderRequestDiscounts is as the reference describes it.
type OrderRequestDiscounts struct {
	Code  *string     `json:"code,omitzero"`
	Title *string     `json:"title,omitzero"`
	Value json.Number `json:"value"` // As a positive amount
}

// OrderRequestItems is as the reference describes it.
type OrderRequestItems struct {
	Instructions *string                    `json:"instructions,omitzero"`
	Options      []OrderRequestItemsOptions `json:"options,omitzero"`
	Price        *json.Number               `json:"price,omitzero"` // Of one, without its options
	Quantity     int64                      `json:"quantity"`
	RefID        string                     `json:"ref_id"`
	Title        *string                    `json:"title,omitzero"`
}

// OrderRequestItemsOptions is as the reference describes it.
type OrderRequestItemsOptions struct {
	Price    *json.Number `json:"price,omitzero"`
	Quantity *int64       `json:"quantity,omitzero"` // For each one of the item
	RefID    string       `json:"ref_id"`
	Title    *string      `json:"title,omitzero"`
}

// OrderRequestPayment is as the reference describes it.
type OrderRequestPayment struct {
	Amount    json.Number `json:"amount"`
	Option    string      `json:"option"` // Such as `cash` or `prepaid`
	SrvrTrxID *string     `json:"srvr_trx_id,omitzero"`
}

// OrderRequestTaxes is as the reference describes it.
type OrderRequestTaxes struct {
	Rate  *json.Number `json:"rate,omitzero"` // Percent
	Title string       `json:"title"`
	Value json.Number  `json:"value"`
}

// OrderRider: The rider of the order; absent before the first status
type OrderRider struct {
	History []OrderRiderHistory `json:"history"`
	Name    *string             `json:"name,omitzero"`
	Phone   *string             `json:"phone,omitzero"`
	Status  RiderState          `json:"status"`
}

// OrderRiderHistory is as the reference describes it.
type OrderRiderHistory struct {
	Actor  string                  `json:"actor"` // Who sent it, such as `key:pos`
	At     int64                   `json:"at"`    // Epoch milliseconds
	Name   *string                 `json:"name,omitzero"`
	Phone  *string                 `json:"phone,omitzero"`
	Relay  *OrderRiderHistoryRelay `json:"relay,omitzero"` // What became of telling the platform; absent where it is not told
	Status RiderState              `json:"status"`
}

// OrderRiderHistoryRelay: What became of telling the platform; absent where it is not told
type OrderRiderHistoryRelay struct {
	Message *string `json:"message,omitzero"` // Why, for people
	State   string  `json:"state"`
}

// OrderState is as the reference describes it.
type OrderState = string

// OrderSummary is as the reference describes it.
type OrderSummary struct {
	Created         int64      `json:"created"` // Epoch milliseconds
	DeliveryType    string     `json:"delivery_type"`
	Escalated       *int64     `json:"escalated,omitzero"` // When it had waited too long for its acknowledgement, in epoch milliseconds
	Flags           int64      `json:"flags"`              // How many flags the order has
	IsBulkOrder     bool       `json:"is_bulk_order"`
	OrderID         int64      `json:"order_id"`
	Platform        string     `json:"platform"`
	PlatformOrderID string     `json:"platform_order_id"`
	ReferenceID     *string    `json:"reference_id,omitzero"` // What you call the order
	State           OrderState `json:"state"`
	StoreRefID      string     `json:"store_ref_id"`
	Updated         int64      `json:"updated"` // When its state changed last, in epoch milliseconds
}

// PageMeta is as the reference describes it.
type PageMeta struct {
	Limit int64   `json:"limit"`
	Next  *string `json:"next,omitzero"` // The `after` of the next page; absent on the last
}

// PlatformPrice is as the reference describes it.
type PlatformPrice struct {
	Platform string      `json:"platform"` // A platform of the business
	Price    json.Number `json:"price"`    // The price there
}

// PostMenuQuery narrows PostMenu; what is zero is not sent.
type PostMenuQuery struct {
	DryRun bool // Changes nothing and posts no callback; the job of the `reference` tells what the request would do
}

// PostOrderRetryBody is as the reference describes it.
type PostOrderRetryBody struct {
	EndTime   int64           `json:"end_time"`   // End of the window, in epoch milliseconds; later than `start_time`, does not belong to it
	EventType json.RawMessage `json:"event_type"` // The id of `order_placed`
	StartTime int64           `json:"start_time"` // Start of the window, in epoch milliseconds; belongs to it
}

// PostTimingGroupsBody is as the reference describes it.
type PostTimingGroupsBody struct {
	CallbackURL  *string       `json:"callback_url,omitzero"` // Where this request's callback goes instead of to the webhooks, signed with the callback secret of the business
	TimingGroups []TimingGroup `json:"timing_groups"`
}

// Publication is as the reference describes it.
type Publication struct {
	Attempts      int64               `json:"attempts"`         // At what is on the way
	DueAt         *string             `json:"due_at,omitzero"`  // When what is on the way goes out; absent where nothing is
	Errors        []PublicationErrors `json:"errors"`           // What is not on the platform as it should be, and why; at most 1000
	LocationRefID string              `json:"location_ref_id"`  // Your `ref_id` of the store
	Message       *string             `json:"message,omitzero"` // Why, in plain words
	Platform      string              `json:"platform"`
	PublishedAt   *string             `json:"published_at,omitzero"` // When the platform last took the menu
	Reference     *string             `json:"reference,omitzero"`    // The `reference_id` of the event that told the outcome: that of the latest change
	SettledAt     *string             `json:"settled_at,omitzero"`   // When the status was last told
	Status        PublicationStatus   `json:"status"`
	WaitsBecause  *string             `json:"waits_because,omitzero"` // Why it still waits
}

// PublicationErrors is as the reference describes it.
type PublicationErrors struct {
	Code    string `json:"code"`    // Which rule, for programs
	Entity  string `json:"entity"`  // `menu`, `store`, `category`, `item`, `option_group`, `option`, `tax` or `charge`
	Message string `json:"message"` // What is wrong, for people
	RefID   string `json:"ref_id"`  // Yours; empty where the whole menu is meant
}

// PublicationPage is as the reference describes it.
type PublicationPage struct {
	Meta         PageMeta      `json:"meta"`
	Publications []Publication `json:"publications"`
}

// PublicationStatus: `waiting`: nothing came of it yet
type PublicationStatus = string

// PutOrderBody is as the reference describes it.
type PutOrderBody struct {
	ReferenceID json.RawMessage `json:"reference_id"` // What you call the order
}

// RetryDeliveriesAnswer is as the reference describes it.
type RetryDeliveriesAnswer struct {
	Count     int64   `json:"count"` // How many deliveries were chosen when it was asked
	Message   string  `json:"message"`
	Reference *string `json:"reference,omitzero"` // Of the job
	Status    string  `json:"status"`
}

// RetryDeliveriesBody is as the reference describes it.
type RetryDeliveriesBody struct {
	Filter *RetryDeliveriesBodyFilter `json:"filter,omitzero"` // What is left out chooses all
	IDs    []string                   `json:"ids,omitzero"`    // The `id` of each delivery
}

// RetryDeliveriesBodyFilter: What is left out chooses all
type RetryDeliveriesBodyFilter struct {
	EventType *string `json:"event_type,omitzero"` // Name or numeric id of an event type
	From      *int64  `json:"from,omitzero"`       // Created at or after, in epoch milliseconds
	OrderID   *int64  `json:"order_id,omitzero"`   // Of the order that the event tells of, with what came of calls to its aggregator
	Reference *string `json:"reference,omitzero"`  // Of the request that the event answers
	State     *string `json:"state,omitzero"`      // `pending` ones are made due now
	To        *int64  `json:"to,omitzero"`         // Created before, in epoch milliseconds; at most now
	WebhookID *int64  `json:"webhook_id,omitzero"` // Deliveries of this webhook
}

// RetryDeliveriesQuery narrows RetryDeliveries; what is zero is not sent.
type RetryDeliveriesQuery struct {
	DryRun bool // Count, and do nothing
}

// RetryDeliveryAnswer is as the reference describes it.
type RetryDeliveryAnswer struct {
	Message string `json:"message"`
	Status  string `json:"status"`
}

// Revision is as the reference describes it.
type Revision struct {
	Actor         *string           `json:"actor,omitzero"`   // Who sent it, such as `key:pos`
	At            int64             `json:"at"`               // Epoch milliseconds
	BackTo        *string           `json:"back_to,omitzero"` // Of a rollback: the revision that it went back to
	Changes       []RevisionChanges `json:"changes"`
	ID            string            `json:"id"`
	Kind          string            `json:"kind"`
	LocationRefID *string           `json:"location_ref_id,omitzero"` // What the request was sent to
	Reference     string            `json:"reference"`                // Of the request that made it
}

// RevisionChanges is as the reference describes it.
type RevisionChanges struct {
	Entity        string  `json:"entity"`
	LocationRefID *string `json:"location_ref_id,omitzero"` // Of values of a store
	Rows          int64   `json:"rows"`                     // How many records, values and associations were changed
}

// RevisionFields is as the reference describes it.
type RevisionFields struct {
	Actor         *string                 `json:"actor,omitzero"`   // Who sent it, such as `key:pos`
	At            int64                   `json:"at"`               // Epoch milliseconds
	BackTo        *string                 `json:"back_to,omitzero"` // Of a rollback: the revision that it went back to
	Changes       []RevisionFieldsChanges `json:"changes"`
	ID            string                  `json:"id"`
	Kind          string                  `json:"kind"`
	LocationRefID *string                 `json:"location_ref_id,omitzero"` // What the request was sent to
	Reference     string                  `json:"reference"`                // Of the request that made it
}

// RevisionFieldsChanges is as the reference describes it.
type RevisionFieldsChanges struct {
	Entity        string  `json:"entity"`
	LocationRefID *string `json:"location_ref_id,omitzero"` // Of values of a store
	Rows          int64   `json:"rows"`                     // How many records, values and associations were changed
}

// RiderLocation is as the reference describes it.
type RiderLocation struct {
	Location RiderLocationLocation `json:"location"`
	OrderID  json.RawMessage       `json:"order_id"` // The `order_id` that the hub gave the order
}

// RiderLocationLocation is as the reference describes it.
type RiderLocationLocation struct {
	Latitude  json.RawMessage `json:"latitude"`  // Degrees north from -90 to 90, as decimal text; a number is taken too
	Longitude json.RawMessage `json:"longitude"` // Degrees east from -180 to 180, as decimal text; a number is taken too
}

// RiderState is as the reference describes it.
type RiderState = string

// RiderStatus is as the reference describes it.
type RiderStatus struct {
	OrderID   json.RawMessage       `json:"order_id"` // The `order_id` that the hub gave the order
	RiderData *RiderStatusRiderData `json:"rider_data,omitzero"`
	Status    RiderState            `json:"status"`
}

// RiderStatusRiderData is as the reference describes it.
type RiderStatusRiderData struct {
	RiderName        *string         `json:"rider_name,omitzero"`
	RiderPhoneNumber json.RawMessage `json:"rider_phone_number,omitzero"`
}

// RotateWebhookAnswer is as the reference describes it.
type RotateWebhookAnswer struct {
	Message        string `json:"message"`
	OldSecretUntil int64  `json:"old_secret_until"` // Until when the earlier secret signs too, in epoch milliseconds
	Secret         string `json:"secret"`           // Signs every delivery from now on
	Status         string `json:"status"`
	WebhookID      int64  `json:"webhook_id"`
}

// Store is as the reference describes it.
type Store struct {
	Active             *bool               `json:"active,omitzero"`              // Whether the store is in operation
	Address            *string             `json:"address,omitzero"`             // Street address, in one text
	City               *string             `json:"city,omitzero"`                // The city it is in
	ContactPhone       *string             `json:"contact_phone,omitzero"`       // The number that customers can call
	ExcludedPlatforms  []string            `json:"excluded_platforms,omitzero"`  // Lists the store on every platform of the business but these; empty is on all
	GeoLatitude        *json.Number        `json:"geo_latitude,omitzero"`        // Degrees north; negative is south
	GeoLongitude       *json.Number        `json:"geo_longitude,omitzero"`       // Degrees east; negative is west
	HideFromUI         *bool               `json:"hide_from_ui,omitzero"`        // Keeps the store's name off websites and apps
	IncludedPlatforms  []string            `json:"included_platforms,omitzero"`  // Lists the store on these platforms only; empty is on none
	MinDeliveryTime    *int64              `json:"min_delivery_time,omitzero"`   // Seconds from an order until it is delivered
	MinOrderValue      *json.Number        `json:"min_order_value,omitzero"`     // The least amount of an online order, in the currency of the business
	MinPickupTime      *int64              `json:"min_pickup_time,omitzero"`     // Seconds from an order until it can be picked up
	Name               *string             `json:"name,omitzero"`                // What the store is called
	NotificationEmails []string            `json:"notification_emails,omitzero"` // E-mail addresses to alert when the store has a problem
	NotificationPhones []string            `json:"notification_phones,omitzero"` // Numbers to alert when the store has a problem
	OrderingEnabled    *bool               `json:"ordering_enabled,omitzero"`    // Whether it takes online orders
	PlatformData       []StorePlatformData `json:"platform_data,omitzero"`       // How platforms know the store, each platform once
	RefID              string              `json:"ref_id"`                       // Your identifier of the store
	Timings            []StoreTimings      `json:"timings,omitzero"`             // Opening hours
	Translations       []StoreTranslations `json:"translations,omitzero"`        // The name in other languages, each language once
	ZipCodes           []string            `json:"zip_codes,omitzero"`           // Where the store delivers
}

// StorePage is as the reference describes it.
type StorePage struct {
	Meta   StorePageMeta `json:"meta"`   // Where the page stands
	Stores []StoredStore `json:"stores"` // The stores, in the order of `ref_id`
}

// StorePageMeta: Where the page stands
type StorePageMeta struct {
	Limit int64   `json:"limit"`         // How many stores a page holds
	Next  *string `json:"next,omitzero"` // The `after` of the next page
}

// StorePlatformData is as the reference describes it.
type StorePlatformData struct {
	Name            string  `json:"name"`                       // A platform of the business
	PlatformStoreID *string `json:"platform_store_id,omitzero"` // The platform's own identifier of the store; without one it knows the store by its `ref_id`
	URL             *string `json:"url,omitzero"`               // The store's page on the platform, an `http` or `https` address
}

// StoreResult is as the reference describes it.
type StoreResult struct {
	Created int64          `json:"created"`         // Stores that are new
	Errors  int64          `json:"errors"`          // Stores that failed
	Failed  []FailedObject `json:"failed,omitzero"` // The first 100 of them; the callback tells of all
	Updated int64          `json:"updated"`         // Stores that existed
}

// StoreTimings is as the reference describes it.
type StoreTimings struct {
	Day   string              `json:"day"`            // The weekday on which the slots begin
	Slots []StoreTimingsSlots `json:"slots,omitzero"` // Spans of that day
}

// StoreTimingsSlots is as the reference describes it.
type StoreTimingsSlots struct {
	EndTime   string `json:"end_time"`   // Closing, likewise
	StartTime string `json:"start_time"` // Opening, as `HH:MM:SS` or `HH:MM` of 24 hours
}

// StoreTranslations is as the reference describes it.
type StoreTranslations struct {
	Language string `json:"language"` // A two-letter code of ISO 639-1
	Name     string `json:"name"`     // The name in that language
}

// StoredCategory is as the reference describes it.
type StoredCategory struct {
	Active       bool                     `json:"active"`                 // Whether its master record is active
	Description  *string                  `json:"description,omitzero"`   // Text about it
	ID           int64                    `json:"id"`                     // The hub's number of it
	ImgURL       *string                  `json:"img_url,omitzero"`       // A picture
	Name         string                   `json:"name"`                   // What it is called
	ParentRefID  *string                  `json:"parent_ref_id,omitzero"` // The category above it
	RefID        string                   `json:"ref_id"`                 // Your identifier
	SortOrder    int64                    `json:"sort_order"`             // Its place
	Translations []StoredNamedTranslation `json:"translations,omitzero"`  // Texts in other languages
}

// StoredCharge is as the reference describes it.
type StoredCharge struct {
	Active            bool                  `json:"active"`                      // Whether its master record is active
	Code              string                `json:"code"`                        // The code
	Description       *string               `json:"description,omitzero"`        // Text about it
	ExcludedPlatforms []string              `json:"excluded_platforms,omitzero"` // Platforms where it is not made
	FulfillmentModes  []string              `json:"fulfillment_modes,omitzero"`  // For which orders it is made
	ID                int64                 `json:"id"`                          // The hub's number of it
	ItemRefIDs        []string              `json:"item_ref_ids"`                // The items it falls on; `all` for every item
	Structure         StoredChargeStructure `json:"structure"`                   // How much it is, and of what
	Title             string                `json:"title"`                       // What it is called
}

// StoredChargeStructure: How much it is, and of what
type StoredChargeStructure struct {
	ApplicableOn *string     `json:"applicable_on,omitzero"` // What it falls on; absent for a fixed charge on the order
	Value        json.Number `json:"value"`                  // An amount, or percent
}

// StoredImage is as the reference describes it.
type StoredImage struct {
	Tag string `json:"tag"` // The platform, or `default`
	URL string `json:"url"` // Address of the picture
}

// StoredItem is as the reference describes it.
type StoredItem struct {
	Active            bool                      `json:"active"`                      // Whether its master record is active
	Available         bool                      `json:"available"`                   // Whether it can be ordered
	CategoryRefIDs    []string                  `json:"category_ref_ids"`            // Its categories
	CurrentStock      int64                     `json:"current_stock"`               // How many are there; `-1` is never out of stock
	Description       *string                   `json:"description,omitzero"`        // Text about it
	ExternalPrice     *json.Number              `json:"external_price,omitzero"`     // Price on aggregators
	FoodType          *string                   `json:"food_type,omitzero"`          // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	FulfillmentModes  []string                  `json:"fulfillment_modes,omitzero"`  // How it can be had
	ID                int64                     `json:"id"`                          // The hub's number of it
	Images            []StoredImage             `json:"images,omitzero"`             // Pictures
	ImgURL            *string                   `json:"img_url,omitzero"`            // The picture for all platforms
	IncludedPlatforms []string                  `json:"included_platforms,omitzero"` // The platforms that list it; absent for all
	KeyValueGroups    []StoredKeyValueGroup     `json:"key_value_groups,omitzero"`   // Further facts by group
	MarkupPrice       *json.Number              `json:"markup_price,omitzero"`       // The higher price, struck out
	OptionGroupRefIDs []string                  `json:"option_group_ref_ids"`        // Its option groups
	PlatformPricing   []StoredPlatformPrice     `json:"platform_pricing,omitzero"`   // Prices of single platforms
	Price             json.Number               `json:"price"`                       // Price on the website and apps
	Recommended       bool                      `json:"recommended"`                 // Whether it is recommended
	RefID             string                    `json:"ref_id"`                      // Your identifier
	RefTitle          *string                   `json:"ref_title,omitzero"`          // The title for staff
	Serves            *int64                    `json:"serves,omitzero"`             // How many people it serves
	SoldAtStore       *bool                     `json:"sold_at_store,omitzero"`      // Whether the store sells it; of the master record, what was last sent
	SortOrder         int64                     `json:"sort_order"`                  // Its place
	Tags              map[string][]string       `json:"tags,omitzero"`               // Tags by platform
	Title             string                    `json:"title"`                       // What it is called
	Translations      []StoredTitledTranslation `json:"translations,omitzero"`       // Texts in other languages
	Weight            *json.Number              `json:"weight,omitzero"`             // Weight in grams
}

// StoredKeyValueGroup is as the reference describes it.
type StoredKeyValueGroup struct {
	Group        string                            `json:"group"`          // The group
	KeyValueData []StoredKeyValueGroupKeyValueData `json:"key_value_data"` // The facts
}

// StoredKeyValueGroupKeyValueData is as the reference describes it.
type StoredKeyValueGroupKeyValueData struct {
	Key   string `json:"key"`   // The key
	Value string `json:"value"` // The value
}

// StoredNamedTranslation is as the reference describes it.
type StoredNamedTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1
	Name        *string `json:"name,omitzero"`        // The name in that language
}

// StoredOption is as the reference describes it.
type StoredOption struct {
	Active         bool                      `json:"active"`                    // Whether its master record is active
	Available      bool                      `json:"available"`                 // Whether it can be ordered
	Description    *string                   `json:"description,omitzero"`      // Text about it
	FoodType       *string                   `json:"food_type,omitzero"`        // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	ID             int64                     `json:"id"`                        // The hub's number of it
	Images         []StoredImage             `json:"images,omitzero"`           // Pictures
	ImgURL         *string                   `json:"img_url,omitzero"`          // The picture for all platforms
	KeyValueGroups []StoredKeyValueGroup     `json:"key_value_groups,omitzero"` // Further facts by group
	NestedOptGrps  []string                  `json:"nested_opt_grps"`           // The groups nested under it
	OptGrpRefIDs   []string                  `json:"opt_grp_ref_ids"`           // The groups it is in
	Price          json.Number               `json:"price"`                     // What it adds to the price
	Recommended    bool                      `json:"recommended"`               // Whether it is recommended
	RefID          string                    `json:"ref_id"`                    // Your identifier
	RefTitle       *string                   `json:"ref_title,omitzero"`        // The title for staff
	SoldAtStore    *bool                     `json:"sold_at_store,omitzero"`    // Whether the store sells it; of the master record, what was last sent
	SortOrder      int64                     `json:"sort_order"`                // Its place
	Title          string                    `json:"title"`                     // What it is called
	Translations   []StoredTitledTranslation `json:"translations,omitzero"`     // Texts in other languages
	Weight         *int64                    `json:"weight,omitzero"`           // Weight in grams
}

// StoredOptionGroup is as the reference describes it.
type StoredOptionGroup struct {
	Active              bool                      `json:"active"`                // Whether its master record is active
	Description         *string                   `json:"description,omitzero"`  // Text about it
	DisplayInline       bool                      `json:"display_inline"`        // Whether a nested group is shown on the level above it
	ID                  int64                     `json:"id"`                    // The hub's number of it
	ItemRefIDs          []string                  `json:"item_ref_ids"`          // The items it is on
	MaxSelectable       int64                     `json:"max_selectable"`        // How many may be chosen; `-1` is any number
	MinSelectable       int64                     `json:"min_selectable"`        // How many options must be chosen
	MultiOptionsEnabled bool                      `json:"multi_options_enabled"` // Whether an option may be chosen more than once
	OptionRefIDs        []string                  `json:"option_ref_ids"`        // Its options
	RefID               string                    `json:"ref_id"`                // Your identifier
	RefTitle            *string                   `json:"ref_title,omitzero"`    // The title for staff
	SortOrder           int64                     `json:"sort_order"`            // Its place
	Title               string                    `json:"title"`                 // What it is called
	Translations        []StoredTitledTranslation `json:"translations,omitzero"` // Texts in other languages
}

// StoredPlatformPrice is as the reference describes it.
type StoredPlatformPrice struct {
	Platform string      `json:"platform"` // The platform
	Price    json.Number `json:"price"`    // The price there
}

// StoredStore is as the reference describes it.
type StoredStore struct {
	Active             bool                      `json:"active"`                       // Whether the store is in operation
	Address            *string                   `json:"address,omitzero"`             // Street address
	City               string                    `json:"city"`                         // The city it is in
	ClosedOn           []StoredStoreClosedOn     `json:"closed_on,omitzero"`           // Platforms on which it was closed for orders; absent where there are none
	ContactPhone       *string                   `json:"contact_phone,omitzero"`       // The number for customers
	ExcludedPlatforms  []string                  `json:"excluded_platforms,omitzero"`  // Listed everywhere but here
	GeoLatitude        *json.Number              `json:"geo_latitude,omitzero"`        // Degrees north
	GeoLongitude       *json.Number              `json:"geo_longitude,omitzero"`       // Degrees east
	HideFromUI         bool                      `json:"hide_from_ui"`                 // Whether the name is kept off websites and apps
	ID                 int64                     `json:"id"`                           // The hub's number of the store
	IncludedPlatforms  []string                  `json:"included_platforms,omitzero"`  // Listed only here
	MinDeliveryTime    *int64                    `json:"min_delivery_time,omitzero"`   // Seconds until delivery
	MinOrderValue      *json.Number              `json:"min_order_value,omitzero"`     // The least amount of an online order
	MinPickupTime      *int64                    `json:"min_pickup_time,omitzero"`     // Seconds until pickup
	Name               string                    `json:"name"`                         // What the store is called
	NotificationEmails []string                  `json:"notification_emails,omitzero"` // E-mail addresses to alert
	NotificationPhones []string                  `json:"notification_phones,omitzero"` // Numbers to alert
	OrderingEnabled    bool                      `json:"ordering_enabled"`             // Whether it takes online orders
	PlatformData       []StoredStorePlatformData `json:"platform_data,omitzero"`       // How platforms know the store
	RefID              string                    `json:"ref_id"`                       // Your identifier
	Timings            []StoredStoreTimings      `json:"timings,omitzero"`             // Opening hours
	Translations       []StoredStoreTranslations `json:"translations,omitzero"`        // The name in other languages
	ZipCodes           []string                  `json:"zip_codes,omitzero"`           // Where the store delivers
}

// StoredStoreClosedOn is as the reference describes it.
type StoredStoreClosedOn struct {
	ActionSrc string  `json:"action_src"` // Who asked: `api`, or `presence`, the hub while your system was silent
	Actor     string  `json:"actor"`      // The same in full, such as `key:pos`
	Platform  string  `json:"platform"`
	Reason    *string `json:"reason,omitzero"`
	Since     int64   `json:"since"`               // In milliseconds since 1970, as `turn_on_at`
	TurnOnAt  *int64  `json:"turn_on_at,omitzero"` // When it opens by itself; absent where it does not
}

// StoredStorePlatformData is as the reference describes it.
type StoredStorePlatformData struct {
	Name            string  `json:"name"`                       // The platform
	PlatformStoreID *string `json:"platform_store_id,omitzero"` // The platform's identifier of the store
	URL             *string `json:"url,omitzero"`               // The store's page there
}

// StoredStoreTimings is as the reference describes it.
type StoredStoreTimings struct {
	Day   string                    `json:"day"`   // The weekday on which the slots begin
	Slots []StoredStoreTimingsSlots `json:"slots"` // Spans of that day
}

// StoredStoreTimingsSlots is as the reference describes it.
type StoredStoreTimingsSlots struct {
	EndTime   string `json:"end_time"`   // Closing, as `HH:MM:SS`
	StartTime string `json:"start_time"` // Opening, as `HH:MM:SS`
}

// StoredStoreTranslations is as the reference describes it.
type StoredStoreTranslations struct {
	Language string `json:"language"` // A two-letter code of ISO 639-1
	Name     string `json:"name"`     // The name in that language
}

// StoredTax is as the reference describes it.
type StoredTax struct {
	Active      bool               `json:"active"`               // Whether its master record is active
	Code        string             `json:"code"`                 // The code
	Description *string            `json:"description,omitzero"` // Text about it
	ID          int64              `json:"id"`                   // The hub's number of it
	ItemRefIDs  []string           `json:"item_ref_ids"`         // The items it falls on; `all` for every item
	Structure   StoredTaxStructure `json:"structure"`            // How much it is
	Title       string             `json:"title"`                // What it is called
}

// StoredTaxStructure: How much it is
type StoredTaxStructure struct {
	Value json.Number `json:"value"` // The rate in percent
}

// StoredTitledTranslation is as the reference describes it.
type StoredTitledTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1
	Title       *string `json:"title,omitzero"`       // The title in that language
}

// StoresRequest is as the reference describes it.
type StoresRequest struct {
	CallbackURL *string `json:"callback_url,omitzero"` // Where this request's callback goes instead of to the webhooks, signed with the callback secret of the business
	Stores      []Store `json:"stores"`                // The stores
}

// Switch is as the reference describes it.
type Switch struct {
	Outcomes  []SwitchOutcomes `json:"outcomes"` // What was told of it, the oldest first; where things were turned on again by themselves, that too
	Reference string           `json:"reference"`
	Waiting   []SwitchWaiting  `json:"waiting"` // Platforms that are still to be told; none once it is done
}

// SwitchOutcomes is as the reference describes it.
type SwitchOutcomes struct {
	Body      json.RawMessage `json:"body"` // The callback
	EventType string          `json:"event_type"`
}

// SwitchWaiting is as the reference describes it.
type SwitchWaiting struct {
	Platform     string  `json:"platform"`
	WaitsBecause *string `json:"waits_because,omitzero"` // What went wrong with the latest attempt; absent before there was one
}

// Tax is as the reference describes it.
type Tax struct {
	Active      *bool        `json:"active,omitzero"`       // Whether it is levied
	Code        string       `json:"code"`                  // By the country of the business: `ST_P` in the United States, `GST_P` in Canada, `CGST_P`, `SGST_P` and `IGST_P` in India, `VAT_P` elsewhere
	Description *string      `json:"description,omitzero"`  // Text about it
	ItemRefIDs  []string     `json:"item_ref_ids,omitzero"` // Items it falls on, or `all` alone
	Structure   TaxStructure `json:"structure"`             // How much it is
	Title       *string      `json:"title,omitzero"`        // What it is called, in any letter case: `Sales Tax` in the United States, `GST` in Canada; in India it contains sgst, cgst, gst, municipality or kerala, elsewhere vat
}

// TaxStructure: How much it is
type TaxStructure struct {
	Value json.Number `json:"value"` // The rate in percent
}

// TestWebhookAnswer is as the reference describes it.
type TestWebhookAnswer struct {
	Message   string `json:"message"`
	Reference string `json:"reference"`
	Status    string `json:"status"`
	WebhookID int64  `json:"webhook_id"`
}

// TimingGroup is as the reference describes it.
type TimingGroup struct {
	CategoryRefIDs []string   `json:"category_ref_ids"`   // Your identifiers of the categories
	DaySlots       []DayHours `json:"day_slots,omitzero"` // When they are on sale; required unless there are no categories
	Title          string     `json:"title"`              // What the group goes by
}

// TitledTranslation is as the reference describes it.
type TitledTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1
	Title       *string `json:"title,omitzero"`       // The title in that language
}

// TurnOnAt: With `disable`, when it goes on again by itself, in milliseconds since 1970; between 5 minutes and 30 days from now
type TurnOnAt = int64

// TwiceReferenced is as the reference describes it.
type TwiceReferenced struct {
	Message     string `json:"message"`
	Reference   string `json:"reference"`    // The callback carries it as `reference_id`
	ReferenceID string `json:"reference_id"` // The same
	Status      string `json:"status"`
}

// Webhook is as the reference describes it.
type Webhook struct {
	Active               bool              `json:"active"`                   // Whether events are sent
	DisabledReason       *string           `json:"disabled_reason,omitzero"` // Why the hub switched the webhook off
	EventType            EventType         `json:"event_type"`               // The event
	Headers              map[string]string `json:"headers"`                  // Headers that are sent along
	RetrialIntervalUnits string            `json:"retrial_interval_units"`   // The unit of the waits between attempts
	URL                  string            `json:"url"`                      // Where events are posted
	WebhookID            int64             `json:"webhook_id"`               // The hub's number of the webhook
}

// WebhookChange is as the reference describes it.
type WebhookChange struct {
	Active               *bool           `json:"active,omitzero"`     // Whether events are sent
	EventType            json.RawMessage `json:"event_type,omitzero"` // May be sent, but must be the type that the webhook has
	Headers              *HeadersInput   `json:"headers,omitzero"`
	RetrialIntervalUnits *string         `json:"retrial_interval_units,omitzero"` // The unit of the waits between attempts
	URL                  *string         `json:"url,omitzero"`                    // The new address
}

// WebhookChanged is as the reference describes it.
type WebhookChanged struct {
	Message   string `json:"message"`    // What was done, for people
	Status    string `json:"status"`     // Always `success`
	WebhookID int64  `json:"webhook_id"` // The hub's number of the webhook
}

// WebhookCreated is as the reference describes it.
type WebhookCreated struct {
	Active    bool    `json:"active"`          // Whether events are sent
	Message   string  `json:"message"`         // What was done, for people
	Secret    *string `json:"secret,omitzero"` // Verifies signatures
	Status    string  `json:"status"`          // Always `success`
	WebhookID int64   `json:"webhook_id"`      // The hub's number of the webhook
}

// WebhookPage is as the reference describes it.
type WebhookPage struct {
	Meta     WebhookPageMeta `json:"meta"`     // Where the page stands
	Webhooks []Webhook       `json:"webhooks"` // The webhooks, oldest first
}

// WebhookPageMeta: Where the page stands
type WebhookPageMeta struct {
	Limit      int64 `json:"limit"`       // How many webhooks a page holds
	Offset     int64 `json:"offset"`      // How many were skipped
	TotalCount int64 `json:"total_count"` // How many there are in all
}

// WebhookRequest is as the reference describes it.
type WebhookRequest struct {
	Active               *bool          `json:"active,omitzero"` // Whether events are sent
	EventType            EventTypeInput `json:"event_type"`
	Headers              *HeadersInput  `json:"headers,omitzero"`
	RetrialIntervalUnits *string        `json:"retrial_interval_units,omitzero"` // The unit of the waits between attempts
	URL                  string         `json:"url"`                             // Where events are posted
}
