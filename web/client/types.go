// Code generated from web/openapi.yaml by web/client/generate. DO NOT EDIT.

package client

import "encoding/json"

// Accepted is described in the API reference.
type Accepted struct {
	Error       *string         `json:"error,omitzero"`  // Error of the latest failed attempt or of the whole job, only with `wait`
	Message     string          `json:"message"`         // Next step, for people
	Reference   string          `json:"reference"`       // Identifies the request
	Result      json.RawMessage `json:"result,omitzero"` // The `result` of the job once it has ended, only with `wait`
	State       *string         `json:"state,omitzero"`  // State of the job, only with `wait`
	Status      string          `json:"status"`
	WaitOutcome *WaitOutcome    `json:"wait_outcome,omitzero"`
}

// Attempt is described in the API reference.
type Attempt struct {
	Attempt         int64             `json:"attempt"`
	Error           *string           `json:"error,omitzero"`       // Description of the failure
	ErrorClass      *string           `json:"error_class,omitzero"` // Class of the failure
	RequestHeaders  map[string]string `json:"request_headers"`      // Request headers as sent
	ResponseBody    string            `json:"response_body"`        // The first 4 KiB of the response
	ResponseHeaders map[string]string `json:"response_headers"`     // Response headers
	SentTwice       *bool             `json:"sent_twice,omitzero"`  // The request was sent a second time, because your server closed an idle connection before it responded
	StartedAt       string            `json:"started_at"`
	Status          *int64            `json:"status,omitzero"`
	TimingMs        AttemptTimingMs   `json:"timing_ms"` // End of each phase, in milliseconds since the start
	URL             string            `json:"url"`
}

// AttemptTimingMs: End of each phase, in milliseconds since the start
type AttemptTimingMs struct {
	Connect   *json.Number `json:"connect,omitzero"`
	Dns       *json.Number `json:"dns,omitzero"`
	FirstByte *json.Number `json:"first_byte,omitzero"`
	Tls       *json.Number `json:"tls,omitzero"`
	Total     *json.Number `json:"total,omitzero"`
}

// BusyPlatform is described in the API reference.
type BusyPlatform struct {
	Actor       *string `json:"actor,omitzero"` // The actor in full, such as `key:pos`
	Platform    string  `json:"platform"`
	PrepMinutes *int64  `json:"prep_minutes,omitzero"` // The preparation time of new orders in minutes
	Since       int64   `json:"since"`                 // Time of the latest request, in milliseconds since 1970
	Until       *int64  `json:"until,omitzero"`        // Time at which the hub ends it, in milliseconds since 1970
}

// Category is described in the API reference.
type Category struct {
	Active       *bool              `json:"active,omitzero"`        // Whether customers can order its items
	Description  *string            `json:"description,omitzero"`   // Description of the object
	ImgURL       *string            `json:"img_url,omitzero"`       // URL of a picture
	Name         *string            `json:"name,omitzero"`          // Name of the category
	ParentRefID  *string            `json:"parent_ref_id,omitzero"` // Parent category
	RefID        string             `json:"ref_id"`                 // Your identifier of the category
	SortOrder    *int64             `json:"sort_order,omitzero"`    // Position in lists, the lowest first
	Translations []NamedTranslation `json:"translations,omitzero"`  // Texts in other languages
}

// ChannelStore is described in the API reference.
type ChannelStore struct {
	Active          bool              `json:"active"`
	Address         *string           `json:"address,omitzero"`
	BusyOn          []BusyPlatform    `json:"busy_on,omitzero"` // Platforms on which the store is busy
	City            string            `json:"city"`
	ClosedOn        []string          `json:"closed_on,omitzero"` // Platforms on which the store is closed for orders
	ContactPhone    *string           `json:"contact_phone,omitzero"`
	GeoLatitude     *json.Number      `json:"geo_latitude,omitzero"`
	GeoLongitude    *json.Number      `json:"geo_longitude,omitzero"`
	HideFromUI      bool              `json:"hide_from_ui"`
	ID              int64             `json:"id"`
	MinDeliveryTime *int64            `json:"min_delivery_time,omitzero"` // Duration in seconds
	MinOrderValue   *json.Number      `json:"min_order_value,omitzero"`
	MinPickupTime   *int64            `json:"min_pickup_time,omitzero"` // Duration in seconds
	Name            string            `json:"name"`
	OpenNow         bool              `json:"open_now"`         // Whether its opening hours include the present moment
	OrderingEnabled bool              `json:"ordering_enabled"` // Whether the store takes orders, on the requested platform if there is one
	PlatformData    []json.RawMessage `json:"platform_data,omitzero"`
	Platforms       []string          `json:"platforms"` // Platforms that list the store
	RefID           string            `json:"ref_id"`
	SpecialTimings  []DateHours       `json:"special_timings,omitzero"` // Opening hours of dates, which replace `timings` on these dates
	Timings         []json.RawMessage `json:"timings"`                  // Opening hours as the merchant sent them
	Translations    []json.RawMessage `json:"translations,omitzero"`
	ZipCodes        []string          `json:"zip_codes"`
}

// ChannelStorePage is described in the API reference.
type ChannelStorePage struct {
	Meta   PageMeta       `json:"meta"`
	Stores []ChannelStore `json:"stores"`
}

// Charge is described in the API reference.
type Charge struct {
	Active            *bool           `json:"active,omitzero"`             // Whether the charge applies
	ClearItems        *bool           `json:"clear_items,omitzero"`        // First removes the charge from all its items, at every store
	Code              string          `json:"code"`                        // Code of the charge: `PC` for packaging, `DC` for delivery
	Description       *string         `json:"description,omitzero"`        // Description of the object
	ExcludedPlatforms []string        `json:"excluded_platforms,omitzero"` // Platforms without the charge
	FulfillmentModes  []string        `json:"fulfillment_modes,omitzero"`  // Fulfillment modes that the charge applies to
	ItemRefIDs        []string        `json:"item_ref_ids,omitzero"`       // Items that the charge applies to, or `all` alone
	Structure         ChargeStructure `json:"structure"`                   // Amount of the charge, and its basis
	Title             *string         `json:"title,omitzero"`              // Title, in any letter case
}

// ChargeStructure: Amount of the charge, and its basis
type ChargeStructure struct {
	ApplicableOn *string     `json:"applicable_on,omitzero"` // Basis of the charge
	Value        json.Number `json:"value"`                  // An amount, or percent
}

// Checklist is described in the API reference.
type Checklist struct {
	Done  int64            `json:"done"` // Number of steps done
	Steps []ChecklistSteps `json:"steps"`
	Total int64            `json:"total"` // Number of all steps
}

// ChecklistSteps is described in the API reference.
type ChecklistSteps struct {
	Command   *string `json:"command,omitzero"`   // Shell command for the step
	Done      bool    `json:"done"`               // Whether the hub has seen it work
	Name      string  `json:"name"`               // Stable name of the step, for programs
	Next      *string `json:"next,omitzero"`      // The next action
	Reference *string `json:"reference,omitzero"` // The job that reports the failures
	Title     string  `json:"title"`              // Title of the step
}

// DateHours is described in the API reference.
type DateHours struct {
	Closed *bool            `json:"closed,omitzero"` // Whether the store is closed on that date
	Date   string           `json:"date"`            // The date, in the time zone of the business
	Reason *string          `json:"reason,omitzero"` // The reason, for people
	Slots  []DateHoursSlots `json:"slots"`           // Opening slots that begin on that date
}

// DateHoursSlots is described in the API reference.
type DateHoursSlots struct {
	EndTime   string `json:"end_time"`   // Closing time, as `HH:MM:SS`
	StartTime string `json:"start_time"` // Opening time, as `HH:MM:SS`
}

// DayHours is described in the API reference.
type DayHours struct {
	Day   string          `json:"day"` // The weekday on which the slots begin, in any letter case
	Slots []DayHoursSlots `json:"slots,omitzero"`
}

// DayHoursSlots is described in the API reference.
type DayHoursSlots struct {
	EndTime   string `json:"end_time"`   // End of the slot
	StartTime string `json:"start_time"` // Start of the slot, as `HH:MM:SS` or `HH:MM`
}

// Deliverable is described in the API reference.
type Deliverable struct {
	ByZipCodes  bool   `json:"by_zip_codes"` // Whether zip codes decided
	Deliverable bool   `json:"deliverable"`
	StoreRefID  string `json:"store_ref_id"`
	ZipCode     string `json:"zip_code"`
}

// DeliverableStores is described in the API reference.
type DeliverableStores struct {
	ByZipCodes bool           `json:"by_zip_codes"`
	Meta       PageMeta       `json:"meta"`
	Stores     []ChannelStore `json:"stores"`
	ZipCode    string         `json:"zip_code"`
}

// Delivery is described in the API reference.
type Delivery struct {
	Attempts      int64         `json:"attempts"` // Number of finished attempts
	CreatedAt     string        `json:"created_at"`
	EventID       string        `json:"event_id"` // The `webhook-id` header of every attempt
	EventType     string        `json:"event_type"`
	FinishedAt    *string       `json:"finished_at,omitzero"`  // When the delivery ended
	HeldBecause   *string       `json:"held_because,omitzero"` // Why the delivery is held
	ID            string        `json:"id"`
	LastError     *string       `json:"last_error,omitzero"`      // Error of the last attempt
	LastStatus    *int64        `json:"last_status,omitzero"`     // HTTP status of the last attempt
	NextAttemptAt *string       `json:"next_attempt_at,omitzero"` // Time of the next attempt
	OrderID       *int64        `json:"order_id,omitzero"`        // The order of the event
	Reference     *string       `json:"reference,omitzero"`       // The reference of the request that caused the event
	State         DeliveryState `json:"state"`
	TraceID       *string       `json:"trace_id,omitzero"` // W3C Trace Context id of the cause, such as a request with `traceparent`
	URL           string        `json:"url"`
	WebhookID     *int64        `json:"webhook_id,omitzero"` // Id of the webhook
}

// DeliveryPage is described in the API reference.
type DeliveryPage struct {
	Deliveries []Delivery       `json:"deliveries"`
	Meta       DeliveryPageMeta `json:"meta"`
}

// DeliveryPageMeta is described in the API reference.
type DeliveryPageMeta struct {
	Limit int64   `json:"limit"`
	Next  *string `json:"next,omitzero"` // The `after` of the next page
}

// DeliveryState: State of the delivery
type DeliveryState = string

// DeliveryWithAttempts is described in the API reference.
type DeliveryWithAttempts struct {
	AttemptList   []Attempt       `json:"attempt_list"`  // The newest attempts, oldest first
	Attempts      int64           `json:"attempts"`      // Number of finished attempts
	Body          json.RawMessage `json:"body,omitzero"` // The body as sent
	CreatedAt     string          `json:"created_at"`
	EventID       string          `json:"event_id"` // The `webhook-id` header of every attempt
	EventType     string          `json:"event_type"`
	FinishedAt    *string         `json:"finished_at,omitzero"`  // When the delivery ended
	HeldBecause   *string         `json:"held_because,omitzero"` // Why the delivery is held
	ID            string          `json:"id"`
	LastError     *string         `json:"last_error,omitzero"`      // Error of the last attempt
	LastStatus    *int64          `json:"last_status,omitzero"`     // HTTP status of the last attempt
	NextAttemptAt *string         `json:"next_attempt_at,omitzero"` // Time of the next attempt
	OrderID       *int64          `json:"order_id,omitzero"`        // The order of the event
	Reference     *string         `json:"reference,omitzero"`       // The reference of the request that caused the event
	State         DeliveryState   `json:"state"`
	TraceID       *string         `json:"trace_id,omitzero"` // W3C Trace Context id of the cause, such as a request with `traceparent`
	URL           string          `json:"url"`
	WebhookID     *int64          `json:"webhook_id,omitzero"` // Id of the webhook
}

