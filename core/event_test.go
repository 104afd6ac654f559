package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryEventTypeIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	require.NoError(t, err)
	var declared []EventType
	for _, declaration := range file.Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			name, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			declared = append(declared, EventType(name))
		}
	}
	require.NotEmpty(t, declared)
	require.ElementsMatch(t, declared, EventTypes())
	for _, event := range EventTypes() {
		parsed, known := ParseEventType(string(event))
		require.True(t, known && parsed == event)
		if number := event.Number(); number != 0 {
			parsed, known = ParseEventType(strconv.Itoa(number))
			require.True(t, known && parsed == event, "the number of %s is unique", event)
		}
	}
	_, known := ParseEventType("0")
	require.False(t, known, "event types without a number")
}
