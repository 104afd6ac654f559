package menu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPluginsAddTheirGroupsToTheVocabulary(t *testing.T) {
	both := Declaration{Group: "NutritionalInfo", On: OnItem, Platform: "aggregator-c",
		Keys: []Key{{Name: "fat_mg"}, {Name: "zinc_mg"}}}
	v, err := NewVocabulary(append(fakeDeclarations(), both)...)
	require.NoError(t, err)
	rules := Rules{Country: "US", Vocabulary: v}
	_, err = Decode([]byte(keyValue("NutritionalInfo", "zinc_mg", "5")), MasterScope(), rules)
	require.NoError(t, err)
}

func TestContradictoryDeclarationsAreRejected(t *testing.T) {
	for says, d := range map[string]Declaration{
		"already declared for other targets": {Group: "NutritionalInfo", On: OnOption, Keys: []Key{{Name: "fat_mg"}}},
		"already declared with another rule": {Group: "NutritionalInfo", On: OnItem,
			Keys: []Key{{Name: "fat_mg", Rule: AnyText}}},
		`"deposit_charge" is already declared with`: {Group: "Deposit", On: OnItem | OnOption,
			Keys: []Key{{Name: "deposit_charge", Rule: OneOf, Allowed: []string{"1"}}}},
		"group, target and keys are required": {Group: "", On: OnItem, Keys: []Key{{Name: "a"}}},
		`key-value group "Empty" of fake`:     {Group: "Empty", On: OnItem},
		`key "unit" is incomplete`:            {Group: "New", On: OnItem, Keys: []Key{{Name: "unit", Rule: OneOf}}},
	} {
		d.Platform = "fake"
		_, err := NewVocabulary(append(fakeDeclarations(), d)...)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "fake")
	}
}
