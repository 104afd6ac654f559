package postgres_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// ofAll are the changes that are the engines' own, of whatever business, by file and table.
var ofAll = map[string]string{
	"clock.go delivery_queue":             "moves with the clock",
	"clock.go call_lines":                 "moves with the clock",
	"clock.go publications":               "moves with the clock",
	"clock.go job_queue":                  "moves with the clock",
	"clock.go unwell_endpoints":           "moves with the clock",
	"clock.go throttles":                  "counts anew when the clock is set",
	"console_counts.go attempt_counts":    "goes by its age",
	"riders_places.go call_lines":         "goes by its age",
	"delivery_lines.go unwell_endpoints":  "goes by its age",
	"delivery_health.go unwell_endpoints": "goes by the endpoints of attempts",
	"publish_claim.go publications":       "goes by its lease",
	"console_users.go user_grants":        "goes by its user, whom admins alone change",
}

var changes = regexp.MustCompile(`\b(?:UPDATE|DELETE FROM)\s+([a-z_]+)`)

// A change is made as the owner of the tables, whom no policy binds: so the text of
// every one must name the business. What is joined to a statement in the same function counts.
func TestEveryChangeOfWhatABusinessOwnsNamesTheBusiness(t *testing.T) {
	tables := hubtest.Database(t, nil).Tenants(t)
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	found, used := 0, map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		for _, statement := range statements(file) {
			for _, match := range changes.FindAllStringSubmatch(statement.text, -1) {
				if _, owned := tables[match[1]]; !owned {
					continue
				}
				found++
				key := "business_id"
				if match[1] == "businesses" {
					key = " id = "
				}
				if place := name + " " + match[1]; ofAll[place] != "" {
					used[place] = true
				} else if !strings.Contains(statement.text, key) {
					t.Errorf("%s: a change of %s does not name its business", set.Position(statement.at), match[1])
				}
			}
		}
	}
	require.Greater(t, found, 60)
	require.Len(t, used, len(ofAll), "exceptions that are none any more")
}

type statement struct {
	at   token.Pos
	text string
}

// statements are the texts of a file that change rows, each with what is joined to it
// and, by their names, with texts that are given elsewhere in the file.
func statements(file *ast.File) (list []statement) {
	named := map[string]string{}
	var text func(e ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
				return s
			}
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		case *ast.Ident:
			return named[e.Name]
		}
		return ""
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				named[n.Names[i].Name] += text(value)
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if name, ok := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok {
					named[name.Name] += text(value)
				}
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		switch e.(type) {
		case *ast.BasicLit, *ast.BinaryExpr:
			if s := text(e); changes.MatchString(s) {
				list = append(list, statement{e.Pos(), s})
			}
			return false
		}
		return true
	})
	return list
}
