package ui

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func record(fields ...string) string {
	var file bytes.Buffer
	writeRecord(&file, fields)
	return file.String()
}

func TestCSVEscapesFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		"Dal":               "Dal",
		"-12.50":            "-12.50",
		"2026-11-22 12:00Z": "2026-11-22 12:00Z",
		"=1+1":              `"'=1+1"`,
		"@SUM(A1)":          `"'@SUM(A1)"`,
		"+1 555 0100":       `"'+1 555 0100"`,
		"-1+2":              `"'-1+2"`,
		"＝1+1":              `"'＝1+1"`,
		" =1+1":             `" '=1+1"`,
		"a;=1+1":            `"a;'=1+1"`,
		"a\t=1+1":           "\"a\t'=1+1\"",
		"a\r\n=1+1":         "\"a\r\n'=1+1\"",
		`a;"=1+1"`:          `"a;""'=1+1"""`,
		"Salt, pepper":      `"Salt, pepper"`,
	} {
		require.Equal(t, want+"\n", record(text), text)
	}
}

// TestCSVSplitAnywhereYieldsNoFormula splits a file by commas, and at any other possible separator.
func TestCSVSplitAnywhereYieldsNoFormula(t *testing.T) {
	fragments := rapid.SampledFrom([]string{"=", "+", "-", "@", "＝", "＋", ";", ",", "\t", "|", "\n", "\r", `"`, "'",
		" ", "1", "A1", "cmd"})
	rapid.Check(t, func(t *rapid.T) {
		fields := []string{"first", strings.Join(rapid.SliceOfN(fragments, 0, 12).Draw(t, "field"), "")}
		file := record(fields...)
		read, err := csv.NewReader(strings.NewReader(file)).Read()
		require.NoError(t, err)
		require.Len(t, read, len(fields))
		cells := read
		for _, separators := range []string{",\r\n", ";\r\n", "\t\r\n", "|\r\n"} {
			cells = append(cells, strings.FieldsFunc(file,
				func(r rune) bool { return strings.ContainsRune(separators, r) })...)
		}
		for _, cell := range cells {
			cell = strings.TrimLeft(cell, "\" \t\r\n")
			if cell != "" && !number.MatchString(strings.TrimRight(cell, "\"\n")) {
				require.NotContains(t, "=+-@＝＋", string([]rune(cell)[0]), "%q", file)
			}
		}
	})
}
