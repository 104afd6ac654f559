package main

import (
	"regexp"
	"strings"
)

// Block is one paragraph, list item, heading or table cell.
type Block struct {
	Text
	Fragment bool   // a heading or a table cell: its length is not limited
	Most     int    // how many words a sentence of it may have; 0: maxWords
	Style    *Style // nil for a paragraph
}

var (
	fence      = regexp.MustCompile("^ *(```+|~~~+)")
	item       = regexp.MustCompile(`^( *)([-*+]|[0-9]+[.)]) +`)
	title      = regexp.MustCompile(`^#{1,6} +`)
	quote      = regexp.MustCompile(`^ {0,3}> ?`)
	definition = regexp.MustCompile(`^ {0,3}\[[^\]]+\]: `)
	htmlBlock  = regexp.MustCompile(`^ {0,3}<(/?[a-zA-Z]|!--)`)
	rule       = regexp.MustCompile(`^ {0,3}([-*_=] *){3,}$`)
)

// codeIndent is how far a line of an indented code block stands from its margin.
const codeIndent = 4

// reader reads Markdown line by line.
type reader struct {
	blocks []Block
	open   Text // the paragraph or the item being read
	margin int  // of the list item that is open; 0 outside lists
	blank  bool // the line before was blank
	code   bool // inside an indented code block
}

// markdown lists the blocks of prose in a text; code, HTML and link targets are not among them.
func markdown(text Text) []Block {
	r := reader{blank: true}
	lines := text.lines()
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case fence.MatchString(line.s):
			r.end()
			i = closing(lines, i, fence.FindStringSubmatch(line.s)[1])
		case strings.TrimSpace(line.s) == "":
			r.end()
			r.blank = true
			continue
		case htmlBlock.MatchString(line.s) && r.open.s == "":
			i = htmlEnd(lines, i)
		default:
			r.line(line)
		}
		r.blank = false
	}
	r.end()
	return r.blocks
}

// closing is the line on which a fenced block ends.
func closing(lines []Text, from int, mark string) int {
	for i := from + 1; i < len(lines); i++ {
		if strings.HasPrefix(strings.TrimSpace(lines[i].s), mark) {
			return i
		}
	}
	return len(lines)
}

// htmlEnd is the last line of a block of HTML: that of its comment's end, else the one before a blank line.
func htmlEnd(lines []Text, from int) int {
	comment := strings.HasPrefix(strings.TrimSpace(lines[from].s), "<!--")
	for i := from; i < len(lines); i++ {
		if comment && strings.Contains(lines[i].s, "-->") {
			return i
		}
		if !comment && strings.TrimSpace(lines[i].s) == "" {
			return i - 1
		}
	}
	return len(lines)
}

// line adds text that is neither blank, fenced nor HTML.
func (r *reader) line(line Text) {
	indent := len(line.s) - len(strings.TrimLeft(line.s, " "))
	if r.blank || r.code {
		if indent < r.margin {
			r.margin = 0
		}
		marked := item.MatchString(line.s) && r.margin > 0
		if r.code = indent >= r.margin+codeIndent && !marked; r.code {
			return
		}
	}
	if found := quote.FindString(line.s); found != "" {
		line = line.cut(len(found), len(line.s))
	}
	switch found := item.FindString(line.s); {
	case rule.MatchString(line.s), definition.MatchString(line.s):
		r.end()
	case title.MatchString(line.s):
		r.end()
		r.margin = 0
		r.add(line.cut(len(title.FindString(line.s)), len(line.s)), true)
	case strings.HasPrefix(strings.TrimSpace(line.s), "|"):
		r.end()
		r.cells(line.trim())
	case found != "":
		r.end()
		r.margin = len(found)
		r.open = line.cut(len(found), len(line.s)).trim()
	default:
		r.open = r.open.join(line.trim())
	}
}

// cells adds the cells of a table row. A bar in a code span or after a backslash is no border.
func (r *reader) cells(row Text) {
	from, inCode := 0, false
	for i := 0; i <= len(row.s); i++ {
		border := i == len(row.s) || row.s[i] == '|' && !inCode && (i == 0 || row.s[i-1] != '\\')
		if i < len(row.s) && row.s[i] == '`' {
			inCode = !inCode
		}
		if !border {
			continue
		}
		if cell := row.cut(from, i).trim(); strings.Trim(cell.s, "-: ") != "" {
			r.add(cell, true)
		}
		from = i + 1
	}
}

// end closes the paragraph or the item.
func (r *reader) end() {
	r.add(r.open, false)
	r.open, r.code = Text{}, false
}

func (r *reader) add(text Text, fragment bool) {
	if text = inline(text); strings.TrimSpace(text.s) != "" {
		r.blocks = append(r.blocks, Block{Text: text, Fragment: fragment})
	}
}

// codeWord is written for a code span or a URL: one word that no rule but one that names it matches.
const codeWord = "CODE"

// markup is what stands inside a paragraph beside words. The second group is a
// link's or an image's own text, which is prose.
var markup = regexp.MustCompile("(``+.+?``+|`[^`]+`|<?https?://[^\\s<>)\\]]*[^\\s<>)\\].,;:]>?)" +
	`|!?\[((?:[^\[\]` + "`" + `]|` + "`[^`]*`" + `)*)\](?:\([^)]*\)|\[[^\]]*\])` +
	`|</?[a-zA-Z!][^<>]*>|\*+`)

// inline drops the markup inside a paragraph.
func inline(text Text) Text {
	out, last := Text{file: text.file}, 0
	add := func(t Text) { out = out.append(t) }
	for _, m := range markup.FindAllStringSubmatchIndex(text.s, -1) {
		add(text.cut(last, m[0]))
		switch last = m[1]; {
		case m[2] >= 0:
			add(text.cut(m[2], m[3]).replace(codeWord))
		case m[4] >= 0:
			add(inline(text.cut(m[4], m[5])))
		}
	}
	add(text.cut(last, len(text.s)))
	return out
}