// Difference is described in the API reference.
type Difference struct {
	After         json.RawMessage `json:"after,omitzero"`  // State after the revision
	Before        json.RawMessage `json:"before,omitzero"` // State before the revision
	Entity        string          `json:"entity"`
	LocationRefID *string         `json:"location_ref_id,omitzero"` // The store, for store values
	RefID         *string         `json:"ref_id,omitzero"`          // Identifier of the entity, or title of a timing group
	Relation      *string         `json:"relation,omitzero"`        // For an association, its field name in a request
}

// EffectiveCategory is described in the API reference.
type EffectiveCategory struct {
	AvailableNow *bool                    `json:"available_now,omitzero"` // Whether the category is on sale now
	Description  *string                  `json:"description,omitzero"`   // Description of the object
	ID           int64                    `json:"id"`                     // The hub's id of the object
	ImgURL       *string                  `json:"img_url,omitzero"`       // A picture
	Name         string                   `json:"name"`                   // Name or title
	ParentRefID  *string                  `json:"parent_ref_id,omitzero"` // Parent category
	RefID        string                   `json:"ref_id"`                 // Your identifier
	SortOrder    int64                    `json:"sort_order"`             // Position in lists
	Timings      []DayHours               `json:"timings,omitzero"`       // When the category is on sale, by its own timings and those of its parent
	Translations []StoredNamedTranslation `json:"translations,omitzero"`  // Texts in other languages
}

// EffectiveItem is described in the API reference.
type EffectiveItem struct {
	CategoryRefIDs    []string                  `json:"category_ref_ids"`           // Categories of the item that this menu contains
	CurrentStock      int64                     `json:"current_stock"`              // Number in stock
	Description       *string                   `json:"description,omitzero"`       // Description of the object
	FoodType          *string                   `json:"food_type,omitzero"`         // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	FulfillmentModes  []string                  `json:"fulfillment_modes,omitzero"` // Fulfillment modes of the item
	ID                int64                     `json:"id"`                         // The hub's id of the object
	ImgURL            *string                   `json:"img_url,omitzero"`           // URL of the picture for this platform
	KeyValueGroups    []StoredKeyValueGroup     `json:"key_value_groups,omitzero"`  // Further facts by group
	MarkupPrice       *json.Number              `json:"markup_price,omitzero"`      // A higher price to show struck through
	OptionGroupRefIDs []string                  `json:"option_group_ref_ids"`       // Option groups of the item that this menu contains, in their order
	Price             json.Number               `json:"price"`                      // The price on this platform
	Recommended       bool                      `json:"recommended"`                // Whether it is recommended
	RefID             string                    `json:"ref_id"`                     // Your identifier
	Serves            *int64                    `json:"serves,omitzero"`            // Number of people it serves
	SortOrder         int64                     `json:"sort_order"`                 // Position in lists
	Tags              []string                  `json:"tags,omitzero"`              // Tags for this platform
	Title             string                    `json:"title"`                      // Name or title
	Translations      []StoredTitledTranslation `json:"translations,omitzero"`      // Texts in other languages
	Weight            *json.Number              `json:"weight,omitzero"`            // Weight in grams
}

// EffectiveMenu is described in the API reference.
type EffectiveMenu struct {
	Categories      []EffectiveCategory    `json:"categories"`                // Categories with at least one item to order, subcategories included
	Charges         []StoredCharge         `json:"charges"`                   // Charges that apply to these items or to every order
	Items           []EffectiveItem        `json:"items"`                     // Items that customers can order
	OptionGroups    []EffectiveOptionGroup `json:"option_groups"`             // Option groups with at least one option to choose
	Options         []EffectiveOption      `json:"options"`                   // Options that customers can order
	OrderingEnabled *bool                  `json:"ordering_enabled,omitzero"` // Whether the store takes orders on the platform now
	Platform        string                 `json:"platform"`                  // The platform
	StoreRefID      string                 `json:"store_ref_id"`              // The store
	Taxes           []StoredTax            `json:"taxes"`                     // Taxes that apply to these items
}

// EffectiveOption is described in the API reference.
type EffectiveOption struct {
	Description    *string                   `json:"description,omitzero"`      // Description of the object
	FoodType       *string                   `json:"food_type,omitzero"`        // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	ID             int64                     `json:"id"`                        // The hub's id of the object
	ImgURL         *string                   `json:"img_url,omitzero"`          // URL of the picture for this platform
	KeyValueGroups []StoredKeyValueGroup     `json:"key_value_groups,omitzero"` // Further facts by group
	NestedOptGrps  []string                  `json:"nested_opt_grps,omitzero"`  // Groups nested under the option that this menu contains
	OptGrpRefIDs   []string                  `json:"opt_grp_ref_ids"`           // Groups of the option that this menu contains
	Price          json.Number               `json:"price"`                     // Amount added to the item's price
	Recommended    bool                      `json:"recommended"`               // Whether it is recommended
	RefID          string                    `json:"ref_id"`                    // Your identifier
	SortOrder      int64                     `json:"sort_order"`                // Position in lists
	Title          string                    `json:"title"`                     // Name or title
	Translations   []StoredTitledTranslation `json:"translations,omitzero"`     // Texts in other languages
	Weight         *int64                    `json:"weight,omitzero"`           // Weight in grams
}

// EffectiveOptionGroup is described in the API reference.
type EffectiveOptionGroup struct {
	Description         *string                   `json:"description,omitzero"`  // Description of the object
	DisplayInline       bool                      `json:"display_inline"`        // Whether a nested group appears on the level of its parent group
	ID                  int64                     `json:"id"`                    // The hub's id of the object
	MaxSelectable       int64                     `json:"max_selectable"`        // Maximum number of options to choose
	MinSelectable       int64                     `json:"min_selectable"`        // Minimum number of options to choose
	MultiOptionsEnabled bool                      `json:"multi_options_enabled"` // Whether customers can choose an option more than once
	RefID               string                    `json:"ref_id"`                // Your identifier
	SortOrder           int64                     `json:"sort_order"`            // Position in lists
	Title               string                    `json:"title"`                 // Name or title
	Translations        []StoredTitledTranslation `json:"translations,omitzero"` // Texts in other languages
}

// Enqueued is described in the API reference.
type Enqueued struct {
	Message string `json:"message"` // Outcome, for people
	Status  string `json:"status"`
}

// Error is described in the API reference.
type Error struct {
	Errors  []ErrorErrors `json:"errors,omitzero"` // For `404`, the path parameter or field with the unknown resource
	Message string        `json:"message"`         // Description of the error, for people
	Status  string        `json:"status"`
}

// ErrorErrors is described in the API reference.
type ErrorErrors struct {
	Code    string `json:"code"`
	Message string `json:"message"` // Description for people
	Path    string `json:"path"`    // Path of the error, such as `stores[3].timings[0].day`
}

// EventType is described in the API reference.
type EventType = string

// EventTypeEntry is described in the API reference.
type EventTypeEntry struct {
	Description string          `json:"description"`     // When the hub sends the event, and how to handle it
	EventType   EventType       `json:"event_type"`      // The event type
	Number      *int64          `json:"number,omitzero"` // Number of the event type
	Sample      json.RawMessage `json:"sample"`          // A body that is valid by the schema
	Schema      json.RawMessage `json:"schema"`          // JSON Schema 2020-12 of the body, without external references
	Title       string          `json:"title"`           // Short title of the event
}

// EventTypeInput: The event type, by name or number
type EventTypeInput = json.RawMessage

// FailedObject is described in the API reference.
type FailedObject struct {
	Entity  string `json:"entity"`  // The array that contains the object
	Message string `json:"message"` // Reason for the failure
	RefID   string `json:"ref_id"`  // Identifier of the object
}

// FeatureActionReading is described in the API reference.
type FeatureActionReading struct {
	Action          string                         `json:"action"`
	Attempts        []FeatureActionReadingAttempts `json:"attempts"`
	Created         int64                          `json:"created"` // Time in epoch milliseconds
	CustomerPhone   *string                        `json:"customer_phone,omitzero"`
	Finished        *int64                         `json:"finished,omitzero"` // Time in epoch milliseconds
	Message         *string                        `json:"message,omitzero"`  // Reason, for people
	OrderID         int64                          `json:"order_id"`
	Parameters      json.RawMessage                `json:"parameters,omitzero"` // The `parameters` of the request
	Platform        string                         `json:"platform"`
	PlatformOrderID string                         `json:"platform_order_id"`
	Reference       string                         `json:"reference"`
	State           string                         `json:"state"` // `pending`: the action was sent, and the aggregator responds later
}

// FeatureActionReadingAttempts is described in the API reference.
type FeatureActionReadingAttempts struct {
	At         int64   `json:"at"`             // Time in epoch milliseconds
	Error      *string `json:"error,omitzero"` // Error of the attempt
	ErrorClass *string `json:"error_class,omitzero"`
	Status     int64   `json:"status"` // HTTP status of the response
}

// FeatureActionRequest is described in the API reference.
type FeatureActionRequest struct {
	Action      string          `json:"action"`                // `rider_body_temp`, `rider_with_mask`, `request_additional_rider`, `fetch_customer_data`, or another action of the platform's plugin
	OrderID     json.RawMessage `json:"order_id"`              // The `order_id` that the hub assigned to the order
	Parameters  json.RawMessage `json:"parameters,omitzero"`   // Values of another action, by the JSON Schema that the plugin declares for it
	Phone       json.RawMessage `json:"phone,omitzero"`        // Phone number of the rider
	Temp        *json.Number    `json:"temp,omitzero"`         // Body temperature of the rider in degrees Fahrenheit
	WearingMask *bool           `json:"wearing_mask,omitzero"` // Whether the rider wears a mask
}

// GetDeliverableQuery has the query parameters of GetDeliverable. Zero values are not sent.
type GetDeliverableQuery struct {
	ZipCode  string // The zip code of the customer
	Platform string // Name or alias of a platform of the business
}

// GetEffectiveMenuQuery has the query parameters of GetEffectiveMenu. Zero values are not sent.
type GetEffectiveMenuQuery struct {
	Platform string // Name or alias of a platform of the business
}

// GetItemThenQuery has the query parameters of GetItemThen. Zero values are not sent.
type GetItemThenQuery struct {
	Platform string // Name or alias of a platform of the business
	Time     int64  // The moment, in epoch milliseconds
}

// GetMenuQuery has the query parameters of GetMenu. Zero values are not sent.
type GetMenuQuery struct {
	Only  string // Arrays to return, separated by commas
	Limit int64  // Number of objects per page
	After string // The `next` of the previous page
}

// GetRevisionAnswer is described in the API reference.
type GetRevisionAnswer struct {
	Actor         *string                    `json:"actor,omitzero"`   // Sender of the request, such as `key:pos`
	At            int64                      `json:"at"`               // Time in epoch milliseconds
	BackTo        *string                    `json:"back_to,omitzero"` // For a rollback, the revision that it restored
	Changes       []GetRevisionAnswerChanges `json:"changes"`
	Differences   []Difference               `json:"differences"`
	ID            string                     `json:"id"`
	Kind          string                     `json:"kind"`
	LocationRefID *string                    `json:"location_ref_id,omitzero"` // The `location_ref_id` of the request
	Reference     string                     `json:"reference"`                // Reference of the request that made the revision
}

