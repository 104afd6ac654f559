package main

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Rule is one pattern of words that the prose does not use.
type Rule struct {
	pattern *regexp.Regexp
	unless  *regexp.Regexp // a longer phrase around the match that is right; nil where there is none
	In      []string       // directories that it holds for; none: everywhere
	Say     string         // what to write instead
	Bad     []string       // sentences that the rule finds something in
	Good    []string       // sentences that it finds nothing in
}

//go:embed rules.txt
var listed string

// parseRules reads the list of rules; rules.txt says how it is written.
func parseRules(list string) ([]Rule, error) {
	var rules []Rule
	var scope []string
	for i, line := range strings.Split(list, "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "@in "):
			scope = strings.Fields(line)[1:]
		case !strings.HasPrefix(line, "\t"):
			rules = append(rules, Rule{In: scope})
			rules[len(rules)-1].pattern, err = words(line)
		case len(rules) == 0:
			err = errors.New("a pattern comes first")
		default:
			err = rules[len(rules)-1].set(key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("rules.txt:%d: %w", i+1, err)
		}
	}
	return rules, nil
}

func (r *Rule) set(key, value string) (err error) {
	switch key {
	case "say":
		r.Say = value
	case "unless":
		r.unless, err = words(value)
	case "bad":
		r.Bad = append(r.Bad, value)
	case "good":
		r.Good = append(r.Good, value)
	default:
		err = fmt.Errorf("%q is unknown, must be one of say, unless, bad, good", key)
	}
	return err
}

// words compiles a pattern: whole words, in any letter case, any white space between them.
func words(pattern string) (*regexp.Regexp, error) {
	pattern = strings.ReplaceAll(strings.TrimSpace(pattern), " ", `\s+`)
	return regexp.Compile(`(?i)\b(?:` + pattern + `)(?:\b|$)`)
}

// covers reports whether the rule holds for a file.
func (r *Rule) covers(file *File) bool {
	in := func(dir string) bool { return strings.HasPrefix(file.Name, dir+"/") }
	return len(r.In) == 0 || slices.ContainsFunc(r.In, in)
}

// find lists where the rule matches in a sentence.
func (r *Rule) find(sentence string) [][]int {
	var right [][]int
	if r.unless != nil {
		right = r.unless.FindAllStringIndex(sentence, -1)
	}
	var found [][]int
	for _, at := range r.pattern.FindAllStringIndex(sentence, -1) {
		excused := false
		for _, around := range right {
			excused = excused || around[0] <= at[0] && at[1] <= around[1]
		}
		if !excused {
			found = append(found, at)
		}
	}
	return found
}
