package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
)

// Comments is the comments of Go and SQL files, those of tests included. Generated files are left out.
type Comments struct{ Dirs []string }

// Blocks lists the paragraphs of the comments.
func (c Comments) Blocks(root fs.FS) ([]Block, error) {
	var list []Block
	for _, dir := range c.Dirs {
		err := walk(root, dir, []string{"*.go", "*.sql"}, func(file *File) error {
			if strings.HasSuffix(file.Name, ".sql") {
				list = append(list, paragraphs(lineComments(whole(file), "--"))...)
				return nil
			}
			blocks, err := goComments(file)
			list = append(list, blocks...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// goComments lists the paragraphs of the comments of a Go file.
func goComments(file *File) ([]Block, error) {
	if strings.Contains(file.Content, "// Code generated ") {
		return nil, nil
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file.Name, file.Content, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var list []Block
	for _, group := range parsed.Comments {
		text := span(file, set.Position(group.Pos()).Offset, set.Position(group.End()).Offset)
		if strings.HasPrefix(text.s, "/*") {
			text = text.cut(len("/*"), len(text.s)-len("*/"))
			list = append(list, paragraphs(text.lines())...)
			continue
		}
		list = append(list, paragraphs(lineComments(text, "//"))...)
	}
	return append(list, misnamed(file, set, parsed)...), nil
}

// lineComments lists what follows the marker in each line of a text that is a comment as a whole, and an empty text for
// every other line.
func lineComments(text Text, marker string) []Text {
	var list []Text
	for _, line := range text.lines() {
		line = line.trim()
		if strings.HasPrefix(line.s, marker) {
			list = append(list, line.cut(len(marker), len(line.s)))
		} else {
			list = append(list, line.cut(0, 0))
		}
	}
	return list
}

// notProse is a line of a comment that is a directive, code, or the name of a statement.
var notProse = regexp.MustCompile(`^(\S|\t|  )|^ (name:|prepare:|-{3,}|\+)`)

// bullet begins an item of a list in a comment, which may be indented.
var bullet = regexp.MustCompile(`^\s*([-*•]|\d+[.)])\s+`)

// paragraphs joins lines to paragraphs. An empty line, a directive or code ends one, and an item of a list is one.
func paragraphs(lines []Text) []Block {
	var list []Block
	var open Text
	end := func() {
		if strings.TrimSpace(open.s) != "" {
			list = append(list, Block{Text: inline(open).trim()})
		}
		open = Text{}
	}
	for _, line := range lines {
		mark := bullet.FindString(line.s)
		switch {
		case mark != "":
			end()
			open = line.cut(len(mark), len(line.s))
		case strings.TrimSpace(line.s) == "" || notProse.MatchString(line.s):
			end()
		default:
			open = open.join(line.trim())
		}
	}
	end()
	return list
}

// nameStyle is for a comment that does not begin with the name it documents.
var nameStyle = &Style{1000, []Rule{
	{pattern: regexp.MustCompile(`^\S+`), Say: "begin with the name that the comment documents"},
}}

// misnamed lists the comments of exported declarations that do not begin with their name.
func misnamed(file *File, set *token.FileSet, parsed *ast.File) []Block {
	if strings.HasSuffix(file.Name, "_test.go") {
		return nil
	}
	var list []Block
	check := func(doc *ast.CommentGroup, name string) {
		if doc == nil || !ast.IsExported(name) {
			return
		}
		text := strings.TrimSpace(doc.Text())
		begins := regexp.MustCompile(`^((A|An|The) )?` + name + `\b`)
		if text == "" || begins.MatchString(text) || strings.HasPrefix(text, "Deprecated:") {
			return
		}
		from := set.Position(doc.Pos()).Offset
		first := span(file, from+len("//"), from+strings.IndexByte(file.Content[from:]+"\n", '\n'))
		list = append(list, Block{Text: first.trim(), Style: nameStyle, Fragment: true})
	}
	for _, decl := range parsed.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					check(t.Doc, t.Name.Name)
					if len(d.Specs) == 1 && t.Doc == nil {
						check(d.Doc, t.Name.Name)
					}
				}
			}
		}
	}
	return list
}
