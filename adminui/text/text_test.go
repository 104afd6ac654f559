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

// selected matches a text that another package uses.
var selected = regexp.MustCompile(`\btext\.(\w+)`)

// usedElsewhere returns the texts that other packages and their templates use.
func usedElsewhere(t *testing.T) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		generated := strings.HasSuffix(path, "_templ.go") || strings.HasSuffix(path, "_test.go")
		if err != nil || generated || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".templ") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range selected.FindAllStringSubmatch(string(source), -1) {
			used[match[1]] = true
		}
		return err
	}))
	return used
}

func TestEveryTextIsUsed(t *testing.T) {
	used := usedElsewhere(t)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared := map[string]string{} // files by name
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		declares := map[*ast.Ident]bool{}
		ast.Inspect(parsed, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.GenDecl:
				for _, spec := range node.Specs {
					if value, ok := spec.(*ast.ValueSpec); ok && node.Tok == token.CONST {
						for _, name := range value.Names {
							declares[name], declared[name.Name] = true, file
						}
					}
				}
			case *ast.Ident:
				used[node.Name] = used[node.Name] || !declares[node]
			}
			return true
		})
	}
	for name, file := range declared {
		require.True(t, used[name], "%s: %s is not used", file, name)
	}
	require.Greater(t, len(declared), 500)
}
