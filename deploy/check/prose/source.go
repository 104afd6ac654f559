package main

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Source finds prose in the repository. A new kind of text
// is one more Source.
type Source interface {
	Blocks(root fs.FS) ([]Block, error)
}

// sources are all texts that the rules hold for.
var sources = []Source{
	Markdown{Names: []string{"README.md", "README.md.txt", "SECURITY.md", "CONTRIBUTING.md"}},
	Markdown{Dir: "adminui/reference/guides", Names: []string{"*.md"}},
	OpenAPI{Name: "web/openapi.yaml"},
	Schemas{Dir: "core/webhook/catalogue/events"},
	GoText{Names: []string{
		"core/problem/errors.go", "core/problem/violations.go", "core/webhook/failure.go",
		"adminui/reference/errors.go",
	}},
	GoText{Dirs: []string{"adminui/text"}, Labels: true, Most: consoleWords},
	GoText{Dirs: []string{"adminui/cause", "core/checklist"}, Most: consoleWords},
	GoMessages{Dirs: []string{"adminui", "core", "deploy", "migrations", "plugins", "web"}},
	Comments{Dirs: []string{"adminui", "core", "deploy", "migrations", "plugins", "web"}},
}

// consoleWords is how long a sentence of the console may be.
const consoleWords = 20

// Markdown is every Markdown file in or below a directory whose name matches one of the patterns.
type Markdown struct {
	Dir   string // "" is the root
	Names []string
}

// Blocks lists the prose of the files.
func (m Markdown) Blocks(root fs.FS) ([]Block, error) {
	var list []Block
	err := walk(root, m.Dir, m.Names, func(file *File) error {
		list = append(list, markdown(whole(file))...)
		return nil
	})
	return list, err
}

// walk reads every file in or below a directory whose name matches. Hidden
// directories other than .github, builds and test data are left out.
func walk(root fs.FS, dir string, names []string, visit func(*File) error) error {
	return fs.WalkDir(root, path.Join(".", dir), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			hidden := strings.HasPrefix(base, ".") && base != "." && base != ".github"
			if hidden || base == "testdata" || base == "bin" || base == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(names, func(p string) bool { ok, _ := path.Match(p, base); return ok }) {
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return visit(&File{name, string(content)})
	})
}

// proseKeys are the members of OpenAPI and JSON Schema whose value is Markdown.
var proseKeys = []string{"description", "summary", "title"}

// valueKeys are the members that hold samples or values, whose descriptions are not ours.
var valueKeys = []string{"example", "examples", "default", "enum", "const", "value"}

// OpenAPI is the descriptions of an OpenAPI document in YAML.
type OpenAPI struct{ Name string }

// Blocks lists the prose of the descriptions.
func (o OpenAPI) Blocks(root fs.FS) ([]Block, error) {
	content, err := fs.ReadFile(root, o.Name)
	if err != nil {
		return nil, err
	}
	return yamlProse(&File{o.Name, string(content)})
}

// yamlProse lists the prose of the descriptions in YAML or JSON.
func yamlProse(file *File) ([]Block, error) {
	var node yaml.Node
	err := yaml.Unmarshal([]byte(file.Content), &node)
	return described(file, &node), err
}

func described(file *File, node *yaml.Node) []Block {
	var list []Block
	if node.Kind != yaml.MappingNode {
		for _, child := range node.Content {
			list = append(list, described(file, child)...)
		}
		return list
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		switch {
		case key == "examples" && value.Kind == yaml.MappingNode: // of media: their summaries are ours
			list = append(list, described(file, value)...)
		case slices.Contains(valueKeys, key):
		case value.Kind == yaml.ScalarNode && slices.Contains(proseKeys, key):
			list = append(list, markdown(scalar(file, value))...)
		default:
			list = append(list, described(file, value)...)
		}
	}
	return list
}

var quotedScalar = regexp.MustCompile(`^"((?:[^"\\]|\\.)*)"`)

// scalar is the text of a YAML scalar. One that YAML rewrites, such as a folded
// one, has the position of its beginning throughout.
func scalar(file *File, node *yaml.Node) Text {
	lines := strings.SplitAfter(file.Content, "\n")
	from := len(strings.Join(lines[:node.Line-1], "")) + node.Column - 1
	if node.Style&yaml.LiteralStyle == 0 {
		rest := file.Content[from:min(from+len(node.Value)+2, len(file.Content))]
		if at := strings.Index(rest, node.Value); at >= 0 {
			return span(file, from+at, from+at+len(node.Value))
		}
		if quoted := quotedScalar.FindStringSubmatch(file.Content[from:]); quoted != nil {
			if text := unquoted(span(file, from+1, from+1+len(quoted[1]))); text.s == node.Value {
				return text
			}
		}
		return span(file, from, from+1).replace(node.Value)
	}
	text := Text{file: file}
	from = len(strings.Join(lines[:node.Line], ""))
	for i, line := range strings.SplitAfter(strings.TrimSuffix(node.Value, "\n"), "\n") {
		raw := lines[node.Line+i]
		from += len(raw)
		line = strings.TrimSuffix(line, "\n") + "\n"
		piece := span(file, from-min(len(line), len(raw)), from)
		text = Text{file, text.s + piece.s, append(text.at, piece.at...)}
	}
	return text
}

// Schemas is the descriptions of the JSON Schemas of a directory.
type Schemas struct{ Dir string }

// Blocks lists the prose of the descriptions.
func (s Schemas) Blocks(root fs.FS) ([]Block, error) {
	var list []Block
	err := walk(root, s.Dir, []string{"*.schema.json"}, func(file *File) error {
		blocks, err := yamlProse(file)
		list = append(list, blocks...)
		return err
	})
	return list, err
}

// unquoted resolves the escapes of a quoted string.
func unquoted(text Text) Text {
	out := Text{file: text.file}
	for i := 0; i < len(text.s); i++ {
		from, c := i, text.s[i]
		if c == '\\' {
			if i++; text.s[i] == 'u' {
				i += 4
			}
			c = map[byte]byte{'n': '\n', 't': '\t', '"': '"', '\\': '\\', '/': '/'}[text.s[i]]
		}
		out.s, out.at = out.s+string([]byte{c}), append(out.at, text.at[from])
	}
	return out
}
