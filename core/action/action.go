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
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
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
	} else if utf8.RuneCountInString(r.Action) > maxActionName {
		v.AddBody("action", "length", fmt.Sprintf("must be at most %d characters long", maxActionName))
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

// Submission is an accepted action, to be sent to the aggregator.
type Submission struct {
	Reference core.ID
	Business  core.BusinessID
	Platform  string
	Actor     string // who requested it, such as key:pos
	At        time.Time
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

// ActionLister lists the actions that a plugin offers. It returns Unavailable if they are unknown at present.
type ActionLister interface {
	Actions(ctx context.Context, plugin string) ([]string, error)
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
	o, servedBy, err := d.Repository.PlatformOrder(ctx, business, platform, r.OrderID)
	if err != nil {
		return core.ID{}, err
	}
	var offered []string
	if servedBy != core.ServedByMerchant {
		if offered, err = d.Actions.Actions(ctx, servedBy); err != nil {
			return core.ID{}, err
		}
	}
	if err := r.Check(platform, o, offered); err != nil {
		return core.ID{}, err
	}
	now := d.Clock.Now()
	s := Submission{Reference: core.NewID(now), Business: business, Platform: platform, Actor: actor, At: now,
		Request: r}
	return d.Repository.Submit(ctx, s)
}
