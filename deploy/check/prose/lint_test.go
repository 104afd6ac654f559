package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// marked is one rule: it finds a word that no test would otherwise contain.
const marked = "wrongword\n\tsay: rightword\n\tbad: A wrongword."

func TestMarkdownCodeIsIgnored(t *testing.T) {
	rules, err := parseRules(marked)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		text  string
		count int
	}{
		"paragraph":               {"One wrongword here.", 1},
		"over a line end":         {"One\nwrongword", 1},
		"heading":                 {"## A wrongword", 1},
		"list item":               {"- a\n- wrongword\n  wrongword", 2},
		"item after blank line":   {"1. a\n\n   wrongword", 1},
		"nested item":             {"- a\n\n    - wrongword", 1},
		"block quote":             {"> wrongword", 1},
		"table cell":              {"| a | b |\n|---|---|\n| `x|y` | wrongword |", 1},
		"emphasis":                {"A **wrongword** and *wrongword*.", 2},
		"text of a link":          {"[the wrongword `code`](/docs/x)", 1},
		"text of an image":        {"![wrongword](a.png)", 1},
		"other letter case":       {"Wrongword", 1},
		"inside an HTML element":  {"A <b>wrongword</b>", 1},
		"code span":               {"`wrongword` and ``a ` wrongword``", 0},
		"fence":                   {"a\n```sh\nwrongword\n```\nb", 0},
		"fence in an item":        {"- a\n\n  ~~~\n  wrongword\n  ~~~", 0},
		"indented code":           {"a\n\n    wrongword\n\n    wrongword\n\nb", 0},
		"indented code in item":   {"- a\n\n      wrongword", 0},
		"target of a link":        {"[a](/wrongword) [b][wrongword]", 0},
		"definition of a link":    {"[a]: https://example.com/wrongword", 0},
		"URL":                     {"See https://example.com/wrongword.", 0},
		"comment":                 {"<!-- wrongword\n\nwrongword -->", 0},
		"picture":                 {"<picture>\n<img alt=\"wrongword\">\n</picture>\n", 0},
		"part of a word":          {"wrongwords", 0},
		"unclosed fence at start": {"```\nwrongword", 0},
	} {
		require.Len(t, found(c.text, rules), c.count, name)
	}
}

func TestSentencesOverTheLimitAreFound(t *testing.T) {
	long := strings.Repeat("word ", maxWords) + "word"
	for name, c := range map[string]struct {
		text  string
		count int
	}{
		"over the limit":        {long + ".", 1},
		"at the limit":          {long[5:] + ".", 0},
		"two short ones":        {long[60:] + ". W" + long[60:] + ".", 0},
		"no stop in a version":  {"Version 1.2 " + long + ".", 1},
		"no stop in e.g.":       {"The e.g. " + long[10:] + ".", 1},
		"a code span is a word": {strings.Repeat("`a b c` ", maxWords), 0},
		"a dash is no word":     {long[5:] + " – –.", 0},
		"items are sentences":   {"- " + long[60:] + "\n- " + long[60:], 0},
		"headings may be long":  {"# " + long, 0},
		"cells may be long":     {"| " + long + " |", 0},
	} {
		require.Len(t, found(c.text, nil), c.count, name)
	}
}

func TestUnlessAllowsLongerPhrases(t *testing.T) {
	rules, err := parseRules("refused\n\tsay: rejected\n\tunless: connection (was )?refused")
	require.NoError(t, err)
	require.Empty(t, found("The connection was refused.", rules))
	require.Len(t, found("A request was refused, as the connection refused.", rules), 1)
}

