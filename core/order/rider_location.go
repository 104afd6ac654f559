package order

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// RiderLocation is where a rider was seen, on its way into the hub.
type RiderLocation struct {
	Business  core.BusinessID
	OrderID   int64
	Latitude  string // decimal degrees
	Longitude string
	SeenAt    time.Time // when the hub took it
}

// degrees is a decimal number that may be sent as text; "" where it was not.
type degrees string

var errDegrees = &core.RuleError{Code: "type", Rule: "must be a decimal number of degrees, as text"}

// UnmarshalJSONFrom reads the text of a number or a number; a null leaves it as it is.
func (d *degrees) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	token, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		return nil
	case '"', '0':
		if parsed, err := core.ParseAmount(token.String()); err == nil {
			*d = degrees(parsed.String())
			return nil
		}
	}
	return errDegrees
}

// DecodeRiderLocation reads the body of a rider location (spec, Endpoint 5). Any
// violation refuses it with an Invalid error naming the field.
func DecodeRiderLocation(body []byte) (RiderLocation, error) {
	var sent struct {
		OrderID  core.Whole `json:"order_id"`
		Location core.Members[struct {
			Latitude  degrees `json:"latitude"`
			Longitude degrees `json:"longitude"`
		}] `json:"location"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return RiderLocation{}, err
	}
	var v core.Violations
	p := spot{v: &v}
	if sent.OrderID == 0 {
		p.fail("order_id", "required", "is required")
	}
	at := sent.Location.Value
	p.degrees("location.latitude", at.Latitude, 90)
	p.degrees("location.longitude", at.Longitude, 180)
	return RiderLocation{OrderID: int64(sent.OrderID), Latitude: string(at.Latitude), Longitude: string(at.Longitude)}, v.Err()
}

func (p spot) degrees(field string, sent degrees, limit int64) {
	if sent == "" {
		p.fail(field, "required", "is required")
		return
	}
	if decimal.RequireFromString(string(sent)).Abs().GreaterThan(decimal.NewFromInt(limit)) { // it was parsed before
		p.fail(field, "range", fmt.Sprintf("must be between -%d and %d degrees", limit, limit))
	}
}
