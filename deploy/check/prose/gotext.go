package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
)

// GoText is the sentences among the string literals of Go files, as Markdown: those
// with a space in them.
type GoText struct{ Names []string }

// Blocks lists the prose of the literals.
func (g GoText) Blocks(root fs.FS) ([]Block, error) {
	var list []Block
	for _, name := range g.Names {
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, name, content, 0)
		if err != nil {
			return nil, err
		}
		file := &File{name, string(content)}
		ast.Inspect(parsed, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := stringText(file, set, e)
			if ok && strings.Contains(text.s, " ") {
				list = append(list, markdown(text)...)
			}
			return !ok
		})
	}
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
