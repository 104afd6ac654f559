package problem_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/problem"
)

func TestEveryErrorCodeIsDocumentedOnce(t *testing.T) {
	var declared, documented []string
	for _, file := range parse(t, "..") {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && file.Name.Name == "core" && name(spec.Type) == "Code" {
				code, _ := literal(spec.Values[0])
				declared = append(declared, code)
			}
			return true
		})
	}
	last := 0
	for _, e := range problem.Errors() {
		documented = append(documented, string(e.Code))
		require.GreaterOrEqual(t, e.Status, 400, e.Code)
		require.GreaterOrEqual(t, e.Status, last, "in the order of their statuses")
		last = e.Status
		require.Equal(t, e.Status, problem.Status(e.Code))
		for _, text := range []string{e.Meaning, e.Cause, e.Remedy} {
			require.NotEmpty(t, text, e.Code)
		}
	}
	require.NotEmpty(t, declared)
	require.ElementsMatch(t, declared, documented)
}

func TestEveryViolationCodeInUseIsDocumented(t *testing.T) {
	used := map[string]string{}
	for _, dir := range []string{"..", "../../web"} {
		for path, file := range parse(t, dir) {
			f := finder{t: t, path: path, used: used}
			ast.Inspect(file, f.visit)
		}
	}
	documented := map[string]string{}
	for _, v := range problem.Violations() {
		require.NotContains(t, documented, v.Code, "twice")
		require.NotEmpty(t, v.Meaning, v.Code)
		require.NotEmpty(t, v.Remedy, v.Code)
		documented[v.Code] = v.Meaning
	}
	for code, path := range used {
		require.Contains(t, documented, code, "%s uses it", path)
	}
	for code := range documented {
		require.Contains(t, used, code, "nothing uses it")
	}
}

// parse returns the Go files below a directory, except commands, internal packages and tests.
func parse(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && slices.Contains([]string{"testdata", "cmd", "internal"}, entry.Name()) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0)
		}
		return err
	}))
	return files
}

// finder collects violation codes from syntax trees. A code is an argument of Violations.Add, AddBody or a function
// that takes (code, rule string). It can also be in a RuleError or Violation, or in a variable or result named code
// next to one named rule.
type finder struct {
	t    *testing.T
	path string
	used map[string]string // a file that uses the code, by code
}

// adders maps each function whose last arguments are a code and a rule to its number of arguments.
var adders = map[string]int{"Add": 4, "AddBody": 3, "fail": 3, "invalidField": 3}

func (f finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if count := adders[name(n.Fun)]; count > 0 && len(n.Args) == count {
			f.code(n.Args[count-2])
		}
	case *ast.CompositeLit:
		if kind := name(n.Type); kind == "RuleError" || kind == "Violation" {
			f.composite(n)
		}
	case *ast.FuncDecl:
		f.function(n.Type, n.Body, n.Name.Name)
	case *ast.FuncLit:
		f.function(n.Type, n.Body, "fail")
	}
	return true
}

func (f finder) composite(n *ast.CompositeLit) {
	for i, element := range n.Elts {
		pair, keyed := element.(*ast.KeyValueExpr)
		switch {
		case keyed && name(pair.Key) == "Code":
			f.code(pair.Value)
		case !keyed && i == 0:
			f.code(element)
		}
	}
}

// function records codes that a function returns or assigns. It fails the test if a function takes a code and is not
// in adders.
func (f finder) function(kind *ast.FuncType, body *ast.BlockStmt, called string) {
	if kind.Params != nil && ends(kind.Params) {
		require.Contains(f.t, adders, called, "%s: it takes a code and a rule", f.path)
	}
	returns := kind.Results != nil && ends(kind.Results)
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			if returns && len(n.Results) >= 2 {
				f.code(n.Results[len(n.Results)-2])
			}
		case *ast.AssignStmt:
			if _, ok := literal(n.Rhs[0]); ok && name(n.Lhs[0]) == "code" && len(n.Lhs) == 1 {
				f.code(n.Rhs[0])
			}
		}
		return true
	})
}

// ends reports whether the last fields are code, rule string.
func ends(fields *ast.FieldList) bool {
	var names []string
	for _, field := range fields.List {
		for _, each := range field.Names {
			names = append(names, each.Name)
		}
	}
	return len(names) >= 2 && slices.Equal(names[len(names)-2:], []string{"code", "rule"})
}

// code records a literal. An empty one stands for no violation. Any other expression must be a code that was recorded
// elsewhere.
func (f finder) code(argument ast.Expr) {
	if text, ok := literal(argument); ok {
		if text != "" {
			f.used[text] = f.path
		}
		return
	}
	require.Contains(f.t, []string{"code", "Code"}, name(argument), "%s: a code that this test cannot read", f.path)
}

// name returns the last part of an identifier, such as Add for v.Add.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// literal returns the text of a string literal, and false for any other expression.
func literal(e ast.Expr) (string, bool) {
	if basic, ok := e.(*ast.BasicLit); ok && basic.Kind == token.STRING {
		text, err := strconv.Unquote(basic.Value)
		return text, err == nil
	}
	return "", false
}
