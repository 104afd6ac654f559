package simulator

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// drawFaults returns "x" for each of n calls with a fault, and "." for the others.
func drawFaults(t *testing.T, f Fault, n int) string {
	t.Helper()
	set := faultSet{now: time.Now}
	_, err := set.add(f)
	require.NoError(t, err)
	var out strings.Builder
	for range n {
		_, struck := set.match(Account{Space: "7", Platform: "tasty", Plugin: "aggregator-a"}, CallMenu)
		out.WriteString(map[bool]string{true: "x", false: "."}[struck])
	}
	return out.String()
}

func TestFaultAppliesOnlyToItsTargets(t *testing.T) {
	for want, f := range map[string]Fault{
		"xxxxx": {Kind: FaultFail, Space: "7", Platform: "tasty", Call: CallMenu},
		"xx...": {Kind: FaultHang, Platform: "aggregator-a", Times: 2},
		".....": {Kind: FaultFail, Call: CallStatus},
	} {
		require.Equal(t, want, drawFaults(t, f, 5))
	}
	require.Equal(t, ".....", drawFaults(t, Fault{Kind: FaultFail, Platform: "other"}, 5))
	require.Equal(t, ".....", drawFaults(t, Fault{Kind: FaultFail, Space: "8"}, 5))
	require.Equal(t, ".....", drawFaults(t, Fault{Kind: FaultDuplicate}, 5), "it is for messages to the hub")
}

func TestSameSeedProducesTheSameFaults(t *testing.T) {
	drawn := drawFaults(t, Fault{Kind: FaultFail, Probability: 0.5, Seed: 3}, 64)
	require.Equal(t, drawn, drawFaults(t, Fault{Kind: FaultFail, Probability: 0.5, Seed: 3}, 64))
	require.NotEqual(t, drawn, drawFaults(t, Fault{Kind: FaultFail, Probability: 0.5, Seed: 4}, 64))
	require.Contains(t, drawn, "x")
	require.Contains(t, drawn, ".")
}

func TestFaultFlagsAreParsed(t *testing.T) {
	f, err := ParseFault("fail:platform=aggregator-a,call=menu,status=500,times=2,probability=0.5,seed=9,space=7")
	require.NoError(t, err)
	require.Equal(t, Fault{Kind: "fail", Platform: "aggregator-a", Call: CallMenu, Status: 500, Times: 2,
		Probability: 0.5, Seed: 9, Space: "7"}, f)
	f, err = ParseFault("delay:delay=1.5s")
	require.NoError(t, err)
	require.Equal(t, int64(1500), f.DelayMS)
	f, err = ParseFault("hang:for=5m")
	require.NoError(t, err)
	require.Equal(t, int64(300_000), f.LastsMS)
	for text, says := range map[string]string{
		"eat": "must be one of: fail", "delay": "delay_ms must be", "fail:status=200": "status must be from 400",
		"fail:status=x":   "status",
		"hang:call=order": `call "order" must be`, "duplicate:call=menu": `call "menu" must be`,
		"reset:colour=1":        "must be one of",
		"reset:probability=NaN": "probability must be", "reset:probability=2": "probability must be",
		"reset:times=-1": "times must not", "hang:for=25h": "lasts_ms must be", "hang:for=soon": "for:",
	} {
		_, err := ParseFault(text)
		require.ErrorContains(t, err, says, text)
	}
}

const acceptRoute = "/a/v2/orders/1/accept"

// withFault returns a bench with one fault, set by the admin API.
func withFault(t *testing.T, body string) *harness {
	t.Helper()
	b := newHarness(t, nil)
	var set Fault
	b.admin("POST", "faults", body, &set)
	require.Positive(t, set.ID)
	return b
}

func TestFaultResponsesUseTheAggregatorFormat(t *testing.T) {
	b := withFault(t, `{"kind":"fail","times":1}`)
	require.Equal(t, httpReply{503, `{"message":"configured to fail"}`}, b.sendAsHub("7", "POST", acceptRoute, `{}`))
	require.Equal(t, 200, b.sendAsHub("7", "POST", acceptRoute, `{}`).status)
	var received []Received
	b.admin("GET", "7/a/received", "", &received)
	require.Equal(t, []string{"fail", ""}, []string{received[0].Fault, received[1].Fault})

	b = withFault(t, `{"kind":"refuse","call":"menu"}`)
	for letter, says := range map[string]string{
		"a": `{"accepted":false,"message":"configured to reject","problems":[]}`,
		"b": `{"message":"configured to reject"}`, "c": `{"code":422,"failed":[],"msg":"configured to reject"}`} {
		p := goldenPlans(t, "aggregator"+letter)["menu"]
		require.Equal(t, says, b.sendAsHub("7", p.Method, "/"+letter+p.Path, string(p.Body)).text)
		require.Empty(t, b.storesOf(letter), "a rejected menu is not stored")
	}
}

