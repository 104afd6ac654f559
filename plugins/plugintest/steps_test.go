package plugintest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/plugintest"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// severalSteps plans these steps for a rider's status, and with located also for a rider's location.
type severalSteps struct {
	compliant
	located bool
	steps   []*sdk.Step
}

func (p severalSteps) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.Steps(p.steps...))
}

func (p severalSteps) PlanRiderLocation(context.Context, *pb.RiderLocationRequest) (*sdk.Decision, error) {
	if p.located {
		return sdk.Send(sdk.Steps(p.steps...))
	}
	return sdk.Skip("not supported")
}

func TestBrokenStepsAreFound(t *testing.T) {
	create := func() *sdk.Step {
		step := sdk.JSONStep("create", "POST", "api", "/riders", nil)
		sdk.TakeValue(step, "id", "/id")
		return step
	}
	change := sdk.JSONStep("change", "PUT", "api", "/riders/{create.id}", nil)
	list := sdk.GetStep("list", "api", "/riders")
	list.Pages = &pb.Pages{CursorPointer: "/next"}
	many := func() (steps []*sdk.Step) {
		for n := range sdk.LongPlan + 1 {
			steps = append(steps, sdk.GetStep(fmt.Sprint("s", n), "api", "/riders"))
		}
		return steps
	}
	for name, c := range map[string]struct {
		plugin severalSteps
		says   string
	}{
		"valid":              {severalSteps{steps: []*sdk.Step{create(), change}}, ""},
		"unknown value":      {severalSteps{steps: []*sdk.Step{change}}, "no earlier step takes {create.id}"},
		"value of later one": {severalSteps{steps: []*sdk.Step{change, create()}}, "no earlier step takes {create.id}"},
		"equal names":        {severalSteps{steps: []*sdk.Step{create(), create()}}, `(name "create"): the name`},
		"incomplete pages":   {severalSteps{steps: []*sdk.Step{list}}, "pages: cursor_query: must name a parameter"},
		"a long plan":        {severalSteps{steps: sdk.LongSteps(60, many()...).Steps}, ""},
		"a long plan that cannot continue": {severalSteps{steps: many()},
			`steps[0] (name "s0"): reuse_seconds: is required in a plan with more than 10 steps`},
		"several requests for a location": {severalSteps{located: true, steps: []*sdk.Step{create(), change}},
			"the plan of a rider's location must be one request"},
	} {
		t.Run(name, func(t *testing.T) {
			const check = "answers are complete, and plans name what is declared"
			found := failures(t, c.plugin, plugintest.Options{}.Only(check))[check]
			require.Equal(t, c.says == "", found == "", found)
			require.Contains(t, found, c.says)
		})
	}
}
