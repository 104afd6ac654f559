package storetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Console reads of one business must use row-level security. No method that takes one business
// may query as the hub's own role.
func TestConsoleReadsUseRowLevelSecurity(t *testing.T) {
	files, err := filepath.Glob("../console*/*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			method, ok := d.(*ast.FuncDecl)
			if !ok || !ofOneBusiness(method) {
				continue
			}
			found++
			ast.Inspect(method.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Bun" {
					t.Errorf("%s: %s queries as the hub; it must use db.Tenant(business)", set.Position(s.Pos()),
						method.Name.Name)
				}
				return true
			})
		}
	}
	require.Greater(t, found, 25)
}

// ofOneBusiness reports whether a method takes a business id.
func ofOneBusiness(method *ast.FuncDecl) bool {
	for _, field := range method.Type.Params.List {
		if of, ok := field.Type.(*ast.SelectorExpr); ok && of.Sel.Name == "BusinessID" {
			return true
		}
	}
	return false
}
