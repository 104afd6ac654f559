package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// GoMessages is the texts that a Go program shows outside of pages: the help of
// flags and commands, error messages and log messages. Tests and generated files
// are left out.
type GoMessages struct{ Dirs []string }

// Style is what texts of one kind follow beside the rules for all prose.
type Style struct {
	MaxWords int // in a sentence
	Rules    []Rule
}

var (
	helpStyle = &Style{20, []Rule{
		{pattern: regexp.MustCompile(`^[a-z]\w*`), Say: "begin with a capital letter"},
		{pattern: regexp.MustCompile(`\S*[^.]$`), Say: "end with a period"},
		{pattern: regexp.MustCompile(`;`), Say: "two sentences"},
	}}
	errorStyle = &Style{20, []Rule{
		{pattern: regexp.MustCompile(`\S*\.$`), Say: "one sentence without a period"},
		{pattern: regexp.MustCompile(`;`), Say: "one sentence; the remedy may follow a colon"},
	}}
	logStyle = &Style{12, []Rule{
		{pattern: regexp.MustCompile(`^[A-Z][a-z]*\b`), Say: "begin in lower case"},
		{pattern: regexp.MustCompile(`[;:,]`), Say: "the event alone; facts are attributes"},
		{pattern: regexp.MustCompile(`\S*\.$`), Say: "no period"},
		{pattern: regexp.MustCompile(`^(an?|the|it) `), Say: "begin with the thing, without an article"},
	}}
)

// Blocks lists the messages.
func (g GoMessages) Blocks(root fs.FS) ([]Block, error) {
	var list []Block
	for _, dir := range g.Dirs {
		err := walk(root, dir, []string{"*.go"}, func(file *File) error {
			if strings.HasSuffix(file.Name, "_test.go") || strings.Contains(file.Content, "// Code generated ") {
				return nil
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file.Name, file.Content, 0)
			if err != nil {
				return err
			}
			m := messages{file: file, set: set}
			ast.Inspect(parsed, m.visit)
			list = append(list, m.blocks...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// messages gathers the messages of one file.
type messages struct {
	file   *File
	set    *token.FileSet
	blocks []Block
}

func (m *messages) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Field:
		m.help(n.Tag)
	case *ast.CallExpr:
		m.call(n)
	case *ast.CompositeLit:
		if slices.Contains([]string{"Error", "RuleError", "Violation"}, lastName(n.Type)) {
			m.add(errorStyle, n.Elts...)
		}
	case *ast.ReturnStmt:
		for i, result := range n.Results {
			if i > 0 && isCode(n.Results[i-1]) {
				m.add(errorStyle, result)
			}
		}
	}
	return true
}

var helpTag = regexp.MustCompile(`\bhelp:"((?:[^"\\]|\\.)*)"`)

// help adds the help of a field that kong makes a flag or a command of.
func (m *messages) help(tag *ast.BasicLit) {
	if tag == nil {
		return
	}
	from := m.set.Position(tag.Pos()).Offset
	if at := helpTag.FindStringSubmatchIndex(tag.Value); at != nil {
		m.block(helpStyle, unquoted(span(m.file, from+at[2], from+at[3])))
	}
}

// errorCalls are the functions that take an error message, with the index of its first argument that can be one:
// those of core, errors and fmt, and those that add a violation or a finding.
var errorCalls = map[string]int{"Errorf": 0, "New": 0, "NoSuch": 2, "AddBody": 2, "Add": 2, "fail": 2,
	"invalidField": 2}

// logMethods are those of slog.Logger.
var logMethods = []string{"Debug", "Info", "Warn", "Error", "Log", "LogAttrs",
	"DebugContext", "InfoContext", "WarnContext", "ErrorContext"}

// call adds the messages among the arguments of a call.
func (m *messages) call(n *ast.CallExpr) {
	name := lastName(n.Fun)
	if on, method := n.Fun.(*ast.SelectorExpr); method && slices.Contains(logMethods, name) {
		if receiver := strings.ToLower(lastName(on.X)); strings.HasSuffix(receiver, "log") || receiver == "logger" {
			at := slices.IndexFunc(n.Args, func(e ast.Expr) bool { _, ok := m.text(e); return ok })
			if at >= 0 {
				m.add(logStyle, n.Args[at])
			}
			return
		}
	}
	if from, found := errorCalls[name]; found && from < len(n.Args) {
		m.add(errorStyle, n.Args[from:]...)
	}
}

// lastName is the last part of an identifier: Errorf of core.Errorf.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// isCode reports whether an expression is a literal of one word, such as the code of a violation.
func isCode(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && regexp.MustCompile(`^"[a-z_]+"$`).MatchString(literal.Value)
}

// add adds those expressions that are a text of several words.
func (m *messages) add(style *Style, list ...ast.Expr) {
	for _, e := range list {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if text, ok := m.text(e); ok && strings.Contains(strings.TrimSpace(text.s), " ") {
			m.block(style, text)
		}
	}
}

// verb is a verb of package fmt.
var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[\d.]*[a-zA-Z]`)

// block adds a text, with a code word for each verb.
func (m *messages) block(style *Style, text Text) {
	plain, last := Text{file: m.file}, 0
	for _, at := range verb.FindAllStringIndex(text.s, -1) {
		plain = plain.append(text.cut(last, at[0])).append(text.cut(at[0], at[1]).replace(codeWord))
		last = at[1]
	}
	plain = inline(plain.append(text.cut(last, len(text.s)))).trim()
	m.blocks = append(m.blocks, Block{Text: plain, Style: style})
}

// text is the text of a string literal, of a format, or of several of them and other values joined by +, which
// become a code word. It is false where there is no literal.
func (m *messages) text(e ast.Expr) (Text, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return stringText(m.file, m.set, e)
	case *ast.ParenExpr:
		return m.text(e.X)
	case *ast.CallExpr:
		if lastName(e.Fun) == "Sprintf" && len(e.Args) > 0 {
			return m.text(e.Args[0])
		}
	case *ast.BinaryExpr:
		left, isLeft := m.text(e.X)
		right, isRight := m.text(e.Y)
		if e.Op != token.ADD || !isLeft && !isRight {
			return Text{}, false
		}
		if at := m.set.Position(e.OpPos).Offset; !isLeft {
			left = span(m.file, at, at+1).replace(codeWord)
		} else if !isRight {
			right = span(m.file, at, at+1).replace(codeWord)
		}
		return left.append(right), true
	}
	return Text{}, false
}
