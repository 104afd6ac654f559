package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decoders are the functions that decode bytes from outside.
var decoders = regexp.MustCompile(`^(Decode|Parse)[A-Z]?`)

func TestEveryDecoderIsFuzzed(t *testing.T) {
	found, fuzzed := map[string]bool{}, map[string]bool{} // by package and name
	sources(t, func(pkg, file string, parsed *ast.File, _ *token.FileSet) {
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			switch {
			case !ok || f.Recv != nil:
			case strings.HasSuffix(file, "_test.go") && strings.HasPrefix(f.Name.Name, "Fuzz"):
				ast.Inspect(f, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						fuzzed[pkg+"."+name.Name] = true
					}
					return true
				})
			case decoders.MatchString(f.Name.Name) && readsBytes(f.Type):
				found[pkg+"."+f.Name.Name] = true
			}
		}
	})
	require.Greater(t, len(found), 12)
	for name := range found {
		require.True(t, fuzzed[name], "%s has no fuzz test beside it", name)
	}
}

// readsBytes reports whether a function has a parameter of bytes.
func readsBytes(f *ast.FuncType) bool {
	for _, parameter := range f.Params.List {
		if list, ok := parameter.Type.(*ast.ArrayType); ok && list.Len == nil {
			if element, ok := list.Elt.(*ast.Ident); ok && element.Name == "byte" {
				return true
			}
		}
	}
	return false
}
