package reference

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// SearchPath is the path of the search results, which work without JavaScript.
const SearchPath = Path + "/search"

// entry is a search target: a page, a heading, an operation or an error code.
type entry struct {
	Title  string `json:"t"`
	Within string `json:"c,omitzero"` // page and section
	URL    string `json:"u"`
	Method string `json:"m,omitzero"` // of an operation
	Words  string `json:"w"`          // distinct words of the text, in lower case
}

// searchable is an entry with its texts in lower case. A space begins and ends each word.
type searchable struct {
	entry
	title, within, text string
}

// searchables prepares entries for find.
func searchables(entries []entry) []searchable {
	list := make([]searchable, len(entries))
	for i, e := range entries {
		title := wordPattern.FindAllString(strings.ToLower(e.Title), -1)
		list[i] = searchable{entry: e, title: " " + strings.Join(title, " ") + " ", within: strings.ToLower(e.Within),
			text: " " + e.Words + " "}
	}
	return list
}

// maxResults limits the results of a query.
const maxResults = 50

// maxTerms limits the distinct words of a query that count.
const maxTerms = 10

// wordPattern matches a word. A name such as ref_id is one word.
var wordPattern = regexp.MustCompile(`[\pL\pN_]+`)

// stopWords are not indexed.
var stopWords = strings.Fields(`a about all also an and any are as at be but by can do does each every for from has have
how if in into is it its no not of on one only or other that the them then there these they this to too was were what
when where which who with you your`)

// words returns the distinct words of texts, sorted, without stop words.
func words(texts ...string) string {
	list := wordPattern.FindAllString(strings.ToLower(strings.Join(texts, " ")), -1)
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list),
		func(w string) bool { return len(w) < 2 || slices.Contains(stopWords, w) })
	return strings.Join(list, " ")
}

// entries returns the guide and its headings, each with the words of its section.
func (g guide) entries() []entry {
	if g.name == errorsPageName {
		list := []entry{{Title: g.title, URL: g.path(), Words: words(errorsIntro)}}
		for _, t := range errorTables() {
			list = append(list, t.entries(g)...)
		}
		return list
	}
	list := []entry{{Title: g.title, URL: g.path()}}
	var o outline
	var section strings.Builder
	end := func() {
		list[len(list)-1].Words = words(section.String())
		section.Reset()
	}
	for _, line := range strings.Split(outsideFences(g.text), "\n") {
		if headingLine.MatchString(line) {
			end()
			h := o.next(line)
			list = append(list, entry{Title: plainText(h.text), Within: g.title, URL: g.path() + "#" + h.id})
			continue
		}
		section.WriteString(plainText(line) + "\n")
	}
	end()
	return list
}

// entries returns the chapters and operations of the reference.
func (v *view) entries() []entry {
	list := []entry{{Title: v.title + " reference", URL: Path, Words: words(v.summary, v.intro)}}
	within := "API reference"
	for _, c := range slices.Concat(v.guides, v.groups) {
		text := outsideFences(c.text)
		list = append(list, entry{Title: c.title, Within: within, URL: Path + "#" + c.id, Words: words(text)})
		for _, o := range c.operations {
			texts := []string{o.path, o.id, o.description}
			for _, t := range o.tables {
				for _, f := range t.fields {
					texts = append(texts, f.name)
				}
			}
			list = append(list, entry{Title: o.summary, Within: within + " › " + c.title, URL: Path + "#" + o.id,
				Method: o.method, Words: words(texts...)})
		}
	}
	return list
}

// terms returns the distinct words of a query, up to maxTerms.
func terms(query string) (list []string) {
	for _, word := range wordPattern.FindAllString(strings.ToLower(query), -1) {
		if len(list) < maxTerms && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// find returns the entries that contain every word of the query, best first. adminui/assets/js/search.js must rank
// in the same way.
func find(entries []searchable, query string) []entry {
	type hit struct {
		entry
		score int
	}
	var hits []hit
	terms := terms(query)
	for _, e := range entries {
		sum := 0
		for _, term := range terms {
			score := e.score(term)
			if score == 0 {
				sum = 0
				break
			}
			sum += score
		}
		if sum > 0 {
			hits = append(hits, hit{e.entry, sum})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var list []entry
	for _, h := range hits[:min(len(hits), maxResults)] {
		list = append(list, h.entry)
	}
	return list
}

// score returns how well a word matches the entry; 0: not at all.
func (e searchable) score(term string) int {
	page := 0 // rank a page above its sections
	if e.Within == "" {
		page = 1
	}
	switch {
	case strings.Contains(e.title, " "+term+" "):
		return 8 + page
	case strings.Contains(e.title, " "+term):
		return 5 + page
	case strings.Contains(e.within, term):
		return 3
	case strings.Contains(e.text, " "+term+" "):
		return 2
	case strings.Contains(e.text, " "+term):
		return 1
	}
	return 0
}
