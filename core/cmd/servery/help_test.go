package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/pluginhost"
)

func TestHelpFitsAScreen(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}} {
		help := servery(t, environment{}, args...)
		require.Zero(t, help.status, help.stderr)
		lines := strings.Split(strings.TrimSpace(help.stdout), "\n")
		require.GreaterOrEqual(t, len(lines), 24)
		require.LessOrEqual(t, len(lines), 40)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
		}
		for _, group := range []string{"Run:", "Set up:", "Operate:", "Plugins:"} {
			require.Contains(t, lines, group)
		}
	}
}

func TestEveryCommandHasOneLineAndExamples(t *testing.T) {
	var commands cli
	parser, err := newParser(&commands)
	require.NoError(t, err)
	unused := map[string]bool{}
	for path := range examples {
		unused[path] = true
	}
	require.NoError(t, kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if command, is := node.(*kong.Command); is && command.Type == kong.CommandNode {
			path := command.Path()
			require.LessOrEqual(t, len("  "+path+"    "+command.Help), 80, path)
			require.Equal(t, 1, strings.Count(command.Help, "."), path)
			if len(command.Children) == 0 {
				require.NotEmpty(t, examples[path], path)
			}
			for _, example := range examples[path] {
				checkExample(t, path, example)
			}
			delete(unused, path)
		}
		return next(nil)
	}))
	require.Empty(t, unused, "examples of no command")
}

func TestHelpOfPluginStatesExplainsQuarantine(t *testing.T) {
	for _, command := range []string{"doctor", "plugin list", "plugin enable", "plugin faults", "plugin retry"} {
		help := servery(t, environment{}, append(strings.Fields(command), "--help")...)
		text := strings.Join(strings.Fields(help.stdout), " ")
		require.Contains(t, text, pluginhost.QuarantineRule, command)
		require.Contains(t, text, "Examples: servery "+command, command)
	}
}

// checkExample parses the example of a command and checks that the command's help shows it.
func checkExample(t *testing.T, path, example string) {
	t.Helper()
	var commands cli
	var printed bytes.Buffer
	parser, err := newParser(&commands, kong.Writers(&printed, &printed), kong.Exit(func(int) {}))
	require.NoError(t, err)
	parsed, err := parser.Parse(strings.Fields(path + " " + example))
	require.NoError(t, err, "%s %s", path, example)
	require.Equal(t, path, parsed.Selected().Path())
	_, _ = parser.Parse(append(strings.Fields(path), "--help"))
	require.Contains(t, printed.String(), strings.TrimSpace("servery "+path+" "+example)+"\n")
}

func TestErrorsNameTheCommandThatHelps(t *testing.T) {
	for args, hint := range map[string]string{
		"key create":         "Run `servery key create --help` for its flags and examples.",
		"key":                "Run `servery key --help` for its flags and examples.",
		"sevre":              "Run `servery --help` for the commands.",
		"serve --max-body x": "Run `servery serve --help` for its flags and examples.",
	} {
		wrong := servery(t, environment{}, strings.Fields(args)...)
		require.Equal(t, 1, wrong.status, args)
		require.Contains(t, wrong.stderr, hint, args)
	}
}

func TestLinesOfTheCommandFit(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	code := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		lines := strings.Split(string(content), "\n")
		require.LessOrEqual(t, len(lines)-1, 150, file)
		code += len(lines) - 1
		for _, line := range lines {
			width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			require.LessOrEqual(t, width, 120, "%s: %s", file, line)
		}
	}
	require.Less(t, code, 2500)
}
