package postgres

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/uptrace/bun"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = MustLoadQueries(files)

// Queries are the SQL statements of a package's .sql files, by name.
//
// Each statement of a file follows a line "-- name: x". A file without such lines is one statement, named like the
// file. Arguments are named, such as ?now; \? is an operator. A statement that connections prepare declares the types
// of its arguments in lines "-- prepare: ids uuid[], now timestamptz". Fill replaces an argument of the type "part" by
// SQL. A line "-- include: x" stands for the text and the arguments of an earlier statement x. Comments are on separate
// lines and are not sent.
type Queries map[string]*Query

// Query is a statement with named arguments.
type Query struct {
	name  string
	text  []string // the parts before, between and after the arguments
	args  []string // the argument after each part but the last
	names []string // of the arguments, sorted; of a prepared statement in the order of the types
	types []string // of a prepared statement

	lines, prepared []string // as read, for statements that include this one
}

// Args are the arguments of a statement, by name.
type Args map[string]any

// LoadQueries reads the .sql files of a directory. They may include the statements of others.
func LoadQueries(files fs.FS, others ...Queries) (Queries, error) {
	paths, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	queries, included := Queries{}, Queries{}
	for _, other := range others {
		maps.Copy(included, other)
	}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		if err := queries.read(strings.TrimSuffix(path, ".sql"), string(text), included); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return queries, nil
}

// MustLoadQueries is LoadQueries for embedded files. It panics if they cannot be read.
func MustLoadQueries(files fs.FS, others ...Queries) Queries {
	queries, err := LoadQueries(files, others...)
	if err != nil {
		panic(err)
	}
	return queries
}

// read adds the statements of a file to the queries, and to those that may be included.
func (q Queries) read(name, text string, included Queries) error {
	var types, lines []string
	add := func() error {
		if len(lines) == 0 {
			return nil // the comment at the head of a file
		}
		if q[name] != nil {
			return fmt.Errorf("statement %s is defined twice", name)
		}
		query, err := newQuery(name, types, lines)
		q[name], included[name], types, lines = query, query, nil, nil
		return err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "--")
		heading, isHeading := strings.CutPrefix(comment, " name: ")
		declared, isTypes := strings.CutPrefix(comment, " prepare: ")
		inclusion, isInclusion := strings.CutPrefix(comment, " include: ")
		switch {
		case isComment && isHeading:
			if err := add(); err != nil {
				return err
			}
			name = heading
		case isComment && isTypes:
			types = append(types, strings.Split(declared, ", ")...)
		case isComment && isInclusion:
			other := included[inclusion]
			if other == nil {
				return fmt.Errorf("there is no statement %s before %s, which includes it", inclusion, name)
			}
			types, lines = append(types, other.prepared...), append(lines, other.lines...)
		case strings.Contains(line, "--") && !isComment:
			return fmt.Errorf("the comment must be on a separate line: %s", line)
		case !isComment && strings.TrimSpace(line) != "":
			lines = append(lines, line)
		}
	}
	return add()
}

// argumentName returns the name at the beginning of a text: a letter, then letters, digits and underscores.
func argumentName(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
	if end < 0 {
		end = len(text)
	}
	if end == 0 || text[0] < 'a' {
		return ""
	}
	return text[:end]
}