func TestFaultsDelayHangAndReset(t *testing.T) {
	b := withFault(t, `{"kind":"delay","delay_ms":60000}`)
	got := make(chan httpReply, 1)
	go func() { got <- b.sendAsHub("7", "POST", acceptRoute, `{}`) }()
	waited := <-b.waiting
	require.Empty(t, got)
	waited <- time.Time{}
	require.Equal(t, 200, (<-got).status)

	for _, kind := range []string{"hang", "reset"} {
		b := withFault(t, `{"kind":"`+kind+`"}`)
		ended := make(chan error, 1)
		go func() {
			_, err := b.do("POST", "/7"+acceptRoute, `{}`, map[string]string{"X-Partner-Key": "key-7"})
			ended <- err
		}()
		if kind == "hang" {
			require.Eventually(t, func() bool { return b.faults.active("")[0].Hits == 1 }, 10*time.Second,
				time.Millisecond)
			require.Empty(t, ended)
			b.end() // hanging requests end with the simulator
		}
		require.Error(t, <-ended)
		require.Eventually(t, func() bool { return len(b.latestReceived()) == 1 }, 10*time.Second, time.Millisecond)
		require.Equal(t, 0, b.latestReceived()[0].Status)
	}
}

// latestReceived returns the records of account a of space 7, even after the server's end.
func (b *harness) latestReceived() []Received {
	at, _, err := b.accountState(b.t.Context(), "7", "a")
	require.NoError(b.t, err)
	at.mu.Lock()
	defer at.mu.Unlock()
	return append([]Received{}, at.received...)
}

func TestFaultsAreListedAndRemoved(t *testing.T) {
	b := withFault(t, `{"kind":"fail"}`)
	var list []Fault
	b.admin("POST", "faults", `{"kind":"reset","call":"status"}`, new(Fault))
	b.admin("DELETE", "faults/1", "", &list)
	require.Len(t, list, 1)
	require.Equal(t, "reset", list[0].Kind)
	require.Equal(t, 400, b.admin("DELETE", "faults/1", "", nil).status)
	b.admin("DELETE", "faults", "", &list)
	require.Empty(t, list)
	for range maxActiveFaults {
		b.admin("POST", "faults", `{"kind":"hang","call":"status"}`, new(Fault))
	}
	require.Equal(t, 400, b.admin("POST", "faults", `{"kind":"hang"}`, nil).status)
}

func TestFaultExpires(t *testing.T) {
	now := time.Unix(0, 0)
	set := faultSet{now: func() time.Time { return now }}
	of := func(space string) Fault { return Fault{Kind: FaultReset, Space: space, LastsMS: 1000} }
	f, err := set.add(of("7"))
	require.NoError(t, err)
	require.Equal(t, now.Add(time.Second), f.Until)
	account := Account{Space: "7", Platform: "tasty", Plugin: "aggregator-a"}
	for _, want := range []bool{true, false} {
		_, struck := set.match(account, CallMenu)
		require.Equal(t, want, struck)
		require.Equal(t, want, len(set.active("")) == 1)
		now = now.Add(time.Second)
	}
	for range maxFaultsOfSpace {
		_, err := set.add(of("7"))
		require.NoError(t, err)
	}
	_, err = set.add(of("7"))
	require.ErrorContains(t, err, "in this space")
	_, err = set.add(of("8"))
	require.NoError(t, err, "another space has room")
	now = now.Add(time.Second)
	_, err = set.add(of("7"))
	require.NoError(t, err, "what is over makes room")
}

func TestFaultsAreSeparatePerSpace(t *testing.T) {
	b := newHarness(t, nil)
	for _, body := range []string{`{"kind":"hang","space":"8"}`, `{"kind":"fail"}`,
		`{"kind":"reset","space":"7","lasts_ms":60000}`} {
		b.admin("POST", "faults", body, nil)
	}
	var left []Fault
	b.admin("GET", "faults?space=7", "", &left)
	require.Equal(t, []string{FaultFail, FaultReset}, []string{left[0].Kind, left[1].Kind})
	require.False(t, left[1].Until.IsZero())
	b.admin("DELETE", "faults?space=7", "", &left)
	require.Len(t, left, 1, "what befalls every space stays")
	b.admin("GET", "faults", "", &left)
	require.Len(t, left, 2, "and so does what is another's")
}
