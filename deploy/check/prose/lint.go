package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Finding is one place where the prose breaks a rule.
type Finding struct {
	File         string
	Line, Column int
	Text         string // what was found
	Say          string // what to write instead
}

// String is file:line:column: finding and suggestion.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Text, f.Say)
}

// maxWords is how long a sentence may be where its source says nothing else.
const maxWords = 25

// lint lists the findings in all sources.
func lint(root fs.FS, sources []Source, rules []Rule) ([]Finding, error) {
	var list []Finding
	for _, source := range sources {
		blocks, err := source.Blocks(root)
		if err != nil {
			return nil, err
		}
		for _, block := range blocks {
			list = append(list, check(block, rules)...)
		}
	}
	return list, nil
}

// check lists the findings in a block.
func check(block Block, rules []Rule) []Finding {
	var list []Finding
	most := cmp.Or(block.Most, maxWords)
	if block.Style != nil {
		most, rules = block.Style.MaxWords, slices.Concat(rules, block.Style.Rules)
	}
	for _, sentence := range sentences(block.Text) {
		if n := count(sentence.s); n > most && !block.Fragment {
			text := fmt.Sprintf("a sentence of %d words", n)
			list = append(list, sentence.finding(0, text, fmt.Sprintf("split it; %d are the most", most)))
		}
		for _, rule := range rules {
			if !rule.covers(block.file) {
				continue
			}
			for _, at := range rule.find(sentence.s) {
				list = append(list, sentence.finding(at[0], clip(sentence.s[at[0]:at[1]]), rule.Say))
			}
		}
	}
	return list
}

// clip quotes what was found, in a few words.
func clip(text string) string {
	words := strings.Fields(text)
	if len(words) > 6 {
		words = append(words[:6], "…")
	}
	return fmt.Sprintf("%q", strings.Join(words, " "))
}

func (t Text) finding(at int, text, say string) Finding {
	line, column := t.file.position(t.at[at])
	return Finding{t.file.Name, line, column, text, say}
}

var (
	stop         = regexp.MustCompile(`[.!?]["')\]’”]*(\s+|$)`)
	abbreviation = regexp.MustCompile(`(?i)\b(e\.g|i\.e|etc|vs|approx)\.$`)
)

// sentences splits a text into its sentences.
func sentences(text Text) []Text {
	var list []Text
	from := 0
	for _, m := range stop.FindAllStringIndex(text.s, -1) {
		rest := text.s[m[1]:]
		continues := rest != "" && (abbreviation.MatchString(text.s[:m[0]+1]) || rest[0] >= 'a' && rest[0] <= 'z')
		if continues {
			continue
		}
		list = append(list, text.cut(from, m[1]).trim())
		from = m[1]
	}
	if strings.TrimSpace(text.s[from:]) != "" {
		list = append(list, text.cut(from, len(text.s)).trim())
	}
	return list
}

// word has a letter or a digit in it: a dash alone does not count.
var word = regexp.MustCompile(`\S*[\pL\pN]\S*`)

func count(sentence string) int { return len(word.FindAllString(sentence, -1)) }