// GetRevisionAnswerChanges is described in the API reference.
type GetRevisionAnswerChanges struct {
	Entity        string  `json:"entity"`
	LocationRefID *string `json:"location_ref_id,omitzero"` // The store, for store values
	Rows          int64   `json:"rows"`                     // Number of records, values and associations changed
}

// GetRevisionQuery has the query parameters of GetRevision. Zero values are not sent.
type GetRevisionQuery struct {
	Limit  int64 // Number of differences per page
	Offset int64 // Number of differences to skip
}

// HeadersInput: At most 32 headers for every delivery, such as your own token
type HeadersInput = map[string]string

// Image is described in the API reference.
type Image struct {
	Tag string `json:"tag"` // A platform of the business by name or alias, or `default` for all
	URL string `json:"url"` // Public URL of the picture
}

// InternalError is described in the API reference.
type InternalError struct {
	Message   string `json:"message"`    // Description of the error, for people
	RequestID string `json:"request_id"` // Identifies the request in the hub's logs
	Status    string `json:"status"`
}

// Invalid is described in the API reference.
type Invalid struct {
	Errors  []InvalidErrors `json:"errors,omitzero"` // The errors, in the order found
	Message string          `json:"message"`         // The first error, and the number of further ones
	Status  string          `json:"status"`
}

// InvalidErrors is described in the API reference.
type InvalidErrors struct {
	Code    string `json:"code"`    // Stable code of the rule, such as `required`, `type`, `range`, `length` or `duplicate`
	Message string `json:"message"` // Description for people
	Path    string `json:"path"`    // Path of the error, such as `stores[3].timings[0].day`
}

// Item is described in the API reference.
type Item struct {
	Available         *bool               `json:"available,omitzero"`           // Whether customers can order it at the store now
	CategoryRefIDs    []string            `json:"category_ref_ids,omitzero"`    // Categories of the item
	ClearOptionGroups *bool               `json:"clear_option_groups,omitzero"` // Removes all option groups from the item before the request adds any
	CurrentStock      *int64              `json:"current_stock,omitzero"`       // Number in stock
	Description       *string             `json:"description,omitzero"`         // Description of the object
	ExternalPrice     *json.Number        `json:"external_price,omitzero"`      // Price on aggregators, if it differs
	FoodType          json.RawMessage     `json:"food_type,omitzero"`           // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	FulfillmentModes  []string            `json:"fulfillment_modes,omitzero"`   // Fulfillment modes of the item
	Images            []Image             `json:"images,omitzero"`              // Pictures, each tag once
	ImgURL            *string             `json:"img_url,omitzero"`             // URL of a picture, used if `images` has no `default` one
	IncludedPlatforms []string            `json:"included_platforms,omitzero"`  // Platforms that list the item
	KeyValueGroups    []KeyValueGroup     `json:"key_value_groups,omitzero"`    // Further facts by group, each group once
	MarkupPrice       *json.Number        `json:"markup_price,omitzero"`        // A higher price, shown struck through beside the price
	PlatformPricing   []PlatformPrice     `json:"platform_pricing,omitzero"`    // Prices for single platforms, each platform once
	Price             json.Number         `json:"price"`                        // Price on the merchant's website and apps
	Recommended       *bool               `json:"recommended,omitzero"`         // Whether it is recommended
	RefID             string              `json:"ref_id"`                       // Your identifier of the item
	RefTitle          *string             `json:"ref_title,omitzero"`           // Title for the merchant's staff
	Serves            *int64              `json:"serves,omitzero"`              // Number of people it serves
	SoldAtStore       *bool               `json:"sold_at_store,omitzero"`       // `false` removes the item from the store
	SortOrder         *int64              `json:"sort_order,omitzero"`          // Position in lists, the lowest first
	Tags              map[string][]string `json:"tags,omitzero"`                // Tags by platform, with `default` for all platforms
	Title             *string             `json:"title,omitzero"`               // Title of the item
	Translations      []TitledTranslation `json:"translations,omitzero"`        // Texts in other languages
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

// ItemRef is described in the API reference.
type ItemRef struct {
	RefID json.RawMessage `json:"ref_id"` // Your identifier of the item or option
}

// ItemThen is described in the API reference.
type ItemThen struct {
	Item          *EffectiveItem  `json:"item,omitzero"`
	LocationRefID string          `json:"location_ref_id"`
	OnSale        *bool           `json:"on_sale,omitzero"` // Whether the timings of its categories allowed the sale
	Platform      string          `json:"platform"`
	Record        json.RawMessage `json:"record,omitzero"` // The stored item with the store's values
	RefID         string          `json:"ref_id"`
	Shown         bool            `json:"shown"`         // Whether customers of the platform could see the item
	SoldAtStore   bool            `json:"sold_at_store"` // Whether the store sold the item
	Time          int64           `json:"time"`          // Time in epoch milliseconds
}

// ItemsOutOfStock: Identify the order by the hub's id or, without it, by your reference
type ItemsOutOfStock struct {
	AllowEdit    *bool                     `json:"allow_edit,omitzero"` // Whether the platform can let the customer change the order
	ItemsOos     []ItemsOutOfStockItemsOos `json:"items_oos"`
	OrderRefID   json.RawMessage           `json:"order_ref_id,omitzero"`   // Your own reference of the order
	OrderUpiprID json.RawMessage           `json:"order_upipr_id,omitzero"` // The `order_id` that the hub assigned to the order
}

// ItemsOutOfStockItemsOos: Identify the item by `ref_id` or, without it, by the hub's id
type ItemsOutOfStockItemsOos struct {
	RefID   json.RawMessage `json:"ref_id,omitzero"`   // Your identifier of the item or option
	UpiprID json.RawMessage `json:"upipr_id,omitzero"` // The hub's id of the item or option
}

// Job is described in the API reference.
type Job struct {
	Attempts     int64           `json:"attempts"`             // Number of times the work began
	CreatedAt    string          `json:"created_at"`           // When the request was accepted, in UTC
	Error        *string         `json:"error,omitzero"`       // Error of the latest failed attempt, or of the whole job
	FinishedAt   *string         `json:"finished_at,omitzero"` // When the work ended, in UTC
	Kind         string          `json:"kind"`                 // Kind of work
	ObjectsDone  int64           `json:"objects_done"`         // Number of objects processed
	ObjectsTotal int64           `json:"objects_total"`        // Number of objects in the request
	Reference    string          `json:"reference"`            // The reference of the request
	Result       json.RawMessage `json:"result,omitzero"`      // Outcome of the job, or the predicted outcome of a dry run
	StartedAt    *string         `json:"started_at,omitzero"`  // When the work began, in UTC
	State        string          `json:"state"`                // `done` even if single objects failed
	Subject      *string         `json:"subject,omitzero"`     // The `location_ref_id` of a menu request
}

// KeyValueGroup is described in the API reference.
type KeyValueGroup struct {
	Group        string                      `json:"group"`                   // `Servings`, `Nutrition`, `Deposit`, or a group that a platform's plugin adds
	KeyValueData []KeyValueGroupKeyValueData `json:"key_value_data,omitzero"` // The facts, each key once
}

// KeyValueGroupKeyValueData is described in the API reference.
type KeyValueGroupKeyValueData struct {
	Key   string `json:"key"`   // Keys of `Servings`: `serve_range_min`, `serve_range_max`
	Value string `json:"value"` // A positive whole number of at most 15 digits; `0.15` or `0.25` for `deposit_charge`
}

// KindPreview is described in the API reference.
type KindPreview struct {
	Created       []string                   `json:"created"`       // Objects to create, by `ref_id`
	Deactivated   []string                   `json:"deactivated"`   // Objects that a flush would deactivate
	Disassociated []KindPreviewDisassociated `json:"disassociated"` // Objects that stores would lose
	Errors        []KindPreviewErrors        `json:"errors"`        // Objects that would fail
	Stats         MenuStats                  `json:"stats"`         // Predicted number of objects by outcome
	Unchanged     int64                      `json:"unchanged"`     // Number of objects without a change
	Updated       []string                   `json:"updated"`       // Objects to update
}

// KindPreviewDisassociated is described in the API reference.
type KindPreviewDisassociated struct {
	RefID  string `json:"ref_id"` // Identifier of the object
	Stores int64  `json:"stores"` // Number of stores that would lose it
}

// KindPreviewErrors is described in the API reference.
type KindPreviewErrors struct {
	Message string `json:"message"` // Reason for the failure
	RefID   string `json:"ref_id"`  // Identifier of the object
}

// ListChannelStoresQuery has the query parameters of ListChannelStores. Zero values are not sent.
type ListChannelStoresQuery struct {
	Platform string // Name or alias of a platform of the business
	Limit    int64  // Maximum number of stores per page
	After    string // The `next` of the previous page
}

// ListDeliverableStoresQuery has the query parameters of ListDeliverableStores. Zero values are not sent.
type ListDeliverableStoresQuery struct {
	ZipCode  string // The zip code of the customer
	Platform string // Name or alias of a platform of the business
	Limit    int64  // Maximum number of stores per page
	After    string // The `next` of the previous page
}

// ListDeliveriesQuery has the query parameters of ListDeliveries. Zero values are not sent.
type ListDeliveriesQuery struct {
	State     string // State of the delivery
	EventType string // Name or number of an event type
	WebhookID int64  // Deliveries to this webhook
	Reference string // The reference of the request that caused the event
	OrderID   int64  // Deliveries for this order, outcomes of calls to its aggregator included
	From      int64  // Created at or after this time, in epoch milliseconds
	To        int64  // Created before this time, in epoch milliseconds
	Limit     int64  // Number of deliveries per page
	After     string // The `next` of the previous page
}

// ListEventTypesAnswer is described in the API reference.
type ListEventTypesAnswer struct {
	EventTypes []EventTypeEntry `json:"event_types"` // The event types
}

// ListOrdersQuery has the query parameters of ListOrders. Zero values are not sent.
type ListOrdersQuery struct {
	State      string // State of the order
	Platform   string // Name or alias of the platform that the order comes from
	StoreRefID string // Your identifier of the store
	OrderRefID string // Your own reference of the order
	Escalated  bool   // Orders that waited too long for acknowledgement, those acknowledged since included
	From       int64  // Placed at or after this time, in epoch milliseconds
	To         int64  // Placed before this time, in epoch milliseconds
	Limit      int64  // Number of orders per page
	After      string // The `next` of the previous page
}

// ListPublicationsQuery has the query parameters of ListPublications. Zero values are not sent.
type ListPublicationsQuery struct {
	LocationRefID string // Your `ref_id` of the store
	Platform      string // Name or alias of the platform
	Status        string // Latest outcome of the menu
	Limit         int64  // Number of publications per page
	After         string // The `next` of the previous page
}

// ListRevisionsAnswer is described in the API reference.
type ListRevisionsAnswer struct {
	Meta      PageMeta   `json:"meta"`
	Revisions []Revision `json:"revisions"`
}

// ListRevisionsQuery has the query parameters of ListRevisions. Zero values are not sent.
type ListRevisionsQuery struct {
	Entity        string // Revisions that changed this kind of entity
	RefID         string // Revisions that changed this entity
	LocationRefID string // Revisions that changed values of this store, or `-1` for the master catalogue
	From          int64  // Created at or after this time, in epoch milliseconds
	To            int64  // Created before this time, in epoch milliseconds
	Limit         int64  // Number of revisions per page
	After         string // The `next` of the previous page
}

// ListStoresQuery has the query parameters of ListStores. Zero values are not sent.
type ListStoresQuery struct {
	Limit int64  // Maximum number of stores per page
	After string // Returns stores after this `ref_id`
}

// ListTimingGroupsAnswer is described in the API reference.
type ListTimingGroupsAnswer struct {
	TimingGroups []TimingGroup `json:"timing_groups"`
}

// ListWebhooksQuery has the query parameters of ListWebhooks. Zero values are not sent.
type ListWebhooksQuery struct {
	Limit  int64 // Number of webhooks per page
	Offset int64 // Number of webhooks to skip
}

// LocationAction is described in the API reference.
type LocationAction struct {
	Action        string    `json:"action"`
	LocationRefID string    `json:"location_ref_id"`       // The store
	Platforms     []string  `json:"platforms,omitzero"`    // Platforms of the action, by name or alias
	PrepMinutes   *int64    `json:"prep_minutes,omitzero"` // Of `busy`: the preparation time of new orders in minutes
	TurnOnAt      *TurnOnAt `json:"turn_on_at,omitzero"`
	Until         *int64    `json:"until,omitzero"` // Of `busy`: when the hub ends it, in milliseconds since 1970, between 5 minutes and 24 hours from now
}

// MenuPreview is described in the API reference.
type MenuPreview struct {
	Associations  map[string]MenuPreviewAssociationsValue `json:"associations"`      // Predicted changes of associations, by relation
	Held          []string                                `json:"held,omitzero"`     // Flushes that need `confirm_flush`
	Kinds         map[string]KindPreview                  `json:"kinds"`             // Predicted outcome of the objects, for each array of the request
	LocationRefID string                                  `json:"location_ref_id"`   // For a dry run, the `location_ref_id` of the request
	Warnings      []MenuWarning                           `json:"warnings,omitzero"` // Fields without effect, and changes beyond the request
}

// MenuPreviewAssociationsValue is described in the API reference.
type MenuPreviewAssociationsValue struct {
	Added   int64 `json:"added"`   // Number of associations to add
	Removed int64 `json:"removed"` // Number of associations to remove
}

// MenuReading is described in the API reference.
type MenuReading struct {
	Categories    []StoredCategory    `json:"categories,omitzero"`    // Categories
	Charges       []StoredCharge      `json:"charges,omitzero"`       // Charges
	Items         []StoredItem        `json:"items,omitzero"`         // Items
	LocationRefID string              `json:"location_ref_id"`        // The `location_ref_id` of the request
	Next          *string             `json:"next,omitzero"`          // The `after` of the next page
	OptionGroups  []StoredOptionGroup `json:"option_groups,omitzero"` // Option groups
	Options       []StoredOption      `json:"options,omitzero"`       // Options
	Taxes         []StoredTax         `json:"taxes,omitzero"`         // Taxes
}

// MenuRequest is described in the API reference.
type MenuRequest struct {
	CallbackURL       *string       `json:"callback_url,omitzero"`        // URL for this request's callback, instead of the webhooks
	Categories        []Category    `json:"categories,omitzero"`          // Categories
	Charges           []Charge      `json:"charges,omitzero"`             // Charges
	ConfirmFlush      *bool         `json:"confirm_flush,omitzero"`       // Allows a flush that removes more than the hub operator's limit
	FlushCategories   *bool         `json:"flush_categories,omitzero"`    // Deactivates unlisted categories
	FlushCharges      *bool         `json:"flush_charges,omitzero"`       // Deactivates unlisted charges
	FlushItems        *bool         `json:"flush_items,omitzero"`         // Removes unlisted items from the master catalogue or from the store
	FlushOptionGroups *bool         `json:"flush_option_groups,omitzero"` // Deactivates unlisted option groups
	FlushOptions      *bool         `json:"flush_options,omitzero"`       // Removes unlisted options from the master catalogue or from the store
	FlushTaxes        *bool         `json:"flush_taxes,omitzero"`         // Deactivates unlisted taxes
	Items             []Item        `json:"items,omitzero"`               // Items
	OptionGroups      []OptionGroup `json:"option_groups,omitzero"`       // Option groups
	Options           []Option      `json:"options,omitzero"`             // Options
	Taxes             []Tax         `json:"taxes,omitzero"`               // Taxes
}

// MenuResult is described in the API reference.
type MenuResult struct {
	Failed   []FailedObject       `json:"failed,omitzero"`   // The first 100 failed objects
	Stats    map[string]MenuStats `json:"stats"`             // Number of objects by outcome, for each array of the request
	Warnings []MenuWarning        `json:"warnings,omitzero"` // Fields that had no effect, and changes beyond the request
}

// MenuStats is described in the API reference.
type MenuStats struct {
	Created int64 `json:"created"` // Number of objects created
	Deleted int64 `json:"deleted"` // Number of objects removed by a flush or `sold_at_store`
	Errors  int64 `json:"errors"`  // Number of objects that failed
	Updated int64 `json:"updated"` // Number of objects that existed
}

// MenuWarning is described in the API reference.
type MenuWarning struct {
	Message string `json:"message"` // Why it had no effect, or what changed
	Path    string `json:"path"`    // Subject of the warning, such as `flush_taxes` or `items[3].category_ref_ids`
}

// NamedTranslation is described in the API reference.
type NamedTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1, which a script and a region may follow, such as `zh-Hant` or `es-MX`
	Name        *string `json:"name,omitzero"`        // The name in that language
}

