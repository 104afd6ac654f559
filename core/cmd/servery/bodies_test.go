package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// unboundedReads are the methods of fiber and fasthttp that read or decompress a body without a limit.
var unboundedReads = []string{
	"FormValue", "FormFile", "MultipartForm", "BodyParser", "BodyRaw", "PostArgs", "SaveFile", "RequestBodyStream",
	"BodyStream",
	"BodyGunzip", "BodyInflate", "BodyUnbrotli", "BodyUncompressed", "BodyWriteTo",
}

// Only package web/body may read request bodies.
func TestOnlyTheBodyPackageReadsRequestBodies(t *testing.T) {
	sources(t, func(pkg, file string, parsed *ast.File, set *token.FileSet) {
		serves := pkg == "web" || pkg == "core/cmd/servery" || pkg == "adminui" ||
			strings.HasPrefix(pkg, "adminui/")
		if !serves || strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok && slices.Contains(unboundedReads, selector.Sel.Name) {
				t.Errorf("%s: %s reads a body without a bound; package web/body reads bodies",
					set.Position(selector.Pos()), selector.Sel.Name)
			}
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) > 0 {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Body" &&
				slices.Contains([]string{"Request", "c", "Context"}, name(selector.X)) {
				t.Errorf("%s: Body reads a body without a bound; package web/body reads bodies",
					set.Position(call.Pos()))
			}
			return true
		})
	})
}

// name returns the name of a variable, or the last name of a selector.
func name(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.CallExpr:
		return name(x.Fun)
	}
	return ""
}
