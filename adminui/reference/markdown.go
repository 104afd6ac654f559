package reference

import (
	"html"
	"regexp"
	"strings"

	"github.com/a-h/templ"

	"github.com/servery-hub/servery/adminui/text"
)

// prose renders Markdown: headings, paragraphs, lists, tables, figures, code blocks, inline code and links. It
// escapes everything else, including HTML.
func prose(text string) templ.Component { return templ.Raw(markdown(text)) }

// inlineProse renders one line of Markdown without a paragraph.
func inlineProse(text string) templ.Component { return templ.Raw(inline(text)) }

var (
	codeSpan     = regexp.MustCompile("`([^`]+)`")
	bulletItem   = regexp.MustCompile(`^[-*] +(.*)$`)
	numberedItem = regexp.MustCompile(`^[0-9]+\. +(.*)$`)
	headingLine  = regexp.MustCompile(`^##(#*) +(.*)$`)
	link         = regexp.MustCompile(`\[([^\]]+)\]\(((?:/|#|https://)[^)\s]*)\)`)
)

func inline(text string) string {
	text = codeSpan.ReplaceAllString(html.EscapeString(text), "<code>$1</code>")
	return link.ReplaceAllString(text, `<a href="$2">$1</a>`)
}

// fenced matches a code block: its language and its code.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func outsideFences(text string) string { return fenced.ReplaceAllString(text, "") }

// markdownWriter renders Markdown line by line.
type markdownWriter struct {
	out      strings.Builder
	headings outline
	list     string   // "ul", "ol", or "" outside lists
	lines    []string // of the open paragraph or list item
}

func markdown(source string) string {
	var b markdownWriter
	lines := strings.Split(strings.TrimSpace(source), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \r")
		switch bullet, number := bulletItem.FindStringSubmatch(line), numberedItem.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "```"):
			b.end()
			i = b.fence(lines, i+1)
		case beginsTable(lines[i:]):
			b.end()
			i = b.table(lines, i)
		case figureLine.MatchString(line):
			b.end()
			if drawn := figureLine.FindStringSubmatch(line); !b.figure(drawn[1], drawn[2]) {
				b.lines = []string{line}
			}
		case headingLine.MatchString(line):
			b.end()
			b.out.WriteString(b.headings.next(line).html())
		case bullet != nil:
			b.item("ul", bullet[1])
		case number != nil:
			b.item("ol", number[1])
		case line == "":
			b.flush()
		default:
			if b.list != "" && len(b.lines) == 0 { // a blank line ended the list
				b.end()
			}
			b.lines = append(b.lines, strings.TrimSpace(line))
		}
	}
	b.end()
	return b.out.String()
}

// fence writes the lines up to the closing fence and returns its index.
func (b *markdownWriter) fence(lines []string, from int) int {
	to := from
	for to < len(lines) && !strings.HasPrefix(lines[to], "```") {
		to++
	}
	b.out.WriteString(`<figure class="code code-plain"><pre tabindex="0"><code>`)
	b.out.WriteString(html.EscapeString(strings.Join(lines[from:to], "\n")) + "</code></pre>")
	b.out.WriteString(`<button type="button" class="copy" aria-label="` + text.Copy + `: code">` + text.Copy +
		"</button></figure>")
	return to
}

func (b *markdownWriter) item(list, text string) {
	if b.list != list {
		b.end()
		b.list = list
		b.out.WriteString("<" + list + ">")
	}
	b.flush()
	b.lines = []string{text}
}

// flush writes the open paragraph or list item.
func (b *markdownWriter) flush() {
	if len(b.lines) == 0 {
		return
	}
	name := "p"
	if b.list != "" {
		name = "li"
	}
	b.out.WriteString("<" + name + ">" + inline(strings.Join(b.lines, " ")) + "</" + name + ">")
	b.lines = nil
}

// end closes the open paragraph and list.
func (b *markdownWriter) end() {
	b.flush()
	if b.list != "" {
		b.out.WriteString("</" + b.list + ">")
		b.list = ""
	}
}