// Option is described in the API reference.
type Option struct {
	Available          *bool               `json:"available,omitzero"`             // Whether customers can order it at the store now
	ClearNestedOptGrps *bool               `json:"clear_nested_opt_grps,omitzero"` // First removes all nested groups from the option
	ClearOptGrpRefIDs  *bool               `json:"clear_opt_grp_ref_ids,omitzero"` // First removes the option from all its groups
	ClearOptGrps       *bool               `json:"clear_opt_grps,omitzero"`        // Same as `clear_opt_grp_ref_ids`
	Description        *string             `json:"description,omitzero"`           // Description of the object
	FoodType           json.RawMessage     `json:"food_type,omitzero"`             // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	Images             []Image             `json:"images,omitzero"`                // Pictures, each tag once
	ImgURL             *string             `json:"img_url,omitzero"`               // URL of a picture, used if `images` has no `default` one
	KeyValueGroups     []KeyValueGroup     `json:"key_value_groups,omitzero"`      // Further facts by group, each group once
	NestedOptGrps      []string            `json:"nested_opt_grps,omitzero"`       // Groups to nest under the option
	OptGrpRefIDs       []string            `json:"opt_grp_ref_ids,omitzero"`       // Groups to add the option to
	Price              json.Number         `json:"price"`                          // Amount added to the item's price
	Recommended        *bool               `json:"recommended,omitzero"`           // Whether it is recommended
	RefID              string              `json:"ref_id"`                         // Your identifier of the option
	RefTitle           *string             `json:"ref_title,omitzero"`             // Title for the merchant's staff
	SoldAtStore        *bool               `json:"sold_at_store,omitzero"`         // `false` removes the option from the store
	SortOrder          *int64              `json:"sort_order,omitzero"`            // Position in lists, the lowest first
	Title              *string             `json:"title,omitzero"`                 // Title of the option
	Translations       []TitledTranslation `json:"translations,omitzero"`          // Texts in other languages
	Weight             *int64              `json:"weight,omitzero"`                // Weight in grams
}

// OptionGroup is described in the API reference.
type OptionGroup struct {
	Active              *bool               `json:"active,omitzero"`                // Whether customers can order its options
	ClearItemRefIDs     *bool               `json:"clear_item_ref_ids,omitzero"`    // First removes the group from all its items
	ClearItems          *bool               `json:"clear_items,omitzero"`           // Same as `clear_item_ref_ids`
	ClearOptions        *bool               `json:"clear_options,omitzero"`         // First removes all options from the group
	Description         *string             `json:"description,omitzero"`           // Description of the object
	DisplayInline       *bool               `json:"display_inline,omitzero"`        // Shows a nested group on the level of its parent group
	ItemRefIDs          []string            `json:"item_ref_ids,omitzero"`          // Items to add the group to
	MaxSelectable       *int64              `json:"max_selectable,omitzero"`        // Maximum number of options, at least `min_selectable`
	MinSelectable       *int64              `json:"min_selectable,omitzero"`        // Minimum number of options to choose
	MultiOptionsEnabled *bool               `json:"multi_options_enabled,omitzero"` // Whether customers can choose an option more than once
	RefID               string              `json:"ref_id"`                         // Your identifier of the group
	RefTitle            *string             `json:"ref_title,omitzero"`             // Title for the merchant's staff
	SortOrder           *int64              `json:"sort_order,omitzero"`            // Position in lists, the lowest first
	Title               *string             `json:"title,omitzero"`                 // Title of the group
	Translations        []TitledTranslation `json:"translations,omitzero"`          // Texts in other languages
}

// OrderAnswer is described in the API reference.
type OrderAnswer struct {
	Message string `json:"message"`
	OrderID int64  `json:"order_id"`
	Status  string `json:"status"`
}

// OrderChange is described in the API reference.
type OrderChange struct {
	Extra        *OrderChangeExtra `json:"extra,omitzero"`
	ItemsInvalid []ItemRef         `json:"items_invalid,omitzero"` // With `Cancelled`: items and options that the store cannot prepare, passed on to the platform
	ItemsOos     []ItemRef         `json:"items_oos,omitzero"`     // With `Cancelled`: items and options that are out of stock, passed on to the platform
	Message      *string           `json:"message,omitzero"`
	NewStatus    string            `json:"new_status"`           // The state to move to, in any letter case
	ReasonCode   *string           `json:"reason_code,omitzero"` // Stable code of the reason, for programs
}

// OrderChangeExtra is described in the API reference.
type OrderChangeExtra struct {
	PrepTimeMins *int64 `json:"prep_time_mins,omitzero"` // Minutes until the food is ready
}

// OrderFlag: A warning about an order
type OrderFlag struct {
	Code     string       `json:"code"`
	Computed *json.Number `json:"computed,omitzero"` // The amount that the hub calculated
	Message  string       `json:"message"`
	Path     string       `json:"path"`          // Path in the request, such as `items[0].price`
	Sent     *json.Number `json:"sent,omitzero"` // The amount that the channel sent
}

// OrderPage is described in the API reference.
type OrderPage struct {
	Meta   PageMeta       `json:"meta"`
	Orders []OrderSummary `json:"orders"`
}

// OrderReading is described in the API reference.
type OrderReading struct {
	Customer    json.RawMessage        `json:"customer"`           // Same as in the event `order_placed`
	Escalated   *int64                 `json:"escalated,omitzero"` // When the order had waited too long for acknowledgement, in epoch milliseconds
	Flags       []OrderFlag            `json:"flags"`
	History     []OrderReadingHistory  `json:"history"`
	ItemsOos    []OrderReadingItemsOos `json:"items_oos,omitzero"`    // Reports of items out of stock
	Order       OrderReadingOrder      `json:"order"`                 // Same as in the event `order_placed`, in the present state
	ReferenceID *string                `json:"reference_id,omitzero"` // Your own reference of the order
	Rider       *OrderRider            `json:"rider,omitzero"`
	State       OrderState             `json:"state"`
}

