package storetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
)

// ofAll lists the statements of the engines that change rows of all businesses, by file or
// named statement, and by table.
var ofAll = map[string]string{
	"move_deliveries delivery_queue":               "moves with the clock",
	"move_calls call_queue":                        "moves with the clock",
	"move_publications publications":               "moves with the clock",
	"move_outcomes calls":                          "moves with the clock",
	"move_tasks outcome_tasks":                     "moves with the clock",
	"move_jobs job_queue":                          "moves with the clock",
	"move_probes endpoint_circuits":                "moves with the clock",
	"count_step throttles":                         "restarts when the clock is set",
	"consoleview/counts.go attempt_counts":         "selects by age",
	"orders/riders_locations.go call_queue":        "selects by age",
	"outbox/ordering.go endpoint_circuits":         "selects by age",
	"deliveries/health.go endpoint_circuits":       "selects by the endpoints of attempts",
	"deliveries/update_circuits endpoint_circuits": "selects by the endpoints of attempts",
	"access/users.go user_grants":                  "selects by user; only admins change users",
	"followups/drop_late pending_follow_ups":       "selects by age",
	"calls/trim_faults plugin_faults":              "bounds the faults of a plugin",
	"calls/trim_set_aside plugin_set_aside":        "bounds the requests of a plugin",
}

var changes = regexp.MustCompile(`\b(?:UPDATE|DELETE FROM)\s+([a-z_]+)`)

// Writes run as the owner of the tables, which row-level security does not restrict. So each
// statement must name the business. Text joined to it in the same function counts.
func TestEveryTenantWriteNamesItsBusiness(t *testing.T) {
	tables := tenantTables(t, hubtest.Database(t, nil))
	found, used := 0, map[string]bool{}
	check := func(source, position, text string) {
		for _, match := range changes.FindAllStringSubmatch(text, -1) {
			if _, owned := tables[match[1]]; !owned {
				continue
			}
			found++
			key := "business_id"
			if match[1] == "businesses" {
				key = " id = "
			}
			if exception := strings.TrimPrefix(source, "../") + " " + match[1]; ofAll[exception] != "" {
				used[exception] = true
			} else if !strings.Contains(text, key) {
				t.Errorf("%s: a change of %s does not name its business", position, match[1])
			}
		}
	}
	directories := []string{".."}
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "pgtest" {
			directories = append(directories, filepath.Join("..", entry.Name()))
		}
	}
	for _, directory := range directories {
		queries, err := postgres.LoadQueries(os.DirFS(directory), outbox.Parts())
		require.NoError(t, err)
		for name, query := range queries {
			path := filepath.Join(directory, name)
			check(path, path, query.Text())
		}
		names, err := filepath.Glob(filepath.Join(directory, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			require.NoError(t, err)
			for _, statement := range statements(file) {
				check(name, set.Position(statement.at).String(), statement.text)
			}
		}
	}
	require.Greater(t, found, 100)
	require.Len(t, used, len(ofAll), "unused exceptions")
}

type statement struct {
	at   token.Pos
	text string
}

// statements returns the statements of a file that change rows. Each includes the text joined
// to it, also named text from elsewhere in the file.
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
