// Package action contains the rules of feature actions: the special requests that an aggregator offers for its
// orders, such as the customer's contact.
package action

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// The actions with their own rules. A plugin may offer others.
const (
	BodyTemp        = "rider_body_temp"
	WithMask        = "rider_with_mask"
	AdditionalRider = "request_additional_rider"
	CustomerData    = "fetch_customer_data"
)

// Request is a decoded request for an action.
type Request struct {
	Action      string
	OrderID     int64
	Temp        *core.Amount // degrees Fahrenheit; only with BodyTemp
	WearingMask *bool        // only with WithMask
	Phone       string       // of the rider; "" if not sent

	// Parameters is a JSON object, with its members sorted; nil if not sent. An action with its own rules has none.
	Parameters jsontext.Value
}

// IsSpecified reports whether an action has its own rules. Their fields are its parameters.
func IsSpecified(action string) bool {
	return action == BodyTemp || action == WithMask || action == AdditionalRider || action == CustomerData
}

var phonePattern = regexp.MustCompile(`^[0-9]{10}$`)

// maxActionName is the maximum length of an action's name, in characters.
const maxActionName = 64

// Body temperatures of riders, in degrees Fahrenheit.
const (
	minTemp = 80
	maxTemp = 115
)

// Decode decodes and validates the body of a feature action, as far as that needs no stored state. Its error is
// Invalid and names the fields.
func Decode(body []byte) (Request, error) {
	var sent struct {
		Action  string           `json:"action"`
		OrderID core.PositiveInt `json:"order_id"`
		Phone   core.Identifier  `json:"phone"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return Request{}, err
	}
	var v core.Violations
	r := Request{Action: strings.TrimSpace(sent.Action), OrderID: int64(sent.OrderID)}
	if r.Action == "" {
		v.AddBody("action", "required", "is required")
	} else if rule := core.TooLong(r.Action, maxActionName); rule != "" {
		v.AddBody("action", "length", rule)
	}
	if r.OrderID == 0 {
		v.AddBody("order_id", "required", "is required")
	}
	if err := r.decodeFields(body, &v); err != nil {
		return Request{}, err
	}
	if r.Phone = string(sent.Phone); r.Phone != "" && !phonePattern.MatchString(r.Phone) {
		v.AddBody("phone", "format", "must be 10 digits")
	}
	return r, v.Err()
}

// decodeFields decodes and validates the fields of the action.
func (r *Request) decodeFields(body []byte, v *core.Violations) error {
	switch r.Action {
	case BodyTemp:
		var own struct {
			Temp *core.Amount `json:"temp"`
		}
		if err := core.DecodeJSON(body, &own); err != nil {
			return err
		}
		if r.Temp = own.Temp; r.Temp == nil {
			v.AddBody("temp", "required", "is required with "+BodyTemp)
		} else if r.Temp.LessThan(decimal.NewFromInt(minTemp)) || r.Temp.GreaterThan(decimal.NewFromInt(maxTemp)) {
			v.AddBody("temp", "range", fmt.Sprintf("must be between %d and %d degrees Fahrenheit, not %s",
				minTemp, maxTemp, r.Temp))
		}
	case WithMask:
		var own struct {
			WearingMask *bool `json:"wearing_mask"`
		}
		if err := core.DecodeJSON(body, &own); err != nil {
			return err
		}
		if r.WearingMask = own.WearingMask; r.WearingMask == nil {
			v.AddBody("wearing_mask", "required", "is required with "+WithMask)
		}
	case AdditionalRider, CustomerData:
	default:
		var own struct {
			Parameters jsontext.Value `json:"parameters"`
		}
		if err := core.DecodeJSON(body, &own); err != nil {
			return err
		}
		r.Parameters = decodeParameters(own.Parameters, v)
	}
	return nil
}

// Order has the properties of an order that determine its possible actions.
type Order struct {
	Platform      string
	SelfDelivered bool
	Bulk          bool
	Completed     bool
	Cancelled     bool
}

// Check applies the rules that need the order and its platform. It returns Invalid, or Conflict if the order has
// ended. A completed order still allows CustomerData, because the customer can be reached.
func (r Request) Check(platform string, o Order, offered []string) error {
	var v core.Violations
	if o.Platform != platform {
		v.AddBody("order_id", "platform",
			fmt.Sprintf("is an order of the platform %s, not of %s", o.Platform, platform))
		return v.Err()
	}
	if !slices.Contains(offered, r.Action) {
		rule := core.OneOf(offered, r.Action)
		if len(offered) == 0 {
			rule = "is not available: the platform " + platform + " has no actions"
		}
		v.AddBody("action", "value", rule)
		return v.Err()
	}
	if r.Phone != "" && !o.SelfDelivered {
		v.AddBody("phone", "delivery_type",
			"is for self-delivery orders only, and the platform's riders deliver this one")
	}
	if r.Action == AdditionalRider && !o.Bulk {
		v.AddBody("action", "bulk", AdditionalRider+" is for bulk orders only (is_bulk_order)")
	}
	switch err := v.Err(); {
	case err != nil:
		return err
	case o.Cancelled:
		return core.Errorf(core.Conflict, "the order is Cancelled, so its platform accepts no more actions")
	case o.Completed && r.Action != CustomerData:
		return core.Errorf(core.Conflict, "the order is Completed, and %s is possible only before that", r.Action)
	}
	return nil
}

// Offer is an action that a plugin offers.
type Offer struct {
	Name, Title string
	Schema      []byte // JSON Schema of its parameters; nil: it declares none
	SendsEvent  bool   // a feature_action event reports its outcome
}

// SendsEvent reports whether the outcome of an action is a feature_action event. The plugin declares that, except for
// the actions with their own rules.
func SendsEvent(action string, declared bool) bool {
	return action == CustomerData || declared && !IsSpecified(action)
}

// Submission is an accepted action, to be sent to the aggregator.
type Submission struct {
	Reference  core.ID
	Business   core.BusinessID
	Platform   string
	Actor      string // who requested it, such as key:pos
	At         time.Time
	SendsEvent bool           // the plugin declares that a feature_action event reports the outcome
	Change     *access.Change // for the audit trail, if a user of the console requested it
	Request
}

// Repository stores actions.
type Repository interface {
	// PlatformOrder returns the order and the plugin that serves the platform. It returns NotFound if the business
	// has no such platform or order.
	PlatformOrder(ctx context.Context, business core.BusinessID, platform string, orderID int64) (o Order,
		servedBy string, err error)
	// Submit stores an action to be sent and returns its reference. If the same action of the order is waiting or
	// pending, it returns that one's reference instead.
	Submit(ctx context.Context, s Submission) (core.ID, error)
}

// ActionLister lists the actions that a plugin offers, and checks parameters against the schema of one.
type ActionLister interface {
	// Actions returns Unavailable if the actions are unknown at present.
	Actions(ctx context.Context, plugin string) ([]Offer, error)
	// ParameterProblems returns the rules of a schema that parameters break. Their paths begin with parameters.
	ParameterProblems(schema, parameters []byte) []core.Violation
}

// Service accepts actions.
type Service struct {
	Repository Repository
	Actions    ActionLister
	Clock      core.Clock
}

// Submit checks an action, stores it to be sent and returns its reference. If the same action is waiting or pending,
// it returns that one's reference. Its errors are Invalid, Conflict, and those of Repository and Actions.
func (d Service) Submit(ctx context.Context, business core.BusinessID, platform, actor string,
	r Request) (core.ID, error) {
	return d.submit(ctx, Submission{Business: business, Platform: platform, Actor: actor, Request: r})
}

// SubmitChange submits an action like Submit, with an entry in the audit trail.
func (d Service) SubmitChange(ctx context.Context, platform string, r Request, change access.Change) (core.ID, error) {
	return d.submit(ctx, Submission{Business: change.Business, Platform: platform, Actor: change.Actor, Request: r,
		Change: &change})
}

func (d Service) submit(ctx context.Context, s Submission) (core.ID, error) {
	o, servedBy, err := d.Repository.PlatformOrder(ctx, s.Business, s.Platform, s.OrderID)
	if err != nil {
		return core.ID{}, err
	}
	var offers []Offer
	if servedBy != core.ServedByMerchant {
		if offers, err = d.Actions.Actions(ctx, servedBy); err != nil {
			return core.ID{}, err
		}
	}
	if err := s.Check(s.Platform, o, Names(offers)); err != nil {
		return core.ID{}, err
	}
	offer := offers[slices.IndexFunc(offers, func(o Offer) bool { return o.Name == s.Action })]
	if s.Parameters, err = d.parameters(s.Request, offer); err != nil {
		return core.ID{}, err
	}
	s.SendsEvent = offer.SendsEvent && !IsSpecified(s.Action)
	s.At = d.Clock.Now()
	s.Reference = core.NewID(s.At)
	return d.Repository.Submit(ctx, s)
}

// Possible returns the actions that an order allows now. It returns none while they are unknown.
func (d Service) Possible(ctx context.Context, business core.BusinessID, platform string,
	orderID int64) ([]Offer, error) {
	o, servedBy, err := d.Repository.PlatformOrder(ctx, business, platform, orderID)
	if core.CodeOf(err) == core.NotFound || err == nil && servedBy == core.ServedByMerchant {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	offers, err := d.Actions.Actions(ctx, servedBy)
	if core.CodeOf(err) == core.Unavailable {
		return nil, nil
	}
	names := Names(offers)
	return slices.DeleteFunc(offers, func(offer Offer) bool {
		return Request{Action: offer.Name, OrderID: orderID}.Check(platform, o, names) != nil
	}), err
}

// Names returns the names of offers.
func Names(offers []Offer) []string {
	names := make([]string, len(offers))
	for i, offer := range offers {
		names[i] = offer.Name
	}
	return names
}

// parameters returns the parameters of a request after they were checked against the schema of the action.
func (d Service) parameters(r Request, offer Offer) (jsontext.Value, error) {
	parameters := r.Parameters
	if IsSpecified(r.Action) {
		if len(offer.Schema) == 0 {
			return nil, nil
		}
		parameters = r.ownParameters()
	}
	problems := d.Actions.ParameterProblems(offer.Schema, parameters)
	if len(problems) == 0 && len(offer.Schema) > 0 && parameters == nil {
		parameters = jsontext.Value(`{}`)
	}
	var v core.Violations
	for _, p := range problems {
		path := p.Path
		if IsSpecified(r.Action) { // their parameters are fields of the request
			path = strings.TrimPrefix(path, parametersField+".")
		}
		v.AddBody(path, p.Code, p.Message)
	}
	return parameters, v.Err()
}
