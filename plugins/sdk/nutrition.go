package sdk

import (
	"fmt"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Nutrition is the key-value group of an item's nutritional values, which
// several aggregators ask for.
const Nutrition = "NutritionalInfo"

// nutritionKeys are all keys of the group, in the order in which they are
// shown (spec, Key-value groups).
var nutritionKeys = []struct{ name, label, unit string }{
	{"calorie_kcal", "Energy", "kcal"}, {"fat_mg", "Fat", "mg"}, {"saturatedfat_mg", "Saturated fat", "mg"},
	{"transfat_mg", "Trans fat", "mg"}, {"cholesterol_mg", "Cholesterol", "mg"},
	{"carbohydrate_mg", "Carbohydrate", "mg"},
	{"fiber_mg", "Fiber", "mg"}, {"protein_mg", "Protein", "mg"}, {"sodium_mg", "Sodium", "mg"},
	{"caffeine_mg", "Caffeine", "mg"},
	{"msg_mg", "MSG", "mg"}, {"polyols_mg", "Polyols", "mg"}, {"polydextrose_mg", "Polydextrose", "mg"},
	{"artificialsweetener_mg", "Artificial sweetener", "mg"},
}

// NutritionalInfo declares the group with all its keys, so that a merchant may
// send them whichever plugins are installed.
func NutritionalInfo() *pb.VocabularyGroup {
	group := &pb.VocabularyGroup{Group: Nutrition, OnItem: true}
	for _, key := range nutritionKeys {
		group.Keys = append(group.Keys,
			&pb.VocabularyKey{Name: key.name, Rule: pb.ValueRule_VALUE_RULE_WHOLE_NUMBER, Unit: key.unit})
	}
	return group
}

// NutritionText lists an item's nutritional values in words, such as
// "Energy 250 kcal, Fat 900 mg"; "" when it has none.
func NutritionText(item *Item) string {
	values, _ := Values(item.GetKeyValueGroups(), Nutrition)
	var parts []string
	for _, key := range nutritionKeys {
		if value := values[key.name]; value != "" {
			parts = append(parts, key.label+" "+value+" "+key.unit)
		}
	}
	return strings.Join(parts, ", ")
}

// Values are the values of one key-value group; false when it is not there.
func Values(groups []*pb.KeyValueGroup, name string) (map[string]string, bool) {
	for _, group := range groups {
		if group.GetGroup() == name {
			values := make(map[string]string, len(group.GetKeyValueData()))
			for _, pair := range group.GetKeyValueData() {
				values[pair.GetKey()] = pair.GetValue()
			}
			return values, true
		}
	}
	return nil, false
}

// Choice is a set of keys of which an item needs at least one.
type Choice struct {
	Rule string // of the finding
	Name string // for people
	Keys []string
}

// OneOfEach finds the items of which a key-value group lacks a key of a choice.
// Items without the group are left alone unless it is required.
func OneOfEach(items []*Item, group string, required bool, choices []Choice) (findings []*Finding) {
	for _, item := range items {
		values, present := Values(item.GetKeyValueGroups(), group)
		if !present && !required {
			continue
		}
		for _, choice := range choices {
			if !anyOf(values, choice.Keys) {
				findings = append(findings, &Finding{RefId: item.GetRefId(), Rule: choice.Rule,
					Message: fmt.Sprintf("%s: %s needs %s", group, choice.Name, oneOf(choice.Keys))})
			}
		}
	}
	return findings
}

func anyOf(values map[string]string, keys []string) bool {
	for _, key := range keys {
		if values[key] != "" {
			return true
		}
	}
	return false
}

func oneOf(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	return "one of " + strings.Join(keys, ", ")
}