func TestFindingsNameLineAndColumn(t *testing.T) {
	rules, err := parseRules(marked)
	require.NoError(t, err)
	root := fstest.MapFS{
		"README.md":            {Data: []byte("é `code` wrongword\n\n- [a](b)\n  wrongword\n")},
		"testdata/README.md":   {Data: []byte("wrongword")},
		".hidden/README.md":    {Data: []byte("wrongword")},
		".github/SECURITY.md":  {Data: []byte("wrongword")},
		"guides/first-sync.md": {Data: []byte("| a |\n|---|\n| wrongword |\n")},
		"api.yaml": {Data: []byte(
			"info:\n  description: |\n    One.\n\n    A wrongword.\n\n    ```\n    wrongword\n    ```\n" +
				"x:\n  description: a wrongword\n  summary: \"wrongword\\tX\"\n  example: {description: wrongword}\n" +
				"  examples: {a: {summary: wrongword, value: {title: wrongword}}}\n  properties:\n    title: {type: " +
				"wrongword}\n")},
		"events/a.schema.json": {Data: []byte(
			"{\"title\": \"a\",\n \"properties\": {\"description\": {\"const\": \"wrongword\",\n" +
				"  \"description\": \"\\\"a\\\" wrongword\"}}, \"anyOf\": [{\"description\": \"wrongword\"}]}")},
	}
	root["a.go"] = &fstest.MapFile{Data: []byte(
		"package a\n\n// wrongword\nvar a = f(\"One \" +\n\t\"wrongword.\", 'a', 1, \"\", \"wrongword\", `The\n " +
			"wrongword`)\n")}
	findings, err := lint(root, []Source{
		Markdown{Names: []string{"README.md", "SECURITY.md"}}, Markdown{Dir: "guides", Names: []string{"*.md"}},
		OpenAPI{"api.yaml"}, Schemas{"events"},
		GoText{Names: []string{"a.go"}},
	}, rules)
	require.NoError(t, err)
	var lines []string
	for _, f := range findings {
		lines = append(lines, f.String())
	}
	const said = `: "wrongword": rightword`
	require.Equal(t, []string{
		".github/SECURITY.md:1:1" + said, "README.md:1:10" + said, "README.md:4:3" + said,
		"guides/first-sync.md:3:3" + said,
		"api.yaml:5:7" + said, "api.yaml:11:18" + said, "api.yaml:12:13" + said, "api.yaml:14:27" + said,
		"events/a.schema.json:3:25" + said, "events/a.schema.json:3:66" + said,
		"a.go:5:3" + said, "a.go:6:2" + said,
	}, lines)
}

func TestConsoleTextsHaveShorterSentencesAndLabels(t *testing.T) {
	rules, err := parseRules("@in console\n" + marked)
	require.NoError(t, err)
	long := strings.Repeat("word ", consoleWords)
	root := fstest.MapFS{
		"console/a.go": {Data: []byte("package a\n\nimport \"wrongword\"\n\nvar a = []string{\"wrongword\",\n\t\"" +
			long + "\" +\n\t\t\"word.\", \"" + long + "\", \"%s wrongword\"}\n")},
		"console/a_test.go":  {Data: []byte("package a\n\nvar b = \"wrongword\"\n")},
		"console/a_templ.go": {Data: []byte("package a\n\nvar c = \"wrongword\"\n")},
		"console/keys.go":    {Data: []byte("package a\n\nvar d = map[string]string{\"wrongword\": \"right\"}\n")},
		"other/a.go":         {Data: []byte("package a\n\nvar a = \"The wrongword \" + \"" + long + "\"\n")},
	}
	findings, err := lint(root, []Source{
		GoText{Dirs: []string{"console"}, Labels: true, Most: consoleWords}, GoText{Dirs: []string{"other"}},
	}, rules)
	require.NoError(t, err)
	var lines []string
	for _, f := range findings {
		lines = append(lines, f.String())
	}
	require.Equal(t, []string{
		`console/a.go:5:19: "wrongword": rightword`,
		"console/a.go:6:3: a sentence of 21 words: split it; 20 are the most",
		`console/a.go:7:120: "wrongword": rightword`,
	}, lines)
}

func TestAMissingSourceIsAnError(t *testing.T) {
	_, err := lint(fstest.MapFS{}, []Source{GoText{Dirs: []string{"console"}}}, nil)
	require.ErrorContains(t, err, "console has no Go files")
	_, err = lint(fstest.MapFS{}, []Source{OpenAPI{"web/openapi.yaml"}}, nil)
	require.ErrorContains(t, err, "web/openapi.yaml")
}
