package action

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

func TestParametersAreDecodedForOtherActions(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	}
	for _, c := range []struct{ parameters, want, says string }{
		{``, ``, ""},
		{`null`, ``, ""},
		{`[ ]`, ``, ""},
		{`{}`, `{}`, ""},
		{`{"b": 1.50, "a": {"d": [2, {"z": 1, "y": "é"}], "c": true}}`,
			`{"a":{"c":true,"d":[2,{"y":"é","z":1}]},"b":1.50}`, ""},
		{nested(maxDepth), nested(maxDepth), ""},
		{`{"a":"` + strings.Repeat("x", maxParameters-8) + `"}`,
			`{"a":"` + strings.Repeat("x", maxParameters-8) + `"}`, ""},
		{nested(maxDepth + 1), ``, "parameters must be nested at most 32 levels deep"},
		{`{"a":"` + strings.Repeat("x", maxParameters-7) + `"}`, ``,
			"parameters must have at most 16384 bytes of JSON, not 16385"},
		{`"x"`, ``, "parameters must be an object"},
		{`[1]`, ``, "parameters must be an object"},
		{`{"a":1,"a":2}`, ``, "is given twice in one object"},
		{`{"a":"\u0000"}`, ``, "must not contain the NUL character"},
	} {
		body := `{"action":"delay_order","order_id":17`
		if c.parameters != "" {
			body += `,"parameters":` + c.parameters
		}
		r, err := Decode([]byte(body + "}"))
		if c.says != "" {
			require.ErrorContains(t, err, c.says, c.parameters)
			require.Equal(t, core.Invalid, core.CodeOf(err))
			continue
		}
		require.NoError(t, err, c.parameters)
		require.Equal(t, c.want, string(r.Parameters))
	}
	r, err := Decode([]byte(`{"action":"rider_with_mask","order_id":17,"wearing_mask":true,"parameters":[1]}`))
	require.NoError(t, err, "specified actions ignore the field as before")
	require.Nil(t, r.Parameters)
}

// desk is a Repository and an ActionLister with one platform. It rejects parameters that contain "wrong".
type desk struct {
	order     Order
	servedBy  string
	offers    []Offer
	known     error
	checked   []string
	submitted []Submission
}

func (d *desk) PlatformOrder(_ context.Context, _ core.BusinessID, platform string,
	_ int64) (o Order, servedBy string, err error) {
	if platform != d.order.Platform {
		return o, "", core.Errorf(core.NotFound, "there is no platform %q", platform)
	}
	return d.order, d.servedBy, nil
}

func (d *desk) Submit(_ context.Context, s Submission) (core.ID, error) {
	d.submitted = append(d.submitted, s)
	return s.Reference, nil
}

func (d *desk) Actions(context.Context, string) ([]Offer, error) { return d.offers, d.known }

func (d *desk) ParameterProblems(schema, parameters []byte) []core.Violation {
	d.checked = append(d.checked, string(schema)+" "+string(parameters))
	if strings.Contains(string(parameters), "wrong") {
		return []core.Violation{{Path: "parameters.phone", Code: "enum", Message: "must be right"}}
	}
	return nil
}

type fixedClock struct{ core.Clock }

func (fixedClock) Now() time.Time { return time.UnixMilli(1700000000000) }

func TestParametersAreCheckedBeforeAnActionIsStored(t *testing.T) {
	temp, err := core.ParseAmount("98.40")
	require.NoError(t, err)
	wearing := true
	offers := []Offer{{Name: BodyTemp, Schema: []byte("T")}, {Name: WithMask}, {Name: CustomerData, SendsEvent: true},
		{Name: "delay", Schema: []byte("D"), SendsEvent: true}, {Name: "plain"}}
	for name, c := range map[string]struct {
		r       Request
		checked []string
		stored  string
		event   bool
		says    string
	}{
		"a specified action with a schema": {r: Request{Action: BodyTemp, Temp: &temp, Phone: "0123456789"},
			checked: []string{`T {"phone":"0123456789","temp":98.4}`}, stored: `{"phone":"0123456789","temp":98.4}`},
		"a specified action without one": {r: Request{Action: WithMask, WearingMask: &wearing}},
		"an event by the specification":  {r: Request{Action: CustomerData}},
		"own parameters": {r: Request{Action: "delay", Parameters: []byte(`{"minutes":5}`)},
			checked: []string{`D {"minutes":5}`}, stored: `{"minutes":5}`, event: true},
		"none sent":  {r: Request{Action: "delay"}, checked: []string{"D "}, stored: `{}`, event: true},
		"none taken": {r: Request{Action: "plain"}, checked: []string{" "}},
		"own parameters that break a rule": {r: Request{Action: "delay", Parameters: []byte(`{"minutes":"wrong"}`)},
			says: "parameters.phone must be right"},
		"fields that break a rule": {r: Request{Action: BodyTemp, Phone: "wrong"}, says: "phone must be right"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{order: Order{Platform: "a", SelfDelivered: true}, servedBy: "plugin", offers: offers}
			service := Service{Repository: d, Actions: d, Clock: fixedClock{}}
			_, err := service.Submit(t.Context(), 1, "a", "key:pos", c.r)
			if c.says != "" {
				require.EqualError(t, err, c.says)
				require.Equal(t, core.Invalid, core.CodeOf(err))
				require.Empty(t, d.submitted)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.checked, d.checked)
			require.Equal(t, c.stored, string(d.submitted[0].Parameters))
			require.Equal(t, c.event, d.submitted[0].SendsEvent)
			require.Nil(t, d.submitted[0].Change)
		})
	}
}

func TestConsoleActionsCarryTheirAuditEntry(t *testing.T) {
	d := &desk{order: Order{Platform: "a"}, servedBy: "plugin", offers: []Offer{{Name: "plain"}}}
	change := access.Change{Business: 7, Actor: "user:sam@example.com", Why: "asked"}
	_, err := Service{Repository: d, Actions: d, Clock: fixedClock{}}.SubmitChange(t.Context(), "a",
		Request{Action: "plain", OrderID: 3}, change)
	require.NoError(t, err)
	require.Equal(t, &change, d.submitted[0].Change)
	require.Equal(t, []any{core.BusinessID(7), "user:sam@example.com"},
		[]any{d.submitted[0].Business, d.submitted[0].Actor})
}

func TestPossibleActionsDependOnTheOrder(t *testing.T) {
	offers := []Offer{{Name: WithMask}, {Name: AdditionalRider}, {Name: CustomerData}, {Name: "delay"}}
	for name, c := range map[string]struct {
		desk desk
		want []string
	}{
		"placed":    {desk{order: Order{Platform: "a"}}, []string{WithMask, CustomerData, "delay"}},
		"bulk":      {desk{order: Order{Platform: "a", Bulk: true}}, Names(offers)},
		"completed": {desk{order: Order{Platform: "a", Completed: true}}, []string{CustomerData}},
		"cancelled": {desk{order: Order{Platform: "a", Cancelled: true}}, []string{}},
		"own":       {desk{order: Order{Platform: "a"}, servedBy: core.ServedByMerchant}, []string{}},
		"elsewhere": {desk{order: Order{Platform: "b"}}, []string{}},
		"unknown": {desk{order: Order{Platform: "a"},
			known: core.Errorf(core.Unavailable, "not known yet")}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.desk.known == nil {
				c.desk.offers = append([]Offer{}, offers...)
			}
			possible, err := Service{Repository: &c.desk, Actions: &c.desk}.Possible(t.Context(), 1, "a", 3)
			require.NoError(t, err)
			require.Equal(t, c.want, Names(possible))
		})
	}
}