// OrderReadingHistory is described in the API reference.
type OrderReadingHistory struct {
	Actor        *string    `json:"actor,omitzero"` // Actor of the change, such as `key:pos`
	At           int64      `json:"at"`             // Time in epoch milliseconds
	ItemsInvalid []ItemRef  `json:"items_invalid,omitzero"`
	ItemsOos     []ItemRef  `json:"items_oos,omitzero"`
	Message      *string    `json:"message,omitzero"`
	PrepTimeMins *int64     `json:"prep_time_mins,omitzero"`
	ReasonCode   *string    `json:"reason_code,omitzero"`
	State        OrderState `json:"state"`
}

// OrderReadingItemsOos is described in the API reference.
type OrderReadingItemsOos struct {
	Actor       string                         `json:"actor"`      // Actor of the report, such as `key:pos`
	AllowEdit   bool                           `json:"allow_edit"` // Whether the platform can let the customer change the order
	At          int64                          `json:"at"`         // Time in epoch milliseconds
	ItemsOos    []OrderReadingItemsOosItemsOos `json:"items_oos"`
	Message     *string                        `json:"message,omitzero"`
	ReferenceID string                         `json:"reference_id"` // Reference of the report
	State       string                         `json:"state"`        // State of the platform's notification
}

// OrderReadingItemsOosItemsOos is described in the API reference.
type OrderReadingItemsOosItemsOos struct {
	RefID   string `json:"ref_id"`
	UpiprID *int64 `json:"upipr_id,omitzero"` // The hub's id of the item or option
}

// OrderReadingOrder: Same as in the event `order_placed`, in the present state
type OrderReadingOrder struct {
	Details    OrderReadingOrderDetails `json:"details"`
	Items      []json.RawMessage        `json:"items"`
	NextState  *OrderState              `json:"next_state,omitzero"`
	NextStates []OrderState             `json:"next_states"`
	Payment    []json.RawMessage        `json:"payment"`
	Store      json.RawMessage          `json:"store"`
}

// OrderReadingOrderDetails is described in the API reference.
type OrderReadingOrderDetails struct {
	ID         int64      `json:"id"`
	OrderState OrderState `json:"order_state"`
}

// OrderRequest is described in the API reference.
type OrderRequest struct {
	Charges          []OrderRequestCharges   `json:"charges,omitzero"` // All charges of the order
	Coupon           *string                 `json:"coupon,omitzero"`
	Customer         *OrderRequestCustomer   `json:"customer,omitzero"`
	Cutlery          *bool                   `json:"cutlery,omitzero"`           // Whether the customer wants cutlery
	DeliveryDatetime *int64                  `json:"delivery_datetime,omitzero"` // When the customer wants it, in epoch milliseconds
	DeliveryType     *string                 `json:"delivery_type,omitzero"`     // Party that delivers the order
	Discount         *json.Number            `json:"discount,omitzero"`
	Discounts        []OrderRequestDiscounts `json:"discounts,omitzero"`
	DisplayID        json.RawMessage         `json:"display_id,omitzero"` // Short number that the customer and the courier name
	Instructions     *string                 `json:"instructions,omitzero"`
	IsBulkOrder      *bool                   `json:"is_bulk_order,omitzero"`
	Items            []OrderRequestItems     `json:"items"`
	OrderSubtotal    *json.Number            `json:"order_subtotal,omitzero"`
	OrderTotal       *json.Number            `json:"order_total,omitzero"`
	OrderType        *string                 `json:"order_type,omitzero"`
	PayableAmount    *json.Number            `json:"payable_amount,omitzero"`
	Payment          []OrderRequestPayment   `json:"payment,omitzero"`
	Platform         string                  `json:"platform"`             // Name or alias of a platform of the business
	PlatformOrderID  json.RawMessage         `json:"platform_order_id"`    // The platform's identifier of the order, as text of at most 255 characters or a whole number
	PrepareFor       *int64                  `json:"prepare_for,omitzero"` // When the food is to be ready, in epoch milliseconds
	StoreRefID       string                  `json:"store_ref_id"`         // The merchant's identifier of the store
	Taxes            []OrderRequestTaxes     `json:"taxes,omitzero"`       // All taxes of the order
	TotalCharges     *json.Number            `json:"total_charges,omitzero"`
	TotalTaxes       *json.Number            `json:"total_taxes,omitzero"`
}

// OrderRequestCharges is described in the API reference.
type OrderRequestCharges struct {
	Rate  *json.Number `json:"rate,omitzero"` // Rate, passed on as it is
	Title string       `json:"title"`
	Value json.Number  `json:"value"`
}

// OrderRequestCustomer is described in the API reference.
type OrderRequestCustomer struct {
	Address *OrderRequestCustomerAddress `json:"address,omitzero"`
	Email   *string                      `json:"email,omitzero"`
	Name    *string                      `json:"name,omitzero"`
	Phone   *string                      `json:"phone,omitzero"`
}

// OrderRequestCustomerAddress is described in the API reference.
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

// OrderRequestDiscounts is described in the API reference.
type OrderRequestDiscounts struct {
	Code               *string     `json:"code,omitzero"`
	IsMerchantDiscount *bool       `json:"is_merchant_discount,omitzero"` // Whether the merchant bears the discount, passed on as it is
	Title              *string     `json:"title,omitzero"`
	Value              json.Number `json:"value"` // As a positive amount
}

// OrderRequestItems is described in the API reference.
type OrderRequestItems struct {
	Instructions *string                    `json:"instructions,omitzero"`
	LineID       json.RawMessage            `json:"line_id,omitzero"` // The platform's identifier of this line
	Options      []OrderRequestItemsOptions `json:"options,omitzero"` // Chosen options, also options of options, each after the one it was chosen under
	Price        *json.Number               `json:"price,omitzero"`   // Price of one item, without its options
	Quantity     int64                      `json:"quantity"`
	RefID        string                     `json:"ref_id"`
	Title        *string                    `json:"title,omitzero"`
}

// OrderRequestItemsOptions is described in the API reference.
type OrderRequestItemsOptions struct {
	LineID   json.RawMessage `json:"line_id,omitzero"` // The platform's identifier of this choice
	Parent   *int64          `json:"parent,omitzero"`  // Index of the option in this list that this one was chosen under
	Price    *json.Number    `json:"price,omitzero"`
	Quantity *int64          `json:"quantity,omitzero"` // Quantity per item
	RefID    string          `json:"ref_id"`
	Title    *string         `json:"title,omitzero"`
}

// OrderRequestPayment is described in the API reference.
type OrderRequestPayment struct {
	Amount    json.Number `json:"amount"`
	Option    string      `json:"option"` // Means of payment, such as `cash` or `prepaid`
	SrvrTrxID *string     `json:"srvr_trx_id,omitzero"`
}

// OrderRequestTaxes is described in the API reference.
type OrderRequestTaxes struct {
	LiabilityOn *string      `json:"liability_on,omitzero"` // Party that is liable for the tax, passed on as it is
	Rate        *json.Number `json:"rate,omitzero"`         // Rate in percent
	Title       string       `json:"title"`
	Value       json.Number  `json:"value"`
}

// OrderRider: The rider of the order; absent before the first status
type OrderRider struct {
	History []OrderRiderHistory `json:"history"`
	Name    *string             `json:"name,omitzero"`
	Phone   *string             `json:"phone,omitzero"`
	Status  RiderState          `json:"status"`
}

// OrderRiderHistory is described in the API reference.
type OrderRiderHistory struct {
	Actor    string                     `json:"actor"`             // Sender of the request, such as `key:pos`; `platform:NAME` for the platform's courier
	At       int64                      `json:"at"`                // Time in epoch milliseconds
	Location *OrderRiderHistoryLocation `json:"location,omitzero"` // Latest location of the platform's courier with this status
	Name     *string                    `json:"name,omitzero"`
	Phone    *string                    `json:"phone,omitzero"`
	Relay    *OrderRiderHistoryRelay    `json:"relay,omitzero"` // State of the platform's notification
	Status   RiderState                 `json:"status"`
}

// OrderRiderHistoryLocation: Latest location of the platform's courier with this status
type OrderRiderHistoryLocation struct {
	At        int64  `json:"at"`        // Time in epoch milliseconds
	Latitude  string `json:"latitude"`  // Decimal degrees
	Longitude string `json:"longitude"` // Decimal degrees
}

// OrderRiderHistoryRelay: State of the platform's notification
type OrderRiderHistoryRelay struct {
	Message *string `json:"message,omitzero"` // Reason, for people
	State   string  `json:"state"`
}

// OrderState is described in the API reference.
type OrderState = string

// OrderSummary is described in the API reference.
type OrderSummary struct {
	Created         int64      `json:"created"` // Time in epoch milliseconds
	DeliveryType    string     `json:"delivery_type"`
	Escalated       *int64     `json:"escalated,omitzero"` // When the order had waited too long for acknowledgement, in epoch milliseconds
	Flags           int64      `json:"flags"`              // Number of flags of the order
	IsBulkOrder     bool       `json:"is_bulk_order"`
	OrderID         int64      `json:"order_id"`
	Platform        string     `json:"platform"`
	PlatformOrderID string     `json:"platform_order_id"`
	ReferenceID     *string    `json:"reference_id,omitzero"` // Your own reference of the order
	State           OrderState `json:"state"`
	StoreRefID      string     `json:"store_ref_id"`
	Updated         int64      `json:"updated"` // When the state last changed, in epoch milliseconds
}

// PageMeta is described in the API reference.
type PageMeta struct {
	Limit int64   `json:"limit"`
	Next  *string `json:"next,omitzero"` // The `after` of the next page
}

// PlatformPrice is described in the API reference.
type PlatformPrice struct {
	Platform string      `json:"platform"` // A platform of the business, by name or alias
	Price    json.Number `json:"price"`    // Price on the platform
}

// PostMenuQuery has the query parameters of PostMenu. Zero values are not sent.
type PostMenuQuery struct {
	DryRun bool // Changes nothing and sends no callback
}

// PostOrderRetryBody is described in the API reference.
type PostOrderRetryBody struct {
	EndTime   int64           `json:"end_time"`   // End of the window, exclusive, in epoch milliseconds
	EventType json.RawMessage `json:"event_type"` // The id of `order_placed`
	StartTime int64           `json:"start_time"` // Start of the window, inclusive, in epoch milliseconds
}

// PostTimingGroupsBody is described in the API reference.
type PostTimingGroupsBody struct {
	CallbackURL  *string       `json:"callback_url,omitzero"` // URL for this request's callback, instead of the webhooks
	TimingGroups []TimingGroup `json:"timing_groups"`
}

// PostWebhooksBody is described in the API reference.
type PostWebhooksBody struct {
	Webhooks []WebhookRequest `json:"webhooks"` // The webhooks
}

// Publication is described in the API reference.
type Publication struct {
	Attempts       int64                      `json:"attempts"`                 // Number of attempts of the pending publication
	DueAt          *string                    `json:"due_at,omitzero"`          // When the pending publication is due
	Errors         []PublicationErrors        `json:"errors"`                   // Objects that the platform does not list as sent, with reasons, at most 1,000
	LocationRefID  string                     `json:"location_ref_id"`          // Your `ref_id` of the store
	Message        *string                    `json:"message,omitzero"`         // Reason for the status
	PendingOutcome *PublicationPendingOutcome `json:"pending_outcome,omitzero"` // The platform has accepted a menu and reports its outcome later
	Platform       string                     `json:"platform"`
	PublishedAt    *string                    `json:"published_at,omitzero"` // When the platform last accepted the menu
	Reference      *string                    `json:"reference,omitzero"`    // The `reference_id` of the event that reported the outcome, from the latest change
	SettledAt      *string                    `json:"settled_at,omitzero"`   // When the status was last reported
	Status         PublicationStatus          `json:"status"`
	WaitsBecause   *string                    `json:"waits_because,omitzero"` // Why the publication still waits
	Warnings       []PublicationWarnings      `json:"warnings,omitzero"`      // Findings about objects that the platform lists, at most 1,000
}

