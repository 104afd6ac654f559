package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/servery-hub/servery"

// root is the repository, seen from this package.
const root = "../../.."

// arrows says what a room may import of this module; what is not listed is
// forbidden. The first that matches counts, so special rooms come first; a trailing /… takes in what lies below.
var arrows = []struct {
	room    string
	imports []string
}{
	{"core/cmd/…", []string{"…"}},
	{"core/internal/hubtest", []string{"core", "core/…", "migrations"}},
	{"core/internal/postgres", []string{"core", "core/<capability>", "migrations"}},
	{"core/internal/devpg", nil},
	{"core/internal/eventtest", []string{"core", "core/webhook/catalogue"}},
	{"core/pluginhost", []string{"core", "plugins/proto", "plugins/sdk"}},
	{"core", nil},
	{"core/…", []string{"core"}}, // a capability
	{"web", []string{"core", "core/<capability>", "web/body"}},
	{"web/body", []string{"core", "core/<capability>"}},
	{"web/client", nil},
	{"web/client/…", nil},
	{"adminui/…", []string{"core", "core/<capability>", "adminui/…", "web/body"}},
	{"adminui", []string{"core", "core/<capability>", "adminui/…"}},
	{"migrations", nil},
	{"deploy/check/prose", nil},
	{"plugins/…", []string{"plugins/sdk", "plugins/proto"}},
	{"deploy/check/buildtest", nil},
	{"deploy/check/gotest", nil},
}

var capabilities = []string{"store", "menu", "order", "webhook", "webhook/catalogue", "action", "job", "relay", "limit", "access", "access/oidc", "console", "pluginhost", "publish", "presence", "checklist", "toggle", "problem", "inbound"}

// libraries says in which rooms alone a library may be used.
var libraries = map[string][]string{
	"github.com/uptrace/bun":         {"core/internal/postgres", "core/cmd/servery-bench"}, // the bench measures floors beneath our own code
	"github.com/gofiber/fiber":       {"web", "adminui/…", "adminui", "core/cmd/…"},
	"github.com/a-h/templ":           {"adminui/…", "adminui"},
	"github.com/hashicorp/go-plugin": {"core/pluginhost", "plugins/…"},
	"google.golang.org/grpc":         {"core/pluginhost", "plugins/…"},
	"github.com/prometheus":          {"core/cmd/…"},
	"go.opentelemetry.io/otel":       {"core", "core/cmd/…"},
	"github.com/alecthomas/kong":     {"core/cmd/…"},
	"github.com/fergusstrange":       {"core/internal/devpg"},
	"github.com/klauspost/compress":  {"core/internal/postgres"},
	"code.dny.dev/ssrf":              {"core/webhook"},
	"github.com/coreos/go-oidc":      {"core/access/oidc"},
	"golang.org/x/oauth2":            {"core/access/oidc"},
	"github.com/getkin/kin-openapi":  {}, // tests alone
	"github.com/stretchr/testify":    {"core/internal/hubtest", "plugins/plugintest", "adminui/internal/…"},
	"github.com/chromedp/chromedp":   {"adminui/internal/…"},
	"github.com/shopspring/decimal":  {"core", "core/…"},
	"github.com/santhosh-tekuri":     {"core/internal/eventtest", "plugins/sdk"},
}

func within(pattern, room string) bool {
	if before, below := strings.CutSuffix(pattern, "…"); below {
		return strings.HasPrefix(room, before)
	}
	if before, named := strings.CutSuffix(pattern, "<capability>"); named {
		rest, found := strings.CutPrefix(room, before)
		return found && slices.Contains(capabilities, rest)
	}
	return pattern == room
}

func allowed(patterns []string, room string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return within(p, room) })
}

type source struct {
	room, file string
	parsed     *ast.File
}

var fileSet = token.NewFileSet()

// parsed is every Go file of the repository, read once for all tests.
var parsed = sync.OnceValues(func() (list []source, err error) {
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		tree, err := parser.ParseFile(fileSet, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		list = append(list, source{path.Dir(filepath.ToSlash(relative)), filepath.ToSlash(relative), tree})
		return err
	})
	return list, err
})

// sources calls visit for every Go file of the repository.
func sources(t *testing.T, visit func(room, file string, parsed *ast.File, set *token.FileSet)) {
	t.Helper()
	list, err := parsed()
	require.NoError(t, err)
	for _, s := range list {
		visit(s.room, s.file, s.parsed, fileSet)
	}
}

func TestArchitecture(t *testing.T) {
	sources(t, func(room, file string, parsed *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		matched := slices.IndexFunc(arrows, func(a struct {
			room    string
			imports []string
		}) bool {
			return within(a.room, room)
		})
		if matched < 0 {
			t.Errorf("%s is in no room of the house", file)
			return
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if inside, ours := strings.CutPrefix(imported, module+"/"); ours && inside != room && !allowed(arrows[matched].imports, inside) {
				t.Errorf("%s: %s must not import %s", file, room, inside)
			}
			for library, rooms := range libraries {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !allowed(rooms, room) {
					t.Errorf("%s: %s must not use %s", file, room, library)
				}
			}
		}
	})
}

func TestHabitsOfTheCode(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "manager", "models", "impl"}
	sources(t, func(room, file string, parsed *ast.File, set *token.FileSet) {
		base := strings.TrimSuffix(path.Base(file), ".go")
		for _, word := range strings.FieldsFunc(base+"/"+path.Base(room), func(r rune) bool { return r == '_' || r == '/' }) {
			if slices.Contains(forbidden, word) {
				t.Errorf("%s: %q is no name of the field", file, word)
			}
		}
		if ast.IsGenerated(parsed) {
			return
		}
		if lines := set.File(parsed.Pos()).LineCount(); lines > 600 {
			t.Errorf("%s has %d lines; 600 is the limit", file, lines)
		}
		for _, declaration := range parsed.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			length := set.Position(function.End()).Line - set.Position(function.Pos()).Line
			if length > 100 && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s: %s has %d lines; 100 is the limit", file, function.Name.Name, length)
			}
			if function.Recv == nil && function.Name.Name == "init" {
				t.Errorf("%s has an init function", file)
			}
			if function.Name.IsExported() && function.Doc == nil && !strings.HasSuffix(file, "_test.go") && exportedReceiver(function) {
				t.Errorf("%s: exported %s has no comment", file, function.Name.Name)
			}
		}
	})
}

func exportedReceiver(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	receiver := function.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}

func TestSQLIsKeptToItsRoom(t *testing.T) {
	sources(t, func(room, file string, parsed *ast.File, set *token.FileSet) {
		if room == "core/internal/postgres" || room == "core/internal/devpg" || room == "core/cmd/servery-bench" || strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			for _, statement := range []string{"SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE "} {
				if strings.HasPrefix(strings.Trim(literal.Value, "`\" \n\t"), statement) {
					t.Errorf("%s: SQL outside its room", set.Position(node.Pos()))
				}
			}
			return true
		})
	})
}