// newQuery runs for each statement when a program starts, so it uses no regular expression.
func newQuery(name string, types, lines []string) (*Query, error) {
	q := &Query{name: name, prepared: types, lines: lines}
	rest, piece := strings.Join(lines, "\n"), ""
	for {
		before, after, found := strings.Cut(rest, "?")
		if rest = after; !found {
			piece += before
			break
		}
		if operator, is := strings.CutSuffix(before, `\`); is {
			piece += operator + "?"
			continue
		}
		arg := argumentName(after)
		if arg == "" {
			return nil, fmt.Errorf("statement %s has an argument without a name", name)
		}
		q.text, q.args, piece = append(q.text, piece+before), append(q.args, arg), ""
		rest = after[len(arg):]
	}
	q.text = append(q.text, piece)
	q.names = slices.Compact(slices.Sorted(slices.Values(q.args)))
	if types == nil {
		return q, nil
	}
	var declared []string
	for _, one := range types {
		argument, kind, _ := strings.Cut(one, " ")
		declared, q.types = append(declared, argument), append(q.types, kind)
	}
	if !slices.Contains(q.types, part) && !slices.Equal(slices.Sorted(slices.Values(declared)), q.names) {
		return nil, fmt.Errorf("statement %s declares the arguments %q and uses %q", name, declared, q.names)
	}
	q.names = declared
	return q, nil
}

// argument matches an argument, or \? that stands for an operator.
var argument = regexp.MustCompile(`\\\?|\?([a-z][a-z0-9_]*)?`)

// part is the type of an argument of a prepared statement that Fill replaces.
const part = "part"

// Fill returns the prepared statement, with another name, and with SQL for its parts. Arguments in the SQL are
// arguments of the statement. It panics if a part is missing.
func (q *Query) Fill(name string, parts map[string]bun.Safe) *Query {
	text := argument.ReplaceAllStringFunc(strings.Join(q.lines, "\n"), func(found string) string {
		if sql, given := parts[found[1:]]; given {
			return string(sql)
		}
		return found
	})
	types := slices.DeleteFunc(slices.Clone(q.prepared), func(one string) bool {
		_, given := parts[strings.TrimSuffix(one, " "+part)]
		return given
	})
	filled, err := newQuery(name, types, []string{text})
	if err != nil {
		panic(err)
	}
	return filled
}

// Names returns the names of the arguments.
func (q *Query) Names() []string { return q.names }

// Text returns the statement with the names of its arguments, such as ?now.
func (q *Query) Text() string {
	text := q.text[0]
	for i, name := range q.args {
		text += "?" + name + q.text[i+1]
	}
	return text
}

// Get returns a statement. It panics if there is none of that name.
func (q Queries) Get(name string) *Query {
	found := q[name]
	if found == nil {
		panic("there is no SQL statement " + name)
	}
	return found
}

// With returns the text of a statement with its arguments. It panics if the statement does
// not exist, or if it has other arguments.
func (q Queries) With(name string, args Args) string { return q.Get(name).With(args) }

// With returns the text of the statement with its arguments. It panics if it has other arguments.
func (q *Query) With(args Args) string {
	q.check(args)
	var text []byte
	for i, name := range q.args {
		text = append(text, q.text[i]...)
		text = Formatter.AppendQuery(text, "?", args[name])
	}
	return string(append(text, q.text[len(q.args)]...))
}

// check panics unless the statement has exactly these arguments.
func (q *Query) check(args Args) {
	for _, name := range q.names {
		if _, given := args[name]; !given {
			panic(fmt.Sprintf("SQL statement %s lacks the argument %s", q.name, name))
		}
	}
	if len(args) != len(q.names) {
		panic(fmt.Sprintf("SQL statement %s has the arguments %q only", q.name, q.names))
	}
}

// prepare returns the statement that prepares the query.
func (q *Query) prepare() string {
	text := "PREPARE " + q.name
	if len(q.types) > 0 {
		text += " (" + strings.Join(q.types, ", ") + ")"
	}
	text += " AS "
	for i, name := range q.args {
		text += q.text[i] + fmt.Sprintf("$%d", slices.Index(q.names, name)+1)
	}
	return text + q.text[len(q.args)]
}

// execute returns the statement that executes the prepared query.
func (q *Query) execute(args Args) string {
	q.check(args)
	text := []byte("EXECUTE " + q.name)
	if len(q.names) == 0 {
		return string(text)
	}
	text = append(text, " ("...)
	for i, name := range q.names {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = Formatter.AppendQuery(text, "?", args[name])
	}
	return string(append(text, ')'))
}
