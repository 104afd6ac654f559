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

// Cases reads the NAME.input.json files of a directory. It returns none for an empty name.
func Cases(dir string) ([]Case, error) {
	if dir == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+inputSuffix))
	if err != nil {
		return nil, err
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
		return fmt.Errorf("%s: there is no %s: run go test -update", c.Name, c.golden)
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
		sdk.CapabilityOf(c.Request.Method), c.Request.Method, strings.TrimSuffix(c.golden, goldenSuffix)+inputSuffix,
		c.golden)
}

// difference describes the first line that differs.
func difference(expected, actual string) string {
	want, got := strings.Split(expected, "\n"), strings.Split(actual, "\n")
	for i := range max(len(want), len(got)) {
		w, g := line(want, i), line(got, i)
		if w != g {
			return fmt.Sprintf("line %d: expected %s, got %s", i+1, w, g)
		}
	}
	return "equal"
}

func line(lines []string, i int) string {
	if i >= len(lines) {
		return "no such line"
	}
	return strings.TrimSpace(lines[i])
}
