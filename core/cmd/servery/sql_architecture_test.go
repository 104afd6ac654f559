package main

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
)

// longestSQL is the maximum length of a statement in Go. Longer ones are in .sql files.
const longestSQL = 300

var isSQL = regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|JOIN|CASE WHEN|ORDER BY)\s`)

func TestSQLLiteralsInGoAreShort(t *testing.T) {
	sources(t, func(pkg, file string, parsed *ast.File, set *token.FileSet) {
		if strings.HasSuffix(file, "_test.go") || ast.IsGenerated(parsed) {
			return
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			expression, ok := node.(ast.Expr)
			if !ok {
				return true
			}
			text, isText := joinedText(expression)
			if isText && len(text) > longestSQL && isSQL.MatchString(text) {
				t.Errorf("%s: SQL of %d characters; %d is the limit, longer statements are .sql files",
					set.Position(node.Pos()), len(text), longestSQL)
			}
			return !isText
		})
	})
}

// joinedText returns the text of a string literal, or of the literals of a concatenation.
func joinedText(expression ast.Expr) (text string, isText bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, one := joinedText(e.X)
		right, other := joinedText(e.Y)
		return left + right, e.Op == token.ADD && (one || other)
	case *ast.ParenExpr:
		return joinedText(e.X)
	}
	return "", false
}

// Each call names an existing statement and passes exactly its arguments, and each statement is used.
func TestSQLFilesMatchTheirCalls(t *testing.T) {
	const kernel = "core/internal/postgres"
	loaded, called := map[string]postgres.Queries{}, map[string]bool{}
	included := includedQueries(t, kernel)
	sources(t, func(pkg, file string, parsed *ast.File, set *token.FileSet) {
		if pkg != kernel && path.Dir(pkg) != kernel || strings.HasSuffix(file, "_test.go") {
			return
		}
		if loaded[pkg] == nil {
			queries, err := postgres.LoadQueries(os.DirFS(path.Join(root, pkg)), outbox.Parts())
			require.NoError(t, err)
			loaded[pkg] = queries
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			name, args := queryUse(node)
			if name == "" {
				return true
			}
			called[pkg+" "+name] = true
			query := loaded[pkg][name]
			if query == nil {
				t.Errorf("%s: there is no statement %s", set.Position(node.Pos()), name)
				return true
			}
			if variable, ok := args.(*ast.Ident); ok && variable.Name != "nil" {
				return true // checked at the call
			}
			if _, computed := args.(*ast.CallExpr); computed {
				return true // checked when the statement runs
			}
			got, want := argumentNames(args), slices.Sorted(slices.Values(query.Names()))
			if !slices.Equal(got, want) {
				t.Errorf("%s: statement %s has the arguments %q, not %q", set.Position(node.Pos()), name, want, got)
			}
			return true
		})
	})
	for pkg, queries := range loaded {
		for name := range queries {
			if !called[pkg+" "+name] && !included[name] {
				t.Errorf("%s: nothing uses the statement %s", pkg, name)
			}
		}
	}
	require.Greater(t, len(called), 100)
}

// includedQueries returns the names of the statements that others include.
func includedQueries(t *testing.T, kernel string) map[string]bool {
	files, err := filepath.Glob(filepath.Join(root, kernel, "*", "*.sql"))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range inclusion.FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
		}
	}
	return names
}

var inclusion = regexp.MustCompile(`-- include: (\w+)`)

// queryUse returns the name and arguments of a statement that an expression uses: a call or a postgres.Statement.
func queryUse(node ast.Node) (name string, args ast.Expr) {
	switch node := node.(type) {
	case *ast.CallExpr:
		return queryCall(node)
	case *ast.CompositeLit:
		fields := map[string]ast.Expr{}
		for _, element := range node.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok {
					fields[key.Name] = pair.Value
				}
			}
		}
		return queryName(fields["Query"]), fields["Args"]
	}
	return "", nil
}

// queryName returns the name in queries.Get(name), or "".
func queryName(e ast.Expr) (name string) {
	if get, ok := e.(*ast.CallExpr); ok && len(get.Args) == 1 {
		name, _ = joinedText(get.Args[0])
	}
	return name
}

// queryCall returns the name and arguments of queries.With(name, args) and of
// db.Prepare(ctx, conn, queries.Get(name), args). For a method of queries.Get(name), it returns the call as arguments.
func queryCall(call *ast.CallExpr) (name string, args ast.Expr) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	switch {
	case method.Sel.Name == "With" && len(call.Args) == 2:
		if on, ok := method.X.(*ast.Ident); ok && on.Name == "queries" {
			name, _ = joinedText(call.Args[0])
			return name, call.Args[1]
		}
	case method.Sel.Name == "Prepare" && len(call.Args) == 4:
		if name = queryName(call.Args[2]); name != "" {
			return name, call.Args[3]
		}
	case method.Sel.Name == "Fill" || method.Sel.Name == "Text":
		return queryName(method.X), call
	}
	return "", nil
}

// argumentNames returns the keys of a literal of postgres.Args, sorted.
func argumentNames(args ast.Expr) (names []string) {
	literal, ok := args.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			name, _ := joinedText(pair.Key)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
