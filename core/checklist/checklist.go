// Package checklist shows the progress of a first integration: which calls and deliveries have worked, and the next
// step for each of the others.
package checklist

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Facts are what a business has done so far, within the retention of records.
type Facts struct {
	Called        bool // an API key was used
	Stores        bool // there is a store
	Menu          bool // there is a menu
	Subscribed    bool // there is an active webhook
	Verified      bool // a webhook has accepted a delivery
	OrderAccepted bool // a webhook has accepted an order_placed that is no test event
	OrdersRetried bool // an order retry was requested
	Rider         bool // a rider's status was sent
	Action        bool // an aggregator accepted a feature action
	Requests      bool // a request for stores or a menu was processed

	FailingDays int     // of the last seven days, on which objects of requests failed
	FailingJob  core.ID // the latest of these requests; zero: none

	MenuErrors core.ID // the latest menu request, if objects of it failed; else zero

	Store     string // ref_id of a store, for commands; "" or 0 if there is none, as in the next fields
	Item      string // ref_id of an item
	SelfOrder int64  // a self-delivery order
	Order     int64  // an order of a platform whose plugin offers the customer's contact
	Platform  string // that platform
}

// Step is a step of a first integration.
type Step struct {
	Name      string // stable identifier
	Title     string // for people
	Done      bool
	Next      string  // what to do, in plain words
	Command   string  // a shell command for the step; USERNAME:API_KEY is a placeholder
	Reference core.ID // the job with the errors; zero: none
}

// Placeholders in commands for values of the integrator. Hook is a URL of theirs.
const (
	Key        = "USERNAME:API_KEY"
	ChannelKey = "CHANNEL_USERNAME:CHANNEL_API_KEY"
	Hook       = "https://pos.example.com/hooks"
)

// defaultStore is the ref_id in commands while there is no store.
const defaultStore = "S-1"

// Steps returns the steps in their recommended order. base is the URL of the hub, for commands.
func Steps(f Facts, base string) []Step {
	hub := hubURL(base)
	steps := slices.Concat(catalogueSteps(f, hub), webhookSteps(f, hub), orderSteps(f, hub))
	return append(steps, objectsStep(f, hub))
}

// hubURL is the URL of the hub in commands.
type hubURL string

// curl returns a command that sends a request, by POST if it has a body.
func (u hubURL) curl(key, path, body string) string {
	line := fmt.Sprintf("curl -sS '%s%s' -H 'Authorization: apikey %s'", u, path, key)
	if body != "" {
		line += " \\\n  -H 'Content-Type: application/json' -d '" + body + "'"
	}
	return line
}

// catalogueSteps returns the steps to the first stores and menus.
func catalogueSteps(f Facts, hub hubURL) []Step {
	return []Step{
		{Name: "authenticated_call", Title: "Call the hub with your key", Done: f.Called,
			Next: "Create an API key: in the console under API keys, or with servery key create. Send it with any " +
				"request.",
			Command: hub.curl(Key, "/external/api/v1/stores/", "")},
		{Name: "stores_synced", Title: "Send a store", Done: f.Stores,
			Next: "Send one store. The callback store_creation has the result, as does the job with the reference of " +
				"the response.",
			Command: hub.curl(Key, "/external/api/v1/stores/",
				`{"stores":[{"ref_id":"S-1","name":"Harbour Street","city":"Oakland","excluded_platforms":[]}]}`)},
		menuStep(f, hub),
	}
}

func menuStep(f Facts, hub hubURL) Step {
	step := Step{Name: "menu_synced", Title: "Send a menu without an error", Done: f.Menu &&
		f.MenuErrors == core.ID{}, Reference: f.MenuErrors,
		Next: "Send a menu for the store.",
		Command: hub.curl(Key, "/external/api/v1/inventory/locations/"+url.PathEscape(cmp.Or(f.Store,
			defaultStore))+"/",
			`{"categories":[{"ref_id":"mains","name":"Mains"}],"items":[{"ref_id":"dal","title":"Dal",`+
				`"price":9.5,"category_ref_ids":["mains"]}]}`)}
	if f.MenuErrors != (core.ID{}) {
		step.Next = "Some objects of the latest menu request failed. Its job and its callback have the reasons. " +
			"Fix these objects and send them."
		step.Command = hub.curl(Key, "/external/api/v1/jobs/"+f.MenuErrors.String()+"/", "")
	}
	return step
}

