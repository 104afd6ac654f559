package hubtest

import (
	"fmt"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputKeepsTheLastLines(t *testing.T) {
	var output Output
	for n := range 100 {
		fmt.Fprintf(&output, "line %d\nincomplete ", n)
	}
	require.Equal(t, "60", output.Find(regexp.MustCompile(`line (\d+)\n`)))
	require.Regexp(t, "incomplete line 99\nincomplete $", output.String())
	require.Empty(t, output.Find(regexp.MustCompile(`(line 59)\n`)))
}

func TestProcessGetsOnlyItsEnvironment(t *testing.T) {
	t.Setenv("SERVERY_LISTEN", "127.0.0.1:1")
	env := Environment{"GREETING": "hello"}.With("NAME", "hub")
	status, stdout, _ := Run(t, "sh", env, "-c", "echo $GREETING $NAME $SERVERY_LISTEN; exit 3")
	require.Equal(t, 3, status)
	require.Equal(t, "hello hub\n", stdout)
}

func TestStopReturnsTheExitStatus(t *testing.T) {
	p := NewProcess("sh", nil, "-c", "trap 'exit 4' TERM; echo ready; while :; do :; done")
	p.Start(t)
	require.Equal(t, "ready", p.AwaitOutput(t, regexp.MustCompile(`(ready)`)))
	require.True(t, p.Running())
	require.Equal(t, 4, p.Stop(t, syscall.SIGTERM))
	require.False(t, p.Running())
}
