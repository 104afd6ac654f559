package sdk

import (
	"fmt"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Nutrition is the key-value group of an item's nutritional values. Several aggregators require it.
const Nutrition = "NutritionalInfo"

// nutritionKeys are the keys of the group, in display order.
var nutritionKeys = []struct{ name, label, unit string }{
	{"calorie_kcal", "Energy", "kcal"}, {"fat_mg", "Fat", "mg"}, {"saturatedfat_mg", "Saturated fat", "mg"},
	{"transfat_mg", "Trans fat", "mg"}, {"cholesterol_mg", "Cholesterol", "mg"},
	{"carbohydrate_mg", "Carbohydrate", "mg"},
	{"fiber_mg", "Fiber", "mg"}, {"protein_mg", "Protein", "mg"}, {"sodium_mg", "Sodium", "mg"},
	{"caffeine_mg", "Caffeine", "mg"},
	{"msg_mg", "MSG", "mg"}, {"polyols_mg", "Polyols", "mg"}, {"polydextrose_mg", "Polydextrose", "mg"},
	{"artificialsweetener_mg", "Artificial sweetener", "mg"},
}

// NutritionalInfo returns the declaration of the group with all keys, so that merchants can send them with any set of
// plugins.
func NutritionalInfo() *pb.VocabularyGroup {
	group := &pb.VocabularyGroup{Group: Nutrition, OnItem: true}
	for _, key := range nutritionKeys {
		group.Keys = append(group.Keys,
			&pb.VocabularyKey{Name: key.name, Rule: pb.ValueRule_VALUE_RULE_WHOLE_NUMBER, Unit: key.unit})
	}
	return group
}

// NutritionText returns an item's nutritional values as text, such as "Energy 250 kcal, Fat 900 mg", or "" if it has
// none.
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

// Values returns the values of a key-value group by key, or false if the group is missing.
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

// Choice is a set of keys. An item needs at least one of them.
type Choice struct {
	Rule string // rule of the finding
	Name string // name in the message
	Keys []string
}

// OneOfEach returns a finding for each item and choice whose key-value group has none of the choice's keys. Items
// without the group are skipped unless it is required.
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
