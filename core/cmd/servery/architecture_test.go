package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/servery-hub/servery"

// root is the repository, relative to this package.
const root = "../../.."

// allowedImports lists what each package may import of this module; nothing else is allowed. The first match counts, so
// exceptions come first. A trailing /… includes packages below.
var allowedImports = []struct {
	pkg     string
	imports []string
}{
	{"core/cmd/…", []string{"…"}},
	{"core/internal/hub", []string{"…"}},
	{"core/internal/sandbox", []string{"core", "core/…", "adminui/receiver", "adminui/shell", "plugins/simulator"}},
	{"core/internal/plugintap", []string{"core/pluginhost", "plugins/sdk"}},
	{"core/internal/plugindir", []string{"core", "core/<capability>", "core/internal/postgres",
		"core/internal/postgres/<storage>", "plugins/sdk"}},
	{"core/internal/plugindev", []string{"core", "core/internal/plugindir", "core/internal/plugintap",
		"core/pluginhost", "plugins/plugintest", "plugins/sdk"}},
	{"core/internal/doctor", []string{"core", "core/…", "plugins/sdk"}},
	{"core/internal/listen", []string{"core/webhook", "core/internal/environ", "adminui/ui"}},
	{"core/internal/atomicfile", nil},
	{"core/internal/environ", nil},
	{"core/internal/figures", nil},
	{"core/internal/hostile", nil},
	{"core/internal/requests", nil},
	{"core/internal/hubtest", []string{"core", "core/…", "migrations"}},
	{"core/internal/installtest", []string{"deploy/check/buildtest", "plugins/plugintest", "plugins/sdk"}},
	{"core/internal/postgres/batch", []string{"core"}},
	{"core/internal/postgres/cache", []string{"core"}},
	{"core/internal/postgres/compress", nil},
	{"core/internal/postgres/seal", nil},
	{"core/internal/postgres", []string{"core", "core/internal/postgres/compress",
		"core/internal/postgres/seal"}}, // the kernel
	// and those above, see storage
	{"core/internal/postgres/<storage>", []string{"core", "core/<capability>", "migrations", "core/internal/postgres",
		"core/internal/postgres/batch", "core/internal/postgres/cache", "core/internal/postgres/compress",
		"core/internal/postgres/seal"}},
	{"core/internal/postgres/pgtest", []string{"core", "core/…"}},
	{"core/aggregator", []string{"core", "core/<capability>", "plugins/proto", "plugins/sdk", "plugins/sdk/signature"}},
	{"core/relay", []string{"core", "core/outcome", "core/step", "core/webhook", "plugins/sdk/signature"}},
	{"core/step", []string{"plugins/sdk/placeholder"}},
	{"plugins/sdk/signature", nil},
	{"plugins/sdk/placeholder", nil},
	{"core/internal/devpg", []string{"core"}},
	{"core/internal/eventtest", []string{"core", "core/webhook/catalogue"}},
	{"core/pluginhost", []string{"core", "core/pluginhost/shim", "plugins/proto", "plugins/sdk"}},
	{"core/pluginhost/shim", nil},
	{"core", nil},
	{"core/…", []string{"core"}}, // a capability, and those before it in the list
	{"web", []string{"core", "core/<capability>", "web/body"}},
	{"web/body", []string{"core", "core/<capability>"}},
	{"web/client", nil},
	{"web/client/…", nil},
	{"adminui/…", []string{"core", "core/<capability>", "adminui/…", "web/body"}},
	{"adminui", []string{"core", "core/<capability>", "adminui/…"}},
	{"migrations", nil},
	{"deploy/check/prose", nil},
	{"plugins/…", []string{"plugins/sdk", "plugins/sdk/placeholder", "plugins/sdk/signature", "plugins/proto"}},
	{"deploy/check/buildtest", nil},
}

