// Package scaffold creates the skeleton of a plugin: a Go module with rules, tests and golden files that pass.
package scaffold

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/servery-hub/servery/plugins/sdk"
)

// HubModule is the path of the hub's Go module, which contains the SDK.
const HubModule = "github.com/servery-hub/servery"

//go:embed all:template
var template embed.FS

// Options configures a skeleton.
type Options struct {
	Dir     string // must be empty or missing
	ID      string // plugin id
	Module  string // path of its Go module
	Source  string // checkout of the hub, used instead of a release; "" to use Version
	Version string // of the hub's module, such as v1.2.3

	InRepository bool // it is a package of the hub's module, and needs no other fields than Dir and ID
}

// WithDefaults fills in the missing fields, and returns the commands to run in the directory. Within a checkout of the
// hub, the plugin belongs to the hub's module, unless a module, a checkout or a version is set.
func (p Options) WithDefaults() (completed Options, next string) {
	if here := findCheckout(".", true); p.Dir == "" && here != "" {
		p.Dir = filepath.Join(here, "plugins", p.ID)
	}
	p.Dir = cmp.Or(p.Dir, p.ID)
	if repository := findCheckout(p.Dir, true); repository != "" && p.Module+p.Source+p.Version == "" {
		p.InRepository = true
		return p, "go test ./... && make -C " + repository + " build"
	}
	p.Module = cmp.Or(p.Module, "example.com/"+p.ID)
	if p.Source == "" && p.Version == "" {
		p.Source, p.Version = DefaultSource(), ReleasedVersion()
	}
	if p.Source == "" {
		return p, "go mod tidy && go test ./..."
	}
	return p, "go test ./..."
}

// Write creates the module and returns the paths of its files below the directory.
func Write(p Options) ([]string, error) {
	if !sdk.IsID(p.ID) {
		return nil, fmt.Errorf("the name %q must be lower-case letters, digits and hyphens, at most 64", p.ID)
	}
	if entries, err := os.ReadDir(p.Dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s already exists and is not empty", p.Dir)
	}
	files := map[string]string{}
	if !p.InRepository {
		module, sums, err := p.goMod()
		if err != nil {
			return nil, err
		}
		if files["go.mod"] = module; sums != "" {
			files["go.sum"] = sums
		}
	}
	words := strings.NewReplacer("PLUGIN_ID", p.ID, "PLUGIN_MODULE", p.Module)
	err := fs.WalkDir(template, "template", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := template.ReadFile(path)
		name := strings.TrimSuffix(strings.TrimPrefix(path, "template/"), ".txt")
		files[name] = words.Replace(string(text))
		return err
	})
	if err != nil {
		return nil, err
	}
	return write(p.Dir, files)
}

func write(dir string, files map[string]string) (names []string, err error) {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// goMod returns the module's go.mod and go.sum. With a checkout they list the hub's own requirements, so that nothing
// must be downloaded. `go mod tidy` removes the unused ones.
func (p Options) goMod() (module, sums string, err error) {
	if p.Source == "" {
		if p.Version == "" {
			return "", "",
				errors.New("no checkout of the hub was found: set --source to one, or --hub-version to a release")
		}
		return fmt.Sprintf("module %s\n\ngo 1.26\n\nrequire %s %s\n", p.Module, HubModule, p.Version), "", nil
	}
	source, err := filepath.Abs(p.Source)
	if err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", "", err
	}
	needs, ours := strings.CutPrefix(string(text), "module "+HubModule+"\n")
	if !ours {
		return "", "", fmt.Errorf("%s is not a checkout of %s", source, HubModule)
	}
	checksums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return "", "", err
	}
	const head = "module %s\n%s\nrequire %s v0.0.0\n\n// Until a version is released: the checkout that this module " +
		"was made with.\nreplace %s => %s\n"
	return fmt.Sprintf(head, p.Module, needs, HubModule, HubModule, source), string(checksums), nil
}

// DefaultSource returns a checkout of the hub above this directory or the program, or "" if there is none.
func DefaultSource() string {
	program, _ := os.Executable() // without it, only the directory counts
	return cmp.Or(findCheckout(".", false), findCheckout(filepath.Dir(program), false))
}

// ReleasedVersion returns the version of this program's module, or "" if it was built from a checkout.
func ReleasedVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(info.Main.Version) {
		return ""
	}
	return info.Main.Version
}

// findCheckout returns the first checkout of the hub at or above a directory, or "". The directory need not exist.
// withinModule ends the search at any other module.
func findCheckout(dir string, withinModule bool) string {
	dir, err := filepath.Abs(dir)
	for err == nil {
		text, absent := os.ReadFile(filepath.Join(dir, "go.mod"))
		switch {
		case strings.HasPrefix(string(text), "module "+HubModule+"\n"):
			return dir
		case absent == nil && withinModule || dir == filepath.Dir(dir):
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}