// PublicationErrors is described in the API reference.
type PublicationErrors struct {
	Code    string `json:"code"`    // Stable code of the rule, for programs
	Entity  string `json:"entity"`  // `menu`, `store`, `category`, `item`, `option_group`, `option`, `tax` or `charge`
	Message string `json:"message"` // Description for people
	RefID   string `json:"ref_id"`  // Your identifier of the object
}

// PublicationPage is described in the API reference.
type PublicationPage struct {
	Meta         PageMeta      `json:"meta"`
	Publications []Publication `json:"publications"`
}

// PublicationPendingOutcome: The platform has accepted a menu and reports its outcome later
type PublicationPendingOutcome struct {
	Reference string `json:"reference"` // The platform's identifier of its task
	Since     string `json:"since"`     // When the platform accepted the menu
	Until     string `json:"until"`     // When the outcome is overdue
}

// PublicationStatus: Status of the menu on the platform
type PublicationStatus = string

// PublicationWarnings is described in the API reference.
type PublicationWarnings struct {
	Code     string  `json:"code"`              // Stable code of the rule, for programs
	Entity   string  `json:"entity"`            // `menu`, `store`, `category`, `item`, `option_group`, `option`, `tax` or `charge`
	Message  string  `json:"message"`           // Description for people
	RefID    string  `json:"ref_id"`            // Your identifier of the object
	Severity *string `json:"severity,omitzero"` // Present only for a warning
}

// PutOrderBody is described in the API reference.
type PutOrderBody struct {
	ReferenceID json.RawMessage `json:"reference_id"` // Your own reference of the order
}

// RetryDeliveriesAnswer is described in the API reference.
type RetryDeliveriesAnswer struct {
	Count       int64           `json:"count"`          // Number of deliveries that matched at the time of the request
	Error       *string         `json:"error,omitzero"` // Error of the latest failed attempt or of the whole job, only with `wait`
	Message     string          `json:"message"`
	Reference   *string         `json:"reference,omitzero"` // The reference of the job
	Result      json.RawMessage `json:"result,omitzero"`    // The `result` of the job once it has ended, only with `wait`
	State       *string         `json:"state,omitzero"`     // State of the job, only with `wait`
	Status      string          `json:"status"`
	WaitOutcome *WaitOutcome    `json:"wait_outcome,omitzero"`
}

// RetryDeliveriesBody is described in the API reference.
type RetryDeliveriesBody struct {
	Filter *RetryDeliveriesBodyFilter `json:"filter,omitzero"` // Conditions for deliveries
	IDs    []string                   `json:"ids,omitzero"`    // The `id` of each delivery
}

// RetryDeliveriesBodyFilter: Conditions for deliveries
type RetryDeliveriesBodyFilter struct {
	EventType *string `json:"event_type,omitzero"` // Name or numeric id of an event type
	From      *int64  `json:"from,omitzero"`       // Created at or after this time, in epoch milliseconds
	OrderID   *int64  `json:"order_id,omitzero"`   // Deliveries for this order, outcomes of calls to its aggregator included
	Reference *string `json:"reference,omitzero"`  // The reference of the request that caused the event
	State     *string `json:"state,omitzero"`      // State of the deliveries
	To        *int64  `json:"to,omitzero"`         // Created before this time, in epoch milliseconds, now at the latest
	WebhookID *int64  `json:"webhook_id,omitzero"` // Deliveries of this webhook
}

// RetryDeliveriesQuery has the query parameters of RetryDeliveries. Zero values are not sent.
type RetryDeliveriesQuery struct {
	DryRun bool // Counts the deliveries and changes nothing
}

// RetryDeliveryAnswer is described in the API reference.
type RetryDeliveryAnswer struct {
	Message string `json:"message"`
	Status  string `json:"status"`
}

// Revision is described in the API reference.
type Revision struct {
	Actor         *string           `json:"actor,omitzero"`   // Sender of the request, such as `key:pos`
	At            int64             `json:"at"`               // Time in epoch milliseconds
	BackTo        *string           `json:"back_to,omitzero"` // For a rollback, the revision that it restored
	Changes       []RevisionChanges `json:"changes"`
	ID            string            `json:"id"`
	Kind          string            `json:"kind"`
	LocationRefID *string           `json:"location_ref_id,omitzero"` // The `location_ref_id` of the request
	Reference     string            `json:"reference"`                // Reference of the request that made the revision
}

// RevisionChanges is described in the API reference.
type RevisionChanges struct {
	Entity        string  `json:"entity"`
	LocationRefID *string `json:"location_ref_id,omitzero"` // The store, for store values
	Rows          int64   `json:"rows"`                     // Number of records, values and associations changed
}

// RevisionFields is described in the API reference.
type RevisionFields struct {
	Actor         *string                 `json:"actor,omitzero"`   // Sender of the request, such as `key:pos`
	At            int64                   `json:"at"`               // Time in epoch milliseconds
	BackTo        *string                 `json:"back_to,omitzero"` // For a rollback, the revision that it restored
	Changes       []RevisionFieldsChanges `json:"changes"`
	ID            string                  `json:"id"`
	Kind          string                  `json:"kind"`
	LocationRefID *string                 `json:"location_ref_id,omitzero"` // The `location_ref_id` of the request
	Reference     string                  `json:"reference"`                // Reference of the request that made the revision
}

// RevisionFieldsChanges is described in the API reference.
type RevisionFieldsChanges struct {
	Entity        string  `json:"entity"`
	LocationRefID *string `json:"location_ref_id,omitzero"` // The store, for store values
	Rows          int64   `json:"rows"`                     // Number of records, values and associations changed
}

// RiderLocation is described in the API reference.
type RiderLocation struct {
	Location RiderLocationLocation `json:"location"`
	OrderID  json.RawMessage       `json:"order_id"` // The `order_id` that the hub assigned to the order
}

// RiderLocationLocation is described in the API reference.
type RiderLocationLocation struct {
	Latitude  json.RawMessage `json:"latitude"`  // Degrees north from -90 to 90, as decimal text or a number
	Longitude json.RawMessage `json:"longitude"` // Degrees east from -180 to 180, as decimal text or a number
}

// RiderState is described in the API reference.
type RiderState = string

// RiderStatus is described in the API reference.
type RiderStatus struct {
	OrderID   json.RawMessage       `json:"order_id"` // The `order_id` that the hub assigned to the order
	RiderData *RiderStatusRiderData `json:"rider_data,omitzero"`
	Status    RiderState            `json:"status"`
}

// RiderStatusRiderData is described in the API reference.
type RiderStatusRiderData struct {
	RiderName        *string         `json:"rider_name,omitzero"`
	RiderPhoneNumber json.RawMessage `json:"rider_phone_number,omitzero"`
}

// RotateWebhookAnswer is described in the API reference.
type RotateWebhookAnswer struct {
	Message        string `json:"message"`
	OldSecretUntil int64  `json:"old_secret_until"` // Time until which the previous secret signs too, in epoch milliseconds
	Secret         string `json:"secret"`           // Signs every delivery from now on
	Status         string `json:"status"`
	WebhookID      int64  `json:"webhook_id"`
}

// Store is described in the API reference.
type Store struct {
	Active             *bool                 `json:"active,omitzero"`              // Whether the store is in operation
	Address            *string               `json:"address,omitzero"`             // Street address, as one text
	City               *string               `json:"city,omitzero"`                // City of the store
	ContactPhone       *string               `json:"contact_phone,omitzero"`       // Phone number for customers
	ExcludedPlatforms  []string              `json:"excluded_platforms,omitzero"`  // Lists the store on every platform of the business except these
	GeoLatitude        *json.Number          `json:"geo_latitude,omitzero"`        // Degrees north; negative is south
	GeoLongitude       *json.Number          `json:"geo_longitude,omitzero"`       // Degrees east; negative is west
	HideFromUI         *bool                 `json:"hide_from_ui,omitzero"`        // Hides the name of the store on websites and apps
	IncludedPlatforms  []string              `json:"included_platforms,omitzero"`  // Lists the store only on these platforms
	MinDeliveryTime    *int64                `json:"min_delivery_time,omitzero"`   // Seconds from an order until delivery
	MinOrderValue      *json.Number          `json:"min_order_value,omitzero"`     // Minimum amount of an online order, in the currency of the business
	MinPickupTime      *int64                `json:"min_pickup_time,omitzero"`     // Seconds from an order until pickup
	Name               *string               `json:"name,omitzero"`                // Name of the store
	NotificationEmails []string              `json:"notification_emails,omitzero"` // Email addresses to alert when the store has a problem
	NotificationPhones []string              `json:"notification_phones,omitzero"` // Phone numbers to alert when the store has a problem
	OrderingEnabled    *bool                 `json:"ordering_enabled,omitzero"`    // Whether the store takes online orders
	PlatformData       []StorePlatformData   `json:"platform_data,omitzero"`       // How platforms identify the store, each platform once
	RefID              string                `json:"ref_id"`                       // Your identifier of the store
	SpecialTimings     []StoreSpecialTimings `json:"special_timings,omitzero"`     // Opening hours of dates, such as holidays
	Timings            []StoreTimings        `json:"timings,omitzero"`             // Opening hours
	Translations       []StoreTranslations   `json:"translations,omitzero"`        // Names in other languages
	ZipCodes           []string              `json:"zip_codes,omitzero"`           // Zip codes that the store delivers to
}

// StorePage is described in the API reference.
type StorePage struct {
	Meta   StorePageMeta `json:"meta"`   // Position of the page
	Stores []StoredStore `json:"stores"` // The stores, in the order of `ref_id`
}

// StorePageMeta: Position of the page
type StorePageMeta struct {
	Limit int64   `json:"limit"`         // Maximum number of stores per page
	Next  *string `json:"next,omitzero"` // The `after` of the next page
}

// StorePlatformData is described in the API reference.
type StorePlatformData struct {
	Name            string  `json:"name"`                       // A platform of the business, by name or alias
	PlatformStoreID *string `json:"platform_store_id,omitzero"` // The platform's own identifier of the store
	URL             *string `json:"url,omitzero"`               // URL of the store's page on the platform
}

// StoreResult is described in the API reference.
type StoreResult struct {
	Created  int64          `json:"created"`           // Number of stores created
	Errors   int64          `json:"errors"`            // Number of stores that failed
	Failed   []FailedObject `json:"failed,omitzero"`   // The first 100 failed stores
	Updated  int64          `json:"updated"`           // Number of stores that existed
	Warnings []Warning      `json:"warnings,omitzero"` // The first 100 warnings
}

// StoreSpecialTimings is described in the API reference.
type StoreSpecialTimings struct {
	Closed *bool                      `json:"closed,omitzero"` // Whether the store is closed on that date
	Date   string                     `json:"date"`            // The date, once in the list
	Reason *string                    `json:"reason,omitzero"` // The reason, for people
	Slots  []StoreSpecialTimingsSlots `json:"slots,omitzero"`  // Opening slots that begin on that date
}