// capabilities may import those before them in the list.
var capabilities = []string{"retry", "queue", "pluginhost", "store", "menu", "order", "customer", "webhook",
	"webhook/catalogue", "job", "step", "outcome", "relay", "relay/jwks", "credential", "limit", "access",
	"access/oidc", "action", "callback", "poll", "publish", "console", "presence", "checklist", "toggle", "problem",
	"inbound", "aggregator"}

// storage lists the packages with SQL, without the kernel. Each may import those before it in the list.
var storage = []string{"audit", "sweep", "outbox", "jobs", "access", "tasks", "publications", "replicas", "platforms",
	"revisions", "calls", "messages", "polls", "webhooks", "deliveries", "stores", "menus", "aliases", "availability",
	"rejections", "orders", "intake", "followups", "customers", "outcomes", "consolemenus", "consolelists",
	"consoleview", "schema"}

// listedBefore reports whether a capability or storage package may import another one, because that one is listed
// before it.
func listedBefore(pkg, imported string) bool {
	return listedUpTo("core/internal/postgres/", storage, pkg, imported) ||
		listedUpTo("core/", capabilities, pkg, imported)
}

func listedUpTo(folder string, list []string, pkg, imported string) bool {
	name, ours := strings.CutPrefix(pkg, folder)
	other, theirs := strings.CutPrefix(imported, folder)
	return ours && theirs && slices.Contains(list, other) && slices.Index(list, other) < slices.Index(list, name)
}

// libraries lists the only packages that may use a library.
var libraries = map[string][]string{
	// the bench measures the database without our code
	"github.com/uptrace/bun":         {"core/internal/postgres", "core/internal/postgres/…", "core/cmd/servery-bench"},
	"github.com/gofiber/fiber":       {"web", "adminui/…", "adminui", "core/internal/hub", "core/cmd/servery-bench"},
	"github.com/a-h/templ":           {"adminui/…", "adminui"},
	"github.com/hashicorp/go-plugin": {"core/pluginhost", "plugins/…"},
	"google.golang.org/grpc":         {"core/pluginhost", "plugins/…"},
	"github.com/prometheus":          {"core/internal/hub", "core/cmd/servery-bench"},
	"go.opentelemetry.io/otel":       {"core", "core/internal/hub"},
	"github.com/alecthomas/kong":     {"core/cmd/…", "core/internal/environ"},
	"github.com/fergusstrange":       {"core/internal/devpg"},
	"github.com/klauspost/compress":  {"core/internal/postgres/compress"},
	"code.dny.dev/ssrf":              {"core/webhook"},
	"github.com/coreos/go-oidc":      {"core/access/oidc"},
	"golang.org/x/oauth2":            {"core/access/oidc"},
	"github.com/go-jose/go-jose":     {"core/relay/jwks"},
	"github.com/getkin/kin-openapi":  {}, // only in tests
	"github.com/stretchr/testify": {"core/internal/hubtest", "core/internal/installtest", "plugins/plugintest",
		"adminui/internal/…"},
	"github.com/chromedp/chromedp":  {"adminui/internal/…"},
	"github.com/shopspring/decimal": {"core", "core/…"},
	"github.com/santhosh-tekuri":    {"core/internal/eventtest", "plugins/sdk"},
}

func within(pattern, pkg string) bool {
	if before, below := strings.CutSuffix(pattern, "…"); below {
		return strings.HasPrefix(pkg, before)
	}
	if before, named := strings.CutSuffix(pattern, "<storage>"); named {
		rest, found := strings.CutPrefix(pkg, before)
		return found && slices.Contains(storage, rest)
	}
	if before, named := strings.CutSuffix(pattern, "<capability>"); named {
		rest, found := strings.CutPrefix(pkg, before)
		return found && slices.Contains(capabilities, rest)
	}
	return pattern == pkg
}

func allowed(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return within(p, pkg) })
}

type source struct {
	pkg, file string
	parsed    *ast.File
}