// webhookSteps returns the steps to the first delivery.
func webhookSteps(f Facts, hub hubURL) []Step {
	return []Step{
		{Name: "webhook_configured", Title: "Subscribe a webhook", Done: f.Subscribed,
			Next: "Subscribe your URL to orders. Store the secret of the response: it verifies every delivery. Then " +
				"subscribe to each other event type that you need.",
			Command: hub.curl(Key, "/external/api/v1/webhooks/",
				`{"event_type":"order_placed","url":"`+Hook+`","retrial_interval_units":"seconds"}`)},
		{Name: "webhook_verified", Title: "Accept a delivery", Done: f.Verified,
			Next:    "Send a test event to each webhook by its webhook_id. Respond with a 2xx status within 5 seconds.",
			Command: hub.curl(Key, "/external/api/v1/webhooks/WEBHOOK_ID/test/", "") + " -X POST"},
	}
}

// orderSteps returns the steps to the first orders and their updates.
func orderSteps(f Facts, hub hubURL) []Step {
	return []Step{
		{Name: "order_accepted", Title: "Accept an order", Done: f.OrderAccepted,
			Next: "Send an order with a key of scope channel, or run servery simulate order. Respond to its " +
				"order_placed with a 2xx status.",
			Command: hub.curl(ChannelKey, "/channel/api/v1/orders/",
				`{"platform":"web","platform_order_id":"W-1","store_ref_id":`+shellQuote(cmp.Or(f.Store, defaultStore))+
					`,"items":[{"ref_id":`+shellQuote(cmp.Or(f.Item, "dal"))+`,"quantity":1}]}`)},
		{Name: "orders_retried", Title: "Request missed orders", Done: f.OrdersRetried,
			Next: "Request the orders of the last hour that you did not accept. The event webhook_retry has their " +
				"number.",
			Command: hub.curl(Key, "/external/api/v1/webhooks/retry/",
				`{"event_type":18,"start_time":'$(($(date +%s)-3600))000',"end_time":'$(date +%s)999'}`)},
		{Name: "rider_sent", Title: "Send a rider status", Done: f.Rider,
			Next: "Send the status of the rider of a self-delivery order.",
			Command: hub.curl(Key, "/ext/api/v1/generic/pos/rider-status/",
				`{"order_id":`+orderID(f.SelfOrder)+`,"status":"ASSIGNED",`+
					`"rider_data":{"rider_name":"Jonas Okafor","rider_phone_number":"4155550177"}}`)},
		{Name: "action_used", Title: "Use a feature of an aggregator", Done: f.Action,
			Next: "Request the masked contact of an order's customer. The event feature_action has it. Not every " +
				"aggregator supports this: skip this step if yours does not.",
			Command: hub.curl(Key, "/external/api/v1/aggregator/"+url.PathEscape(cmp.Or(f.Platform, "PLATFORM"))+
				"/feature-action/", `{"action":"fetch_customer_data","order_id":"`+orderID(f.Order)+`"}`)},
	}
}

// orderID returns an order id for a command.
func orderID(id int64) string {
	if id == 0 {
		return "ORDER_ID"
	}
	return fmt.Sprint(id)
}

// PersistentDays is on how many of the last seven days objects must fail to count as a persistent problem.
const PersistentDays = 2

// objectsStep is done while objects do not fail on several days of a week.
func objectsStep(f Facts, hub hubURL) Step {
	step := Step{Name: "objects_accepted", Title: "Send objects without errors",
		Done: f.Requests && f.FailingDays < PersistentDays,
		Next: "Send stores and menus. The callback, the job and, with wait, the response list the objects that failed.",
		Command: hub.curl(Key, "/external/api/v1/stores/?wait=10",
			`{"stores":[{"ref_id":"S-1","name":"Harbour Street","city":"Oakland","excluded_platforms":[]}]}`)}
	if f.FailingDays >= PersistentDays {
		step.Reference = f.FailingJob
		step.Next = fmt.Sprintf("On %d of the last 7 days, objects of requests failed. The job of the latest request "+
			"has the reasons. Correct these objects in your system and send them.", f.FailingDays)
		step.Command = hub.curl(Key, "/external/api/v1/jobs/"+f.FailingJob.String()+"/", "")
	}
	return step
}

// shellQuote returns a text as JSON for use between single quotes of a shell.
func shellQuote(text string) string {
	value, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return `""` // stored text is valid UTF-8
	}
	return strings.ReplaceAll(string(value), "'", `'\''`)
}

// Done returns the number of completed steps.
func Done(steps []Step) (n int) {
	for _, s := range steps {
		if s.Done {
			n++
		}
	}
	return n
}