// StoreSpecialTimingsSlots is described in the API reference.
type StoreSpecialTimingsSlots struct {
	EndTime   string `json:"end_time"`   // Closing time, in the same form
	StartTime string `json:"start_time"` // Opening time, as `HH:MM:SS` or `HH:MM` of 24 hours
}

// StoreTimings is described in the API reference.
type StoreTimings struct {
	Day   string              `json:"day"`            // Weekday on which the slots begin, in any letter case
	Slots []StoreTimingsSlots `json:"slots,omitzero"` // Opening slots of that day
}

// StoreTimingsSlots is described in the API reference.
type StoreTimingsSlots struct {
	EndTime   string `json:"end_time"`   // Closing time, in the same form
	StartTime string `json:"start_time"` // Opening time, as `HH:MM:SS` or `HH:MM` of 24 hours
}

// StoreTranslations is described in the API reference.
type StoreTranslations struct {
	Language string `json:"language"` // A two-letter code of ISO 639-1, which a script and a region may follow, such as `zh-Hant` or `es-MX`
	Name     string `json:"name"`     // The name in that language
}

// StoredCategory is described in the API reference.
type StoredCategory struct {
	Active       bool                     `json:"active"`                 // Whether its master record is active
	Description  *string                  `json:"description,omitzero"`   // Description of the object
	ID           int64                    `json:"id"`                     // The hub's id of the object
	ImgURL       *string                  `json:"img_url,omitzero"`       // A picture
	Name         string                   `json:"name"`                   // Name or title
	ParentRefID  *string                  `json:"parent_ref_id,omitzero"` // Parent category
	RefID        string                   `json:"ref_id"`                 // Your identifier
	SortOrder    int64                    `json:"sort_order"`             // Position in lists
	Translations []StoredNamedTranslation `json:"translations,omitzero"`  // Texts in other languages
}

// StoredCharge is described in the API reference.
type StoredCharge struct {
	Active            bool                  `json:"active"`                      // Whether its master record is active
	Cleared           *bool                 `json:"cleared,omitzero"`            // Whether a charge on the order lost its items by `clear_items`
	Code              string                `json:"code"`                        // Code of the tax or charge
	Description       *string               `json:"description,omitzero"`        // Description of the object
	ExcludedPlatforms []string              `json:"excluded_platforms,omitzero"` // Platforms without the charge
	FulfillmentModes  []string              `json:"fulfillment_modes,omitzero"`  // Fulfillment modes that the charge applies to
	ID                int64                 `json:"id"`                          // The hub's id of the object
	ItemRefIDs        []string              `json:"item_ref_ids"`                // Items that it applies to
	Structure         StoredChargeStructure `json:"structure"`                   // Amount of the charge, and its basis
	Title             string                `json:"title"`                       // Name or title
}

// StoredChargeStructure: Amount of the charge, and its basis
type StoredChargeStructure struct {
	ApplicableOn *string     `json:"applicable_on,omitzero"` // Basis of the charge
	Value        json.Number `json:"value"`                  // An amount, or percent
}

// StoredImage is described in the API reference.
type StoredImage struct {
	Tag string `json:"tag"` // The platform, or `default`
	URL string `json:"url"` // URL of the picture
}

// StoredItem is described in the API reference.
type StoredItem struct {
	Active            bool                      `json:"active"`                      // Whether its master record is active
	Available         bool                      `json:"available"`                   // Whether customers can order it
	CategoryRefIDs    []string                  `json:"category_ref_ids"`            // Categories of the item
	CurrentStock      int64                     `json:"current_stock"`               // Number in stock
	Description       *string                   `json:"description,omitzero"`        // Description of the object
	ExternalPrice     *json.Number              `json:"external_price,omitzero"`     // Price on aggregators
	FoodType          *string                   `json:"food_type,omitzero"`          // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	FulfillmentModes  []string                  `json:"fulfillment_modes,omitzero"`  // Fulfillment modes of the item
	ID                int64                     `json:"id"`                          // The hub's id of the object
	Images            []StoredImage             `json:"images,omitzero"`             // Pictures
	ImgURL            *string                   `json:"img_url,omitzero"`            // The picture for all platforms
	IncludedPlatforms []string                  `json:"included_platforms,omitzero"` // Platforms that list the item
	KeyValueGroups    []StoredKeyValueGroup     `json:"key_value_groups,omitzero"`   // Further facts by group
	MarkupPrice       *json.Number              `json:"markup_price,omitzero"`       // The higher price, shown struck through
	OptionGroupRefIDs []string                  `json:"option_group_ref_ids"`        // Option groups of the item
	PlatformPricing   []StoredPlatformPrice     `json:"platform_pricing,omitzero"`   // Prices of single platforms
	Price             json.Number               `json:"price"`                       // Price on the website and apps
	Recommended       bool                      `json:"recommended"`                 // Whether it is recommended
	RefID             string                    `json:"ref_id"`                      // Your identifier
	RefTitle          *string                   `json:"ref_title,omitzero"`          // Title for the merchant's staff
	Serves            *int64                    `json:"serves,omitzero"`             // Number of people it serves
	SoldAtStore       *bool                     `json:"sold_at_store,omitzero"`      // Whether the store sells it
	SortOrder         int64                     `json:"sort_order"`                  // Position in lists
	Tags              map[string][]string       `json:"tags,omitzero"`               // Tags by platform
	Title             string                    `json:"title"`                       // Name or title
	Translations      []StoredTitledTranslation `json:"translations,omitzero"`       // Texts in other languages
	Weight            *json.Number              `json:"weight,omitzero"`             // Weight in grams
}

// StoredKeyValueGroup is described in the API reference.
type StoredKeyValueGroup struct {
	Group        string                            `json:"group"`          // The group
	KeyValueData []StoredKeyValueGroupKeyValueData `json:"key_value_data"` // The facts
}

// StoredKeyValueGroupKeyValueData is described in the API reference.
type StoredKeyValueGroupKeyValueData struct {
	Key   string `json:"key"`   // The key
	Value string `json:"value"` // The value
}

// StoredNamedTranslation is described in the API reference.
type StoredNamedTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1, with a region if one was sent
	Name        *string `json:"name,omitzero"`        // The name in that language
}

// StoredOption is described in the API reference.
type StoredOption struct {
	Active         bool                      `json:"active"`                    // Whether its master record is active
	Available      bool                      `json:"available"`                 // Whether customers can order it
	Description    *string                   `json:"description,omitzero"`      // Description of the object
	FoodType       *string                   `json:"food_type,omitzero"`        // Diet type: `1` vegetarian, `2` non-vegetarian, `3` egg, `4` not applicable
	ID             int64                     `json:"id"`                        // The hub's id of the object
	Images         []StoredImage             `json:"images,omitzero"`           // Pictures
	ImgURL         *string                   `json:"img_url,omitzero"`          // The picture for all platforms
	KeyValueGroups []StoredKeyValueGroup     `json:"key_value_groups,omitzero"` // Further facts by group
	NestedOptGrps  []string                  `json:"nested_opt_grps"`           // Groups nested under the option
	OptGrpRefIDs   []string                  `json:"opt_grp_ref_ids"`           // Groups of the option
	Price          json.Number               `json:"price"`                     // Amount added to the item's price
	Recommended    bool                      `json:"recommended"`               // Whether it is recommended
	RefID          string                    `json:"ref_id"`                    // Your identifier
	RefTitle       *string                   `json:"ref_title,omitzero"`        // Title for the merchant's staff
	SoldAtStore    *bool                     `json:"sold_at_store,omitzero"`    // Whether the store sells it
	SortOrder      int64                     `json:"sort_order"`                // Position in lists
	Title          string                    `json:"title"`                     // Name or title
	Translations   []StoredTitledTranslation `json:"translations,omitzero"`     // Texts in other languages
	Weight         *int64                    `json:"weight,omitzero"`           // Weight in grams
}

// StoredOptionGroup is described in the API reference.
type StoredOptionGroup struct {
	Active              bool                      `json:"active"`                // Whether its master record is active
	Description         *string                   `json:"description,omitzero"`  // Description of the object
	DisplayInline       bool                      `json:"display_inline"`        // Whether a nested group appears on the level of its parent group
	ID                  int64                     `json:"id"`                    // The hub's id of the object
	ItemRefIDs          []string                  `json:"item_ref_ids"`          // Items that have the group
	MaxSelectable       int64                     `json:"max_selectable"`        // Maximum number of options to choose
	MinSelectable       int64                     `json:"min_selectable"`        // Minimum number of options to choose
	MultiOptionsEnabled bool                      `json:"multi_options_enabled"` // Whether customers can choose an option more than once
	OptionRefIDs        []string                  `json:"option_ref_ids"`        // Options of the group
	RefID               string                    `json:"ref_id"`                // Your identifier
	RefTitle            *string                   `json:"ref_title,omitzero"`    // Title for the merchant's staff
	SortOrder           int64                     `json:"sort_order"`            // Position in lists
	Title               string                    `json:"title"`                 // Name or title
	Translations        []StoredTitledTranslation `json:"translations,omitzero"` // Texts in other languages
}

// StoredPlatformPrice is described in the API reference.
type StoredPlatformPrice struct {
	Platform string      `json:"platform"` // The platform
	Price    json.Number `json:"price"`    // Price on the platform
}

// StoredStore is described in the API reference.
type StoredStore struct {
	Active             bool                        `json:"active"`                       // Whether the store is in operation
	Address            *string                     `json:"address,omitzero"`             // Street address
	BusyOn             []BusyPlatform              `json:"busy_on,omitzero"`             // Platforms on which the store is busy
	City               string                      `json:"city"`                         // City of the store
	ClosedOn           []StoredStoreClosedOn       `json:"closed_on,omitzero"`           // Platforms on which the store is closed for orders
	ContactPhone       *string                     `json:"contact_phone,omitzero"`       // Phone number for customers
	ExcludedPlatforms  []string                    `json:"excluded_platforms,omitzero"`  // The store is listed on every platform except these
	GeoLatitude        *json.Number                `json:"geo_latitude,omitzero"`        // Degrees north; negative is south
	GeoLongitude       *json.Number                `json:"geo_longitude,omitzero"`       // Degrees east; negative is west
	HideFromUI         bool                        `json:"hide_from_ui"`                 // Whether websites and apps hide the name of the store
	ID                 int64                       `json:"id"`                           // The hub's id of the store
	IncludedPlatforms  []string                    `json:"included_platforms,omitzero"`  // The store is listed only on these platforms
	MinDeliveryTime    *int64                      `json:"min_delivery_time,omitzero"`   // Seconds from an order until delivery
	MinOrderValue      *json.Number                `json:"min_order_value,omitzero"`     // Minimum amount of an online order
	MinPickupTime      *int64                      `json:"min_pickup_time,omitzero"`     // Seconds from an order until pickup
	Name               string                      `json:"name"`                         // Name of the store
	NotificationEmails []string                    `json:"notification_emails,omitzero"` // Email addresses to alert
	NotificationPhones []string                    `json:"notification_phones,omitzero"` // Phone numbers to alert
	OrderingEnabled    bool                        `json:"ordering_enabled"`             // Whether the store takes online orders
	PlatformData       []StoredStorePlatformData   `json:"platform_data,omitzero"`       // How platforms identify the store
	PlatformStatus     []StoredStorePlatformStatus `json:"platform_status,omitzero"`     // The states that platforms report for the store
	RefID              string                      `json:"ref_id"`                       // Your identifier
	SpecialTimings     []DateHours                 `json:"special_timings,omitzero"`     // Opening hours of dates, which replace `timings` on these dates
	Timings            []StoredStoreTimings        `json:"timings,omitzero"`             // Opening hours
	Translations       []StoredStoreTranslations   `json:"translations,omitzero"`        // Names in other languages
	ZipCodes           []string                    `json:"zip_codes,omitzero"`           // Zip codes that the store delivers to
}

