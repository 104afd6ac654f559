package sdk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestPollsAreChecked(t *testing.T) {
	about := func(polls ...*Poll) *Description {
		return &Description{Id: "p", Version: "1.0.0", Protocol: Protocol, DisplayName: "P", Polls: polls,
			Capabilities: []string{CapabilityOrderTranslate, CapabilityPoll},
			Secrets:      []*pb.Secret{{Name: "key"}},
			Inbound: []*pb.Inbound{{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "X-Key", Secret: "key"}}}
	}
	require.NoError(t, CheckDescription(about(&Poll{Name: "orders", PeriodSeconds: 15})))
	for problem, polls := range map[string][]*Poll{
		"needs at least one":      nil,
		"period_seconds: must be": {{Name: "orders", PeriodSeconds: 14}},
		"from 15 to 86400":        {{Name: "orders", PeriodSeconds: 86401}},
		"no kind of inbound":      {{Name: "events", PeriodSeconds: 60}},
		"unique":                  {{Name: "orders", PeriodSeconds: 60}, {Name: "orders", PeriodSeconds: 60}},
	} {
		require.ErrorContains(t, CheckDescription(about(polls...)), problem)
	}
	without := about(&Poll{Name: "orders", PeriodSeconds: 60})
	without.Capabilities = []string{CapabilityOrderTranslate}
	require.ErrorContains(t, CheckDescription(without), "polls: need the capability poll")
}

func TestResultOfAPollIsBounded(t *testing.T) {
	message := Polled("1", map[string]any{"id": 1})
	require.NoError(t, CheckResult(&Description{}, &PollResult{Messages: []*PolledMessage{message}, Cursor: "c"}))
	many := make([]*PolledMessage, MaxPolledMessages+1)
	for i := range many {
		many[i] = message
	}
	for problem, result := range map[string]*PollResult{
		"cursor":            {Cursor: strings.Repeat("c", MaxCursor+1)},
		"at most 200":       {Messages: many},
		"body: is required": {Messages: []*PolledMessage{{}}},
		"platform_order_id": {Messages: []*PolledMessage{Polled(strings.Repeat("i", 256), 1)}},
		"none of them zero": {Messages: []*PolledMessage{{Body: []byte("{}"), PlatformOrderId: "A\x00"}}},
		"bytes together":    {Messages: []*PolledMessage{{Body: make([]byte, MaxPolledBytes+1)}}},
	} {
		require.ErrorContains(t, CheckResult(&Description{}, result), problem)
	}
}
