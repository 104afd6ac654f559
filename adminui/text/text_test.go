package text_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// identifiers matches a name in source.
var identifiers = regexp.MustCompile(`\w+`)

func TestEveryTextIsUsed(t *testing.T) {
	uses := map[string]int{}
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		template := strings.HasSuffix(path, ".templ")
		if err != nil || !template && (!strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go")) {
			return err
		}
		source, err := os.ReadFile(path)
		for _, name := range identifiers.FindAllString(string(source), -1) {
			uses[name]++
		}
		return err
	}))
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, declaration := range parsed.Decls {
			constants, ok := declaration.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					declared++
					require.Greater(t, uses[name.Name], 1, "%s: %s is not used", file, name.Name)
				}
			}
		}
	}
	require.Greater(t, declared, 500)
}
