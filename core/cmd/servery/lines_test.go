package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// limitedSuffixes end the names of files whose lines have a limit.
var limitedSuffixes = []string{".go", ".sql", ".templ", ".sh", ".py", ".md", "Makefile"}

// TestConventionLimitsLinesTo120Columns exempts generated files, URLs, figures and tables of Markdown.
func TestConventionLimitsLinesTo120Columns(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && name != ".github" && strings.HasPrefix(name, ".") || name == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(limitedSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil || isGenerated(file, content) {
			return err
		}
		for i, line := range strings.Split(string(content), "\n") {
			if columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); columns > 120 &&
				!strings.Contains(line, "://") && (path.Ext(name) != ".md" || !isUnbreakable(line)) {
				t.Errorf("%s:%d: %d columns; 120 is the limit", file, i+1, columns)
			}
		}
		return nil
	}))
}

func isGenerated(file string, content []byte) bool {
	head := content[:min(len(content), 300)]
	return bytes.Contains(head, []byte("Code generated")) || bytes.Contains(head, []byte("DO NOT EDIT")) ||
		path.Base(file) == "BENCHMARKS.md" || strings.HasSuffix(file, "_pb2.py")
}

// isUnbreakable reports whether Markdown has no way to wrap a line: rows of tables and figures.
func isUnbreakable(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "|") || strings.HasPrefix(line, "![")
}
