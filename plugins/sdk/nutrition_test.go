package sdk

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestMissingNutritionKeysCauseFindings(t *testing.T) {
	keys := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		subset := rapid.SliceOfDistinct(rapid.SampledFrom(keys), rapid.ID[string])
		item, has := &Item{RefId: "dal"}, subset.Draw(t, "has")
		grouped, required := rapid.Bool().Draw(t, "grouped"), rapid.Bool().Draw(t, "required")
		if grouped {
			group := &pb.KeyValueGroup{Group: "G"}
			for _, key := range has {
				group.KeyValueData = append(group.KeyValueData, &pb.KeyValue{Key: key, Value: "1"})
			}
			item.KeyValueGroups = []*pb.KeyValueGroup{{Group: "H",
				KeyValueData: []*pb.KeyValue{{Key: "a", Value: "1"}}}, group}
		}
		choices := []Choice{{Rule: "first", Keys: []string{"a"}}, {Rule: "second", Keys: []string{"b", "c"}},
			{Rule: "third", Keys: keys}}
		var expected, found []string
		for _, choice := range choices {
			lacks := !grouped || !slices.ContainsFunc(choice.Keys,
				func(key string) bool { return slices.Contains(has, key) })
			if lacks && (grouped || required) {
				expected = append(expected, choice.Rule)
			}
		}
		for _, finding := range OneOfEach([]*Item{item}, "G", required, choices) {
			require.Equal(t, "dal", finding.GetRefId())
			found = append(found, finding.GetRule())
		}
		require.Equal(t, expected, found)
	})
}

func TestNutritionTextListsPresentValues(t *testing.T) {
	item := &Item{KeyValueGroups: []*pb.KeyValueGroup{{Group: Nutrition, KeyValueData: []*pb.KeyValue{
		{Key: "sodium_mg", Value: "600"}, {Key: "calorie_kcal", Value: "250"}}}}}
	require.Equal(t, "Energy 250 kcal, Sodium 600 mg", NutritionText(item))
	require.Empty(t, NutritionText(&Item{}))
	require.Len(t, NutritionalInfo().GetKeys(), 14)
}