var fileSet = token.NewFileSet()

// parsed contains every Go file of the repository, parsed once for all tests.
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
func sources(t *testing.T, visit func(pkg, file string, parsed *ast.File, set *token.FileSet)) {
	t.Helper()
	list, err := parsed()
	require.NoError(t, err)
	for _, s := range list {
		visit(s.pkg, s.file, s.parsed, fileSet)
	}
}

func TestArchitectureAllowsOnlyDeclaredImports(t *testing.T) {
	sources(t, func(pkg, file string, parsed *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		matched := slices.IndexFunc(allowedImports, func(a struct {
			pkg     string
			imports []string
		}) bool {
			return within(a.pkg, pkg)
		})
		if matched < 0 {
			t.Errorf("%s is in no package of allowedImports", file)
			return
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if inside, ours := strings.CutPrefix(imported, module+"/"); ours && inside != pkg &&
				!allowed(allowedImports[matched].imports, inside) && !listedBefore(pkg, inside) {
				t.Errorf("%s: %s must not import %s", file, pkg, inside)
			}
			for library, pkgs := range libraries {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !allowed(pkgs, pkg) {
					t.Errorf("%s: %s must not use %s", file, pkg, library)
				}
			}
		}
	})
}

func TestCodeConventions(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "manager", "models", "impl"}
	sources(t, func(pkg, file string, parsed *ast.File, set *token.FileSet) {
		base := strings.TrimSuffix(path.Base(file), ".go")
		for _, word := range strings.FieldsFunc(base+"/"+path.Base(pkg),
			func(r rune) bool { return r == '_' || r == '/' }) {
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
			if words := testNameWords(function); words > 8 && strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s: %s has %d words; 8 is the limit", file, function.Name.Name, words)
			}
			if count := function.Type.Params.NumFields(); count > 5 && file != "plugins/sdk/interceptor.go" { // gRPC
				t.Errorf("%s: %s has %d parameters; 5 is the limit", file, function.Name.Name, count)
			}
			// A shim must run before other packages are initialized.
			if function.Recv == nil && function.Name.Name == "init" && file != "core/pluginhost/shim/shim_linux.go" {
				t.Errorf("%s has an init function", file)
			}
			if function.Name.IsExported() && function.Doc == nil && !strings.HasSuffix(file, "_test.go") &&
				exportedReceiver(function) {
				t.Errorf("%s: exported %s has no comment", file, function.Name.Name)
			}
		}
	})
}

// wordEnds matches where a word of a name ends: "aB", and "A" before "Bc" or a digit.
var wordEnds = []*regexp.Regexp{
	regexp.MustCompile(`([a-z0-9])([A-Z])`),
	regexp.MustCompile(`([A-Z])([A-Z][a-z]|[0-9])`),
}

// testNameWords counts the words after Test or Fuzz; an acronym is one word. It returns 0 for other functions.
func testNameWords(function *ast.FuncDecl) int {
	name := function.Name.Name
	if function.Recv != nil || !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
		return 0
	}
	name = name[len("Test"):]
	for _, end := range wordEnds {
		name = end.ReplaceAllString(name, "${1}_$2")
	}
	return len(strings.FieldsFunc(name, func(r rune) bool { return r == '_' }))
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

func TestSQLIsKeptInThePostgresPackages(t *testing.T) {
	sources(t, func(pkg, file string, parsed *ast.File, set *token.FileSet) {
		if pkg == "core/internal/postgres" || strings.HasPrefix(pkg, "core/internal/postgres/") ||
			pkg == "core/internal/devpg" || pkg == "core/cmd/servery-bench" || strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			for _, statement := range []string{"SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE "} {
				if strings.HasPrefix(strings.Trim(literal.Value, "`\" \n\t"), statement) {
					t.Errorf("%s: SQL outside core/internal/postgres", set.Position(node.Pos()))
				}
			}
			return true
		})
	})
}
