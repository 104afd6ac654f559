package main

import (
	"context"

	"github.com/servery-hub/servery/plugins/sdk"
)

// nutrition lists the values that A requires of an item: one key of each choice.
var nutrition = []sdk.Choice{
	{Rule: "nutrition_fat", Name: "fat", Keys: []string{"fat_mg"}},
	{Rule: "nutrition_protein", Name: "protein", Keys: []string{"protein_mg"}},
	{Rule: "nutrition_energy", Name: "energy", Keys: []string{"calorie_kcal"}},
	{Rule: "nutrition_fiber", Name: "fiber", Keys: []string{"fiber_mg"}},
}

// CheckItems reports items with incomplete nutritional values.
func (plugin) CheckItems(_ context.Context, call *sdk.Call, items []*sdk.Item) ([]*sdk.Finding, error) {
	var s settings
	if err := sdk.ReadSettings(call, &s); err != nil {
		return nil, err
	}
	return sdk.OneOfEach(items, sdk.Nutrition, s.Nutrition == "required", nutrition), nil
}
