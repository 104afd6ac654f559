package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
)

// GoText is the sentences among the string literals of Go files, as Markdown: those
// with a space in them.
type GoText struct {
	Names  []string
	Dirs   []string // whose files are read too, tests and generated files excepted
	Labels bool     // literals of one word are prose too
	Most   int      // how many words a sentence may have; 0: maxWords
}

// Blocks lists the prose of the literals.
func (g GoText) Blocks(root fs.FS) ([]Block, error) {
	names := g.Names
	for _, dir := range g.Dirs {
		found, err := fs.Glob(root, dir+"/*.go")
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no Go files", dir)
		}
		names = append(names, slices.DeleteFunc(found, func(name string) bool {
			return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go")
		})...)
	}
	var list []Block
	for _, name := range names {
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		blocks, err := g.literals(&File{name, string(content)})
		if err != nil {
			return nil, err
		}
		list = append(list, blocks...)
	}
	return list, nil
}

// literals lists the prose of the literals of a file.
func (g GoText) literals(file *File) ([]Block, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file.Name, file.Content, 0)
	if err != nil {
		return nil, err
	}
	var list []Block
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.KeyValueExpr: // its key is a code
			ast.Inspect(n.Value, visit)
			return false
		}
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := stringText(file, set, e)
		if ok && (g.Labels || strings.Contains(text.s, " ")) {
			for _, block := range markdown(text) {
				block.Most = g.Most
				list = append(list, block)
			}
		}
		return !ok
	}
	ast.Inspect(parsed, visit)
	return list, nil
}

// stringText is the text of a string literal or of several joined by +; false of anything else.
func stringText(file *File, set *token.FileSet, e ast.Expr) (Text, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING || len(e.Value) == len(`""`) {
			return Text{}, false
		}
		text := span(file, set.Position(e.Pos()).Offset+1, set.Position(e.End()).Offset-1)
		if strings.HasPrefix(e.Value, `"`) {
			text = unquoted(text)
		}
		return text, true
	case *ast.BinaryExpr:
		left, ok := stringText(file, set, e.X)
		right, both := stringText(file, set, e.Y)
		if ok && both {
			return Text{file, left.s + right.s, append(left.at, right.at...)}, true
		}
	}
	return Text{}, false
}
