package plugintest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/servery-hub/servery/plugins/sdk"
)

const (
	inputSuffix  = ".input.json"
	goldenSuffix = ".golden.json"
)

// Case is a request from a directory of golden files, with its expected result.
type Case struct {
	Name    string
	Request Request
	golden  string
}

// Cases reads the NAME.input.json files of a directory. It returns none for an empty name, and an error for a directory
// that does not exist or has no such files.
func Cases(dir string) ([]Case, error) {
	if dir == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+inputSuffix))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no such directory, or no NAME%s in it", dir, inputSuffix)
	}
	cases := make([]Case, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		question, err := ParseRequest(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		base := strings.TrimSuffix(file, inputSuffix)
		cases = append(cases, Case{filepath.Base(base), question, base + goldenSuffix})
	}
	return cases, nil
}

// check compares the result with the golden file, or writes that file if update is set.
func (c Case) check(ctx context.Context, r *Running, update bool) error {
	answer, err := c.Request.ResultJSON(ctx, r.Client)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if update {
		return os.WriteFile(c.golden, answer, 0o644)
	}
	expected, err := os.ReadFile(c.golden)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no %s: run go test -update, or servery plugin run PROGRAM %s > %s",
			c.Name, c.golden, c.input(), c.golden)
	}
	if err != nil {
		return err
	}
	if string(expected) != string(answer) {
		return fmt.Errorf("%s: %s", c.Name, difference(string(expected), string(answer)))
	}
	return nil
}

// missingCapability returns the error for a case whose capability the plugin does not have.
func (c Case) missingCapability() error {
	return fmt.Errorf("%s: the plugin has no %s, but calls %s: implement it, or delete %s and %s", c.Name,
		sdk.CapabilityOf(c.Request.Method), c.Request.Method, c.input(), c.golden)
}

func (c Case) input() string { return strings.TrimSuffix(c.golden, goldenSuffix) + inputSuffix }

// Bounds of a shown difference.
const (
	maxDiffLines = 20  // of each side
	diffContext  = 2   // lines before
	maxDiffLine  = 160 // characters
)

// difference shows the lines that differ, without the equal ones at the beginning and the end. Of a long line it shows
// the part around the first difference.
func difference(expected, actual string) string {
	want, got := strings.Split(expected, "\n"), strings.Split(actual, "\n")
	first := 0
	for first < min(len(want), len(got)) && want[first] == got[first] {
		first++
	}
	last := 0
	for last < min(len(want), len(got))-first && want[len(want)-1-last] == got[len(got)-1-last] {
		last++
	}
	if first == len(want) && first == len(got) {
		return "equal"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "line %d differs (- expected, + got):\n", first+1)
	for _, line := range want[max(0, first-diffContext):first] {
		fmt.Fprintf(&out, "  %s\n", cutLine(line, 0))
	}
	removed, added := want[first:len(want)-last], got[first:len(got)-last]
	at := 0
	if len(removed) > 0 && len(added) > 0 {
		at = commonPrefix(removed[0], added[0])
	}
	writeLines(&out, "- ", removed, at)
	writeLines(&out, "+ ", added, at)
	return strings.TrimSuffix(out.String(), "\n")
}

func writeLines(out *strings.Builder, mark string, lines []string, at int) {
	for _, line := range lines[:min(len(lines), maxDiffLines)] {
		fmt.Fprintf(out, "%s%s\n", mark, cutLine(line, at))
		at = 0
	}
	if more := len(lines) - maxDiffLines; more > 0 {
		fmt.Fprintf(out, "%s… %d more lines\n", mark, more)
	}
}

func commonPrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// cutLine returns the part of a line around a position.
func cutLine(line string, at int) string {
	if len(line) <= maxDiffLine {
		return line
	}
	begin := max(0, min(at-maxDiffLine/4, len(line)-maxDiffLine))
	end := min(len(line), begin+maxDiffLine)
	cut := strings.ToValidUTF8(line[begin:end], "")
	if begin > 0 {
		cut = "…" + cut
	}
	if end < len(line) {
		cut += "…"
	}
	return cut
}
