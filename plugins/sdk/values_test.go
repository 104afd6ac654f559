package sdk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestKeptValuesAreChecked(t *testing.T) {
	for why, value := range map[string]*KeptValue{
		"": Keep("menu_id", strings.Repeat("x", MaxKeptValue)),
		"keep[0]: name: must be lower-case letters": Keep("Menu", "x"),
		"digits and underscores, at most 64":        Keep(strings.Repeat("m", 65), "x"),
		"must be text of at most 256 bytes":         Keep("menu_id", strings.Repeat("x", MaxKeptValue+1)),
		"keep[0]: value: must be text":              Keep("menu_id", "a\x00"),
		"one of store_ref_id, platform_store_id":    {Name: "menu_id", StoreRefId: "s1", PlatformWide: true},
	} {
		keep := []*KeptValue{value}
		results := []error{
			CheckResult(&Description{}, &PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Keep: keep}),
			CheckResult(&Description{}, &PollResult{Keep: keep}),
			CheckResult(&Description{}, &ItemsOOSOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Keep: keep}),
			CheckResult(&Description{}, &ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Keep: keep}),
			CheckResult(&Description{}, &Translation{Meaning: &pb.Translation_Ignored{Ignored: "seen"}, Keep: keep}),
		}
		for _, err := range results {
			if why == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, why)
		}
	}
	many := &PollResult{}
	for range MaxKept + 1 {
		many.Keep = append(many.Keep, Keep("menu_id", "x"))
	}
	require.ErrorContains(t, CheckResult(&Description{}, many), "keep: must be at most 32 values")
}

func TestValuesOfCallsAreFound(t *testing.T) {
	call := &Call{Values: map[string]string{"menu_id": "m-7"}}
	require.Equal(t, []string{"m-7", ""}, []string{Value(call, "menu_id"), Value(call, "other")})
}
