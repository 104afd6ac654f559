package action

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestActionFieldsAreValidatedPerAction(t *testing.T) {
	for body, says := range map[string]string{
		`{"action":"rider_body_temp","order_id":"17","temp":80}`:  "",
		`{"action":"rider_body_temp","order_id":17,"temp":115.0}`: "",
		`{"action":"rider_body_temp","order_id":17,"temp":79.99}`: "temp must be between " +
			"80 and 115",
		`{"action":"rider_body_temp","order_id":17,"temp":115.01}`: "temp must be between " +
			"80 and 115",
		`{"action":"rider_body_temp","order_id":17,"temp":null}`:          "temp is required",
		`{"action":"rider_body_temp","order_id":17,"temp":"98"}`:          "temp must be a number",
		`{"action":"rider_with_mask","order_id":17,"wearing_mask":false}`: "",
		`{"action":"rider_with_mask","order_id":17,"temp":98}`: "wearing_mask is " +
			"required",
		`{"action":"request_additional_rider","order_id":17,"phone":"0123456789"}`: "",
		`{"action":"request_additional_rider","order_id":17,"phone":"01234567890"}`: "phone must " +
			"be 10 digits",
		`{"action":"request_additional_rider","order_id":17,"phone":"012345678a"}`: "phone must " +
			"be 10 digits",
		`{"action":"request_additional_rider","order_id":17,"phone":""}`:                      "",
		`{"action":"fetch_customer_data","order_id":0}`:                                       "order_id is required",
		`{"action":" ","order_id":17}`:                                                        "action is required",
		`{"action":"something_else","order_id":17,"temp":1,"wearing_mask":null,"phone":null}`: "",
		`{"action":"rider_with_mask","order_id":17,"wearing_mask":false,"temp":""}`:           "",
		`{"action":"rider_body_temp","order_id":17,"wearing_mask":"","temp":98}`:              "",
		`{"action":"fetch_customer_data","order_id":17,"temp":"x","wearing_mask":[]}`:         "",
		`{"action":"rider_with_mask","order_id":17,"wearing_mask":""}`: "wearing_mask must be " +
			"true or false",
		`{"action":"` + strings.Repeat("é", 64) + `","order_id":17}`: "",
		`{"action":"` + strings.Repeat("é", 65) +
			`","order_id":17}`: "action must be at most 64 characters",
	} {
		r, err := Decode([]byte(body))
		if says == "" {
			require.NoError(t, err, body)
			require.Equal(t, int64(17), r.OrderID)
			continue
		}
		require.ErrorContains(t, err, says, body)
		require.Equal(t, core.Invalid, core.CodeOf(err))
	}
	r, err := Decode([]byte(`{"action":"fetch_customer_data","order_id":17,"temp":98,"wearing_mask":true}`))
	require.NoError(t, err)
	require.Equal(t, Request{Action: CustomerData, OrderID: 17}, r, "what belongs to other actions is not passed on")
}

func TestActionMustFitItsOrderAndPlatform(t *testing.T) {
	all := []string{BodyTemp, WithMask, AdditionalRider, CustomerData, "other"}
	for _, c := range []struct {
		r       Request
		o       Order
		offered []string
		says    string
	}{
		{Request{Action: WithMask}, Order{Platform: "a"}, all, ""},
		{Request{Action: "other"}, Order{Platform: "a"}, all, ""},
		{Request{Action: WithMask, OrderID: 3}, Order{Platform: "b"}, all,
			"order_id is an order of the platform b, not of a"},
		{Request{Action: WithMask}, Order{Platform: "a"}, all[:1], "must be one of: rider_body_temp"},
		{Request{Action: WithMask}, Order{Platform: "a"}, nil, "has no actions"},
		{Request{Action: WithMask, Phone: "0123456789"}, Order{Platform: "a", SelfDelivered: true}, all, ""},
		{Request{Action: WithMask, Phone: "0123456789"}, Order{Platform: "a"}, all,
			"phone is for self-delivery orders only"},
		{Request{Action: AdditionalRider}, Order{Platform: "a", Bulk: true}, all, ""},
		{Request{Action: AdditionalRider}, Order{Platform: "a"}, all, "for bulk orders only"},
	} {
		err := c.r.Check("a", c.o, c.offered)
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.says)
		require.Equal(t, core.Invalid, core.CodeOf(err))
	}
}

func TestCompletedOrderAllowsOnlyCustomerContact(t *testing.T) {
	all := []string{WithMask, CustomerData}
	for _, c := range []struct {
		action string
		o      Order
		says   string
	}{
		{WithMask, Order{}, ""},
		{CustomerData, Order{Completed: true}, ""},
		{WithMask, Order{Completed: true}, "the order is Completed"},
		{CustomerData, Order{Cancelled: true}, "the order is Cancelled"},
		{WithMask, Order{Cancelled: true}, "the order is Cancelled"},
	} {
		err := Request{Action: c.action, OrderID: 7}.Check("", c.o, all)
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.says)
		require.Equal(t, core.Conflict, core.CodeOf(err))
	}
}

func TestNumericIdentifierIsEncodedAsANumber(t *testing.T) {
	for text, want := range map[string]string{
		"880142173": "880142173", "0": "0", "007": `"007"`, "A-1": `"A-1"`, "": `""`, "-5": `"-5"`,
		"999999999999999999":  "999999999999999999",
		"1000000000000000000": `"1000000000000000000"`, "1.5": `"1.5"`, `say "x"`: `"say \"x\""`,
	} {
		require.Equal(t, want, string(identifierJSON(text)), text)
	}
}
