package sdk

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestAmountsConvertToMinorUnits(t *testing.T) {
	for _, c := range []struct {
		amount string
		digits int
		units  string
	}{
		{"9.50", 2, "950"}, {"9.5", 2, "950"}, {"9", 0, "9"}, {"2.005", 2, "201"}, {"2.0049999999999999999", 2, "200"},
		{"", 2, "0"}, {"0", 3, "0"}, {"-1.255", 2, "-126"}, {"999999999999999.99", 2, "99999999999999999"},
	} {
		units, err := MinorUnits("price", c.amount, c.digits)
		require.NoError(t, err, c.amount)
		require.Equal(t, c.units, units.String(), c.amount)
	}
	for _, wrong := range []string{"1e9", "nine", "1/3", "0x10", "1_000", "01", ".5", "1.", "NaN"} {
		_, err := MinorUnits("price", wrong, 2)
		require.True(t, IsRefusal(err), wrong)
	}
}

func TestCurrencyDigitsFollowISO4217(t *testing.T) {
	for currency, digits := range map[string]int{"USD": 2, "INR": 2, "IDR": 2, "PKR": 2, "JPY": 0, "KRW": 0, "KWD": 3,
		"IQD": 3} {
		got, known := MinorDigits(currency)
		require.Equal(t, digits, got, currency)
		require.True(t, known)
	}
	_, known := MinorDigits("")
	require.False(t, known)
}

func TestFinalStatusesAgreeWithClassifyStatus(t *testing.T) {
	final := FinalStatuses()
	for status := int32(200); status < 600; status++ {
		success, again := ClassifyStatus(status)
		require.Equal(t, status < 300, success, status)
		switch {
		case slices.Contains(final, status):
			require.False(t, again, status)
		case status < 419 || status >= 500:
			require.True(t, success || again, status)
		}
	}
	for _, status := range []int32{302, 303, 304, 307, 408, 421, 423, 424, 425, 429, 500, 503} {
		_, again := ClassifyStatus(status)
		require.True(t, again, status)
	}
	require.Subset(t, final, []int32{301, 308, 400, 402, 404, 412, 422, 426, 428, 431, 451})
}

func TestMinorUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, digits := rapid.Int64().Draw(t, "units"), rapid.IntRange(0, 4).Draw(t, "digits")
		back, err := MinorUnits("price", FromMinorUnits(units, digits), digits)
		require.NoError(t, err)
		n, err := back.Int64()
		require.NoError(t, err)
		require.Equal(t, units, n)
	})
}

func TestMessageJSONRoundTrips(t *testing.T) {
	for name, body := range map[string]string{
		"an object": `{"a":[1,2.50,"é<b>"],"n":null}`, "a list": `[{"x":1}]`, "a text": "hello", "no JSON": `{"a":`,
		"no text": "\xff\xfe", "nothing": "", "white": " {}", "an object of ours": `{"base64":"x","y":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			message := &pb.TranslateRequest{
				Call:    &Call{Business: 1 << 60, Settings: []byte(`{"nutrition":"required"}`)},
				Request: &InboundRequest{Kind: "orders", Body: []byte(body), Headers: map[string]string{"body": "x"}},
			}
			text, err := ToJSON(message)
			require.NoError(t, err)
			again := &pb.TranslateRequest{}
			require.NoError(t, FromJSON(text, again), string(text))
			require.True(t, proto.Equal(message, again), string(text))
		})
	}
}

func TestInvalidPlansAreExplained(t *testing.T) {
	about := &Description{Endpoints: []*pb.Endpoint{{Name: "api"}}, Secrets: []*pb.Secret{{Name: "key"}}}
	good := func() *Plan {
		return &Plan{Endpoint: "api", Method: "POST", Path: "/a/b%2Fc",
			SecretHeaders: []*SecretHeader{{Header: "X-Key", Secret: "key", Template: "{secret}"}}}
	}
	for says, spoil := range map[string]func(*Plan){
		"":                                    func(*Plan) {},
		`endpoint "other" is not declared`:    func(p *Plan) { p.Endpoint = "other" },
		`method "CONNECT"`:                    func(p *Plan) { p.Method = "CONNECT" },
		`path "//evil.example/x"`:             func(p *Plan) { p.Path = "//evil.example/x" },
		`path "https://evil.example/"`:        func(p *Plan) { p.Path = "https://evil.example/" },
		`path "/a/../b"`:                      func(p *Plan) { p.Path = "/a/../b" },
		`path "/a/%2e%2e/b"`:                  func(p *Plan) { p.Path = "/a/%2e%2e/b" },
		`path "/a b"`:                         func(p *Plan) { p.Path = "/a b" },
		`path "/é"`:                           func(p *Plan) { p.Path = "/é" },
		`path "/a?b=c"`:                       func(p *Plan) { p.Path = "/a?b=c" },
		"header host is set by the hub":       func(p *Plan) { p.Headers = map[string]string{"host": "evil.example"} },
		"has a line break":                    func(p *Plan) { p.Headers = map[string]string{"X-A": "a\r\nX-B: b"} },
		"header X-B has a line break or an":   func(p *Plan) { p.Headers = map[string]string{"X-B": "a\x01b"} },
		"header X-C has a line break or an":   func(p *Plan) { p.Headers = map[string]string{"X-C": "a\x7f"} },
		"template of header X-Key has a line": func(p *Plan) { p.SecretHeaders[0].Template = "{secret}\n" },
		"the status -5, which is none": func(p *Plan) {
			p.Success = &pb.SuccessRule{Statuses: []int32{200,
				-5}}
		},
		"the status 600, which is none": func(p *Plan) {
			p.Success =
				&pb.SuccessRule{FinalStatuses: []int32{600}}
		},
		`the pointer "ok", which must`: func(p *Plan) {
			p.Success = &pb.SuccessRule{JsonPointer: "ok",
				JsonEquals: "true"}
		},
		`compares with "{{", which is no`: func(p *Plan) {
			p.Success = &pb.SuccessRule{JsonPointer: "/ok",
				JsonEquals: "{{"}
		},
		`"X A" is no header name`:           func(p *Plan) { p.Headers = map[string]string{"X A": "a"} },
		`secret "other" is not declared`:    func(p *Plan) { p.SecretHeaders[0].Secret = "other" },
		"must hold {secret} once":           func(p *Plan) { p.SecretHeaders[0].Template = "x" },
		"header Content-Length is set by":   func(p *Plan) { p.SecretHeaders[0].Header = "Content-Length" },
		`the plan's method "" is none of [`: func(p *Plan) { p.Method = "" },
	} {
		plan := good()
		spoil(plan)
		decision, err := Send(plan)
		require.NoError(t, err)
		if err = CheckDecision(about, decision); says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, says)
	}
	require.ErrorContains(t, CheckDecision(about, &Decision{}), "a plan, or a reason to skip")
	skip, err := Skip("not ours")
	require.NoError(t, err)
	require.NoError(t, CheckDecision(about, skip))
}

func TestOutcomeOfOutOfStockIsNeverPending(t *testing.T) {
	const later = pb.OutcomeState_OUTCOME_STATE_PENDING
	require.NoError(t, CheckResult(nil, &ActionOutcome{State: later}))
	require.ErrorContains(t, CheckResult(nil, &ItemsOOSOutcome{State: later}), "nothing of it comes later")
	require.NoError(t, CheckResult(nil, &PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY}))
}
