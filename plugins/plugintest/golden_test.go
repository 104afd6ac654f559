package plugintest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoldenDifferenceIsShownAsADiff(t *testing.T) {
	require.Equal(t, "line 3 differs (- expected, + got):\n  a\n  b\n- c\n- d\n+ x",
		difference("a\nb\nc\nd\ne", "a\nb\nx\ne"))
	require.Equal(t, "line 2 differs (- expected, + got):\n  a\n+ b", difference("a", "a\nb"))
	require.Equal(t, "equal", difference("a", "a"))

	long := strings.Repeat("x", 5000)
	shown := difference(long+"1"+long, long+"2"+long)
	require.Less(t, len(shown), 500)
	require.Contains(t, shown, "xx1xx")
	require.Contains(t, shown, "xx2xx")
	many := difference(strings.Repeat("a\n", 100), strings.Repeat("b\n", 100))
	require.Contains(t, many, "- … 80 more lines\n")
	require.LessOrEqual(t, strings.Count(many, "\n"), 2*maxDiffLines+3)
}
