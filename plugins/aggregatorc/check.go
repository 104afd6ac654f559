package main

import (
	"context"

	"github.com/servery-hub/servery/plugins/sdk"
)

// nutrition lists the values that C requires of an item: one key of each choice.
var nutrition = []sdk.Choice{
	{Rule: "nutrition_additive", Name: "additive",
		Keys: []string{"caffeine_mg", "msg_mg", "polyols_mg", "polydextrose_mg", "artificialsweetener_mg"}},
	{Rule: "nutrition_carbohydrate", Name: "carbohydrate", Keys: []string{"carbohydrate_mg"}},
	{Rule: "nutrition_protein", Name: "protein", Keys: []string{"protein_mg"}},
	{Rule: "nutrition_fat", Name: "fat", Keys: []string{"cholesterol_mg", "saturatedfat_mg", "fat_mg", "transfat_mg"}},
	{Rule: "nutrition_sodium", Name: "sodium", Keys: []string{"sodium_mg"}},
	{Rule: "nutrition_energy", Name: "energy", Keys: []string{"calorie_kcal"}},
}

// CheckItems reports items with incomplete nutritional values.
func (plugin) CheckItems(_ context.Context, call *sdk.Call, items []*sdk.Item) ([]*sdk.Finding, error) {
	s, err := settingsOf(call)
	if err != nil {
		return nil, err
	}
	return sdk.OneOfEach(items, sdk.Nutrition, s.Nutrition == "required", nutrition), nil
}
