package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func listedRules(t *testing.T) []Rule {
	t.Helper()
	rules, err := parseRules(listed)
	require.NoError(t, err)
	return rules
}

func TestEveryRuleFindsItsBadExamples(t *testing.T) {
	for _, rule := range listedRules(t) {
		name := rule.pattern.String()
		require.NotEmpty(t, rule.Say, name)
		require.NotEmpty(t, rule.Bad, name)
		for _, bad := range rule.Bad {
			require.NotEmpty(t, found(bad, []Rule{rule}), "%s in %q", name, bad)
		}
		for _, good := range rule.Good {
			require.Empty(t, found(good, []Rule{rule}), "%s in %q", name, good)
		}
	}
}

func TestRulesNeedAPatternAndKnownKeys(t *testing.T) {
	for _, list := range []string{"\tsay: first", "told\n\tsays: notify", "(told"} {
		_, err := parseRules(list)
		require.ErrorContains(t, err, "rules.txt:", list)
	}
}

// found are the texts found in a piece of Markdown, in a file that the first rule holds for.
func found(text string, rules []Rule) []string {
	name := "a.md"
	if len(rules) > 0 && len(rules[0].In) > 0 {
		name = rules[0].In[0] + "/" + name
	}
	var list []string
	for _, block := range markdown(whole(&File{name, text})) {
		for _, finding := range check(block, rules) {
			list = append(list, finding.Text)
		}
	}
	return list
}
