package menu

import (
	"os"
	"testing"
)

func fakeVocabulary(tb testing.TB) *Vocabulary {
	tb.Helper()
	v, err := NewVocabulary(fakeDeclarations()...)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// fakeDeclarations returns declarations like those of plugins.
func fakeDeclarations() []Declaration {
	nutrition := Declaration{Group: "NutritionalInfo", On: OnItem, Platform: "aggregator-a"}
	for _, name := range []string{"caffeine_mg", "msg_mg", "polyols_mg", "polydextrose_mg", "artificialsweetener_mg",
		"carbohydrate_mg", "protein_mg", "cholesterol_mg", "saturatedfat_mg", "fat_mg", "transfat_mg", "sodium_mg",
		"fiber_mg", "calorie_kcal"} {
		nutrition.Keys = append(nutrition.Keys, Key{Name: name})
	}
	return []Declaration{nutrition, {Group: "Additional Info", On: OnItem, Platform: "aggregator-b", Keys: []Key{
		{Name: "accompaniments"}, {Name: "quantity"},
		{Name: "quantity_unit", Rule: OneOf, Allowed: []string{
			"kg", "ounces", "pounds", "pieces", "scoop", "litre", "ml", "gram", "inches", "slices"}},
	}}}
}

func realFile(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile("../../../shared/data/" + name)
	if os.IsNotExist(err) {
		tb.Skip("no " + name + " here")
	}
	if err != nil {
		tb.Fatal(err)
	}
	return body
}
