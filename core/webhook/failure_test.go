package webhook

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryErrorClassIsDocumentedOnce(t *testing.T) {
	var declared, documented []string
	file, err := parser.ParseFile(token.NewFileSet(), "webhook.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "ErrorClass" {
			class, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			declared = append(declared, class)
		}
		return true
	})
	for _, failure := range Failures() {
		documented = append(documented, string(failure.Class))
		require.NotEmpty(t, failure.Meaning, failure.Class)
		require.NotEmpty(t, failure.Remedy, failure.Class)
	}
	require.NotEmpty(t, declared)
	require.ElementsMatch(t, declared, documented)
}
