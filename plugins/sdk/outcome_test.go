package sdk

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestLaterOutcomesAreChecked(t *testing.T) {
	reported := func(o *ReportedOutcome) proto.Message {
		translation, err := Reported(o)
		require.NoError(t, err)
		return translation
	}
	const done = pb.OutcomeState_OUTCOME_STATE_DONE
	for name, c := range map[string]struct {
		result proto.Message
		wrong  string
	}{
		"pending":       {Pending("T-1", time.Hour), ""},
		"no reference":  {Pending("", 24*time.Hour), ""},
		"no deadline":   {Pending("T-1", 0), "from 1 to 86400"},
		"far deadline":  {Pending("T-1", 25*time.Hour), "from 1 to 86400"},
		"long":          {Pending(strings.Repeat("x", 201), time.Hour), "at most 200 characters"},
		"control":       {Pending("T\n1", time.Hour), "without control characters"},
		"done":          {&PublishOutcome{State: done, Reference: "T"}, "are of a pending outcome"},
		"by task":       {reported(&ReportedOutcome{Reference: "T-1", State: done}), ""},
		"by store":      {reported(&ReportedOutcome{Kind: 1, PlatformStoreId: "9", State: done}), ""},
		"without store": {reported(&ReportedOutcome{Kind: 1, State: done}), "names no task"},
		"without kind":  {reported(&ReportedOutcome{StoreRefId: "s", State: done}), "names no task"},
		"no state":      {reported(&ReportedOutcome{Reference: "T-1"}), "the outcome's state 0 is none"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckResult(nil, c.result)
			if c.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.wrong)
		})
	}
}
