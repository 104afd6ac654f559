package order

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// RiderLocation is a request to update a rider's location.
type RiderLocation struct {
	Business  core.BusinessID
	OrderID   int64
	Latitude  string // decimal degrees
	Longitude string
	SeenAt    time.Time // when the hub received it
}

// degrees is a decimal number that may be sent as a string; "" if it was not sent.
type degrees string

var errDegrees = &core.RuleError{Code: "type", Rule: "must be a decimal number of degrees, as a string"}

// UnmarshalJSONFrom reads a number or a string. A null leaves the value unchanged.
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

// DecodeRiderLocation decodes the body of a rider location. Any violation rejects it with an Invalid error that names
// the field.
func DecodeRiderLocation(body []byte) (RiderLocation, error) {
	var sent struct {
		OrderID  core.PositiveInt `json:"order_id"`
		Location core.ObjectOrEmptyArray[struct {
			Latitude  degrees `json:"latitude"`
			Longitude degrees `json:"longitude"`
		}] `json:"location"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return RiderLocation{}, err
	}
	var v core.Violations
	p := fieldPath{v: &v}
	if sent.OrderID == 0 {
		p.fail("order_id", "required", "is required")
	}
	at := sent.Location.Value
	p.degrees("location.latitude", at.Latitude, 90)
	p.degrees("location.longitude", at.Longitude, 180)
	return RiderLocation{OrderID: int64(sent.OrderID), Latitude: string(at.Latitude), Longitude: string(at.Longitude)},
		v.Err()
}

func (p fieldPath) degrees(field string, sent degrees, limit int64) {
	if sent == "" {
		p.fail(field, "required", "is required")
		return
	}
	if decimal.RequireFromString(string(sent)).Abs().GreaterThan(decimal.NewFromInt(limit)) { // parsed before
		p.fail(field, "range", fmt.Sprintf("must be between -%d and %d degrees, not %s", limit, limit, sent))
	}
}