// StoredStoreClosedOn is described in the API reference.
type StoredStoreClosedOn struct {
	ActionSrc string  `json:"action_src"` // Origin of the change: `api`, or `presence` if the hub closed the store while your system was silent
	Actor     string  `json:"actor"`      // The actor in full, such as `key:pos`
	Platform  string  `json:"platform"`
	Reason    *string `json:"reason,omitzero"`
	Since     int64   `json:"since"`               // Time of the change, in milliseconds since 1970
	TurnOnAt  *int64  `json:"turn_on_at,omitzero"` // Time at which the hub opens the store, in milliseconds since 1970
}

// StoredStorePlatformData is described in the API reference.
type StoredStorePlatformData struct {
	Name            string  `json:"name"`                       // The platform
	PlatformStoreID *string `json:"platform_store_id,omitzero"` // The platform's identifier of the store
	URL             *string `json:"url,omitzero"`               // URL of the store's page on the platform
}

// StoredStorePlatformStatus is described in the API reference.
type StoredStorePlatformStatus struct {
	Platform string  `json:"platform"`
	Reason   *string `json:"reason,omitzero"` // The reason that the platform gave
	Since    int64   `json:"since"`           // Time of the change on the platform, in milliseconds since 1970
	State    string  `json:"state"`           // `open`, `closed` or `paused`
	Until    *int64  `json:"until,omitzero"`  // Time at which the platform opens the store again, in milliseconds since 1970
}

// StoredStoreTimings is described in the API reference.
type StoredStoreTimings struct {
	Day   string                    `json:"day"`   // Weekday on which the slots begin
	Slots []StoredStoreTimingsSlots `json:"slots"` // Opening slots of that day
}

// StoredStoreTimingsSlots is described in the API reference.
type StoredStoreTimingsSlots struct {
	EndTime   string `json:"end_time"`   // Closing time, as `HH:MM:SS`
	StartTime string `json:"start_time"` // Opening time, as `HH:MM:SS`
}

// StoredStoreTranslations is described in the API reference.
type StoredStoreTranslations struct {
	Language string `json:"language"` // A two-letter code of ISO 639-1, with a region if one was sent
	Name     string `json:"name"`     // The name in that language
}

// StoredTax is described in the API reference.
type StoredTax struct {
	Active      bool               `json:"active"`               // Whether its master record is active
	Code        string             `json:"code"`                 // Code of the tax or charge
	Description *string            `json:"description,omitzero"` // Description of the object
	ID          int64              `json:"id"`                   // The hub's id of the object
	ItemRefIDs  []string           `json:"item_ref_ids"`         // Items that it applies to
	Structure   StoredTaxStructure `json:"structure"`            // Rate of the tax
	Title       string             `json:"title"`                // Name or title
}

// StoredTaxStructure: Rate of the tax
type StoredTaxStructure struct {
	Value json.Number `json:"value"` // The rate in percent
}

// StoredTitledTranslation is described in the API reference.
type StoredTitledTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1, with a region if one was sent
	Title       *string `json:"title,omitzero"`       // The title in that language
}

// StoresRequest is described in the API reference.
type StoresRequest struct {
	CallbackURL *string `json:"callback_url,omitzero"` // URL for this request's callback, instead of the webhooks
	Stores      []Store `json:"stores"`                // The stores, of at most 1 MiB each
}

// Switch is described in the API reference.
type Switch struct {
	Outcomes  []SwitchOutcomes `json:"outcomes"` // Outcomes reported so far, the oldest first
	Reference string           `json:"reference"`
	Waiting   []SwitchWaiting  `json:"waiting"` // Platforms that are still pending
}

// SwitchOutcomes is described in the API reference.
type SwitchOutcomes struct {
	Body      json.RawMessage `json:"body"` // Body of the callback
	EventType string          `json:"event_type"`
}

// SwitchWaiting is described in the API reference.
type SwitchWaiting struct {
	Platform     string  `json:"platform"`
	WaitsBecause *string `json:"waits_because,omitzero"` // Error of the latest attempt
}

// Tax is described in the API reference.
type Tax struct {
	Active      *bool        `json:"active,omitzero"`       // Whether the tax applies
	ClearItems  *bool        `json:"clear_items,omitzero"`  // First removes the tax from all its items, at every store
	Code        string       `json:"code"`                  // Code, by the country of the business
	Description *string      `json:"description,omitzero"`  // Description of the object
	ItemRefIDs  []string     `json:"item_ref_ids,omitzero"` // Items that the tax applies to, or `all` alone
	Structure   TaxStructure `json:"structure"`             // Rate of the tax
	Title       *string      `json:"title,omitzero"`        // Title, in any letter case
}

// TaxStructure: Rate of the tax
type TaxStructure struct {
	Value json.Number `json:"value"` // The rate in percent
}

// TestWebhookAnswer is described in the API reference.
type TestWebhookAnswer struct {
	Message   string `json:"message"`
	Reference string `json:"reference"`
	Status    string `json:"status"`
	WebhookID int64  `json:"webhook_id"`
}

// TimingGroup is described in the API reference.
type TimingGroup struct {
	CategoryRefIDs []string   `json:"category_ref_ids"`   // Your identifiers of the categories
	DaySlots       []DayHours `json:"day_slots,omitzero"` // When the categories are on sale
	Title          string     `json:"title"`              // Title, which identifies the group
}

// TitledTranslation is described in the API reference.
type TitledTranslation struct {
	Description *string `json:"description,omitzero"` // The description in that language
	Language    string  `json:"language"`             // A two-letter code of ISO 639-1, which a script and a region may follow, such as `zh-Hant` or `es-MX`
	Title       *string `json:"title,omitzero"`       // The title in that language
}

// TurnOnAt: Time at which the hub enables it, in milliseconds since 1970, between 5 minutes and 30 days from now
type TurnOnAt = int64

// TwiceReferenced is described in the API reference.
type TwiceReferenced struct {
	Error       *string         `json:"error,omitzero"` // Error of the latest failed attempt or of the whole job, only with `wait`
	Message     string          `json:"message"`
	Reference   string          `json:"reference"`       // Identifies the request
	ReferenceID string          `json:"reference_id"`    // Same as `reference`
	Result      json.RawMessage `json:"result,omitzero"` // The `result` of the job once it has ended, only with `wait`
	State       *string         `json:"state,omitzero"`  // State of the job, only with `wait`
	Status      string          `json:"status"`
	WaitOutcome *WaitOutcome    `json:"wait_outcome,omitzero"`
	Warnings    []Warning       `json:"warnings,omitzero"` // Parts of the request that have no effect now or might be mistakes
}

// WaitOutcome: How the wait of a request with `wait` ended
type WaitOutcome = string

// Warning is described in the API reference.
type Warning struct {
	Message string `json:"message"` // Why it has no effect, or might be a mistake
	Path    string `json:"path"`    // Field that the warning is about, such as `location_ref_id`
}

// Webhook is described in the API reference.
type Webhook struct {
	Active               bool              `json:"active"`                           // Whether the webhook receives events
	DisabledReason       *string           `json:"disabled_reason,omitzero"`         // Why the hub disabled the webhook
	EventType            EventType         `json:"event_type"`                       // The event type
	EventTypeHeader      *string           `json:"event_type_header,omitzero"`       // Name of a further header that carries the event type
	EventTypeHeaderValue *string           `json:"event_type_header_value,omitzero"` // Value of `event_type_header`
	Headers              map[string]string `json:"headers"`                          // Headers for every delivery
	RetrialIntervalUnits string            `json:"retrial_interval_units"`           // Unit of the retry intervals
	URL                  string            `json:"url"`                              // URL that receives the events
	WebhookID            int64             `json:"webhook_id"`                       // The hub's id of the webhook
}

// WebhookChange is described in the API reference.
type WebhookChange struct {
	Active               *bool           `json:"active,omitzero"`                  // Whether the webhook receives events
	EventType            json.RawMessage `json:"event_type,omitzero"`              // The event type of the webhook
	EventTypeHeader      *string         `json:"event_type_header,omitzero"`       // Name of a further header that carries the event type
	EventTypeHeaderValue *string         `json:"event_type_header_value,omitzero"` // Value of `event_type_header`
	Headers              *HeadersInput   `json:"headers,omitzero"`
	RetrialIntervalUnits *string         `json:"retrial_interval_units,omitzero"` // Unit of the retry intervals
	URL                  *string         `json:"url,omitzero"`                    // The new URL
}

// WebhookChanged is described in the API reference.
type WebhookChanged struct {
	Message   string `json:"message"` // Outcome, for people
	Status    string `json:"status"`
	WebhookID int64  `json:"webhook_id"` // The hub's id of the webhook
}

// WebhookCreated is described in the API reference.
type WebhookCreated struct {
	Active    bool    `json:"active"`          // Whether the webhook receives events
	Message   string  `json:"message"`         // Outcome, for people
	Secret    *string `json:"secret,omitzero"` // Secret to verify signatures
	Status    string  `json:"status"`
	WebhookID int64   `json:"webhook_id"` // The hub's id of the webhook
}

// WebhookPage is described in the API reference.
type WebhookPage struct {
	Meta     WebhookPageMeta `json:"meta"`     // Position of the page
	Webhooks []Webhook       `json:"webhooks"` // The webhooks, oldest first
}

// WebhookPageMeta: Position of the page
type WebhookPageMeta struct {
	Limit      int64 `json:"limit"`       // Number of webhooks per page
	Offset     int64 `json:"offset"`      // Number of webhooks skipped
	TotalCount int64 `json:"total_count"` // Number of all webhooks
}

// WebhookRequest is described in the API reference.
type WebhookRequest struct {
	Active               *bool          `json:"active,omitzero"` // Whether the webhook receives events
	EventType            EventTypeInput `json:"event_type"`
	EventTypeHeader      *string        `json:"event_type_header,omitzero"`       // Name of a further header that carries the event type
	EventTypeHeaderValue *string        `json:"event_type_header_value,omitzero"` // Value of `event_type_header`
	Headers              *HeadersInput  `json:"headers,omitzero"`
	RetrialIntervalUnits *string        `json:"retrial_interval_units,omitzero"` // Unit of the retry intervals
	URL                  string         `json:"url"`                             // URL that receives the events
}

// WebhooksCreated is described in the API reference.
type WebhooksCreated struct {
	Message  string                    `json:"message"` // Outcome, for people
	Status   string                    `json:"status"`
	Webhooks []WebhooksCreatedWebhooks `json:"webhooks"` // The webhooks, in the order of the request
}

// WebhooksCreatedWebhooks is described in the API reference.
type WebhooksCreatedWebhooks struct {
	Active    bool      `json:"active"`          // Whether the webhook receives events
	EventType EventType `json:"event_type"`      // The event type
	Index     int64     `json:"index"`           // Position in the request
	Message   string    `json:"message"`         // Outcome, for people
	Secret    *string   `json:"secret,omitzero"` // Secret to verify signatures
	URL       string    `json:"url"`             // URL that receives the events
	WebhookID int64     `json:"webhook_id"`      // The hub's id of the webhook
}
