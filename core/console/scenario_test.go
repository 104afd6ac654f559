package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

func TestScenariosAreBounded(t *testing.T) {
	for _, valid := range []console.Scenario{
		{Kind: "order", Store: "S-1", Count: 1}, {Kind: "cancel", Store: "S-1", Count: 500, Rate: 200,
			CancelShare: 0.5},
		{Kind: "rush", Store: "S-1", Count: 12000, Rate: 200}, {Kind: "rush", Store: "S-1", Count: 30, Rate: 0.5},
		{Kind: "rider", Store: "S-1", Count: 3, Locations: 5, Step: 6 * time.Second},
		{Kind: "edit", Store: "S-1", Count: 500},
	} {
		require.NoError(t, valid.Check(), valid)
	}
	for message, invalid := range map[string]console.Scenario{
		"kind must be":                 {Kind: "riot", Store: "S-1", Count: 1},
		"store is required":            {Kind: "order", Count: 1},
		"orders must be from 1 to 500": {Kind: "rider", Store: "S-1", Count: 501},
		"orders must be from 1 to 60":  {Kind: "rush", Store: "S-1", Count: 61, Rate: 1},
		"at most 100 percent":          {Kind: "cancel", Store: "S-1", Count: 1, CancelShare: 1.5},
		"each rider sends must be":     {Kind: "rider", Store: "S-1", Count: 1, Locations: 501},
		"between two moves must be":    {Kind: "rider", Store: "S-1", Count: 1, Locations: 5, Step: 7 * time.Second},
		"above 0 for a rush":           {Kind: "rush", Store: "S-1", Count: 1},
		"from 0 to 200":                {Kind: "order", Store: "S-1", Count: 1, Rate: 201},
	} {
		err := invalid.Check()
		require.ErrorContains(t, err, message)
		require.Equal(t, core.Invalid, core.CodeOf(err))
	}
}
