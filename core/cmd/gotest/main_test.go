package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const lines = `{"Action":"start","Package":"github.com/servery-hub/servery/core"}
{"Action":"output","Package":"github.com/servery-hub/servery/core","Test":"TestGood","Output":"quiet\n"}
{"Action":"pass","Package":"github.com/servery-hub/servery/core","Test":"TestGood/sub","Elapsed":0.1}
{"Action":"pass","Package":"github.com/servery-hub/servery/core","Test":"TestGood","Elapsed":0.2}
{"Action":"output","Package":"github.com/servery-hub/servery/core","Test":"TestBad/sub","Output":"why\n"}
{"Action":"fail","Package":"github.com/servery-hub/servery/core","Test":"TestBad/sub","Elapsed":1.5}
{"Action":"fail","Package":"github.com/servery-hub/servery/core","Test":"TestBad","Elapsed":1.5}
{"Action":"output","Package":"github.com/servery-hub/servery/core","Test":"TestCut","Output":"panic: under way\n"}
{"Action":"fail","Package":"github.com/servery-hub/servery/core","Elapsed":2}
{"Action":"output","Package":"github.com/servery-hub/servery/web","Test":"TestSeen","Output":"--- SKIP\n"}
{"Action":"skip","Package":"github.com/servery-hub/servery/web","Test":"TestSeen","Elapsed":0}
{"Action":"output","Package":"github.com/servery-hub/servery/web",` +
	`"Output":"ok  \tgithub.com/servery-hub/servery/web\t(cached)\n"}
{"Action":"pass","Package":"github.com/servery-hub/servery/web","Elapsed":0}
{"ImportPath":"github.com/servery-hub/servery/adminui","Action":"build-output","Output":"x.go:1:1: broken\n"}
{"ImportPath":"github.com/servery-hub/servery/adminui","Action":"build-fail"}
{"Action":"fail","Package":"github.com/servery-hub/servery/adminui","Elapsed":0,` +
	`"FailedBuild":"github.com/servery-hub/servery/adminui"}
`

func TestReportShowsFailuresAndCounts(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	require.NoError(t, r.read(strings.NewReader(lines)))
	r.summarize(3 * time.Second)
	text := out.String()
	require.Contains(t, text, "why\n")
	require.Contains(t, text, "panic: under way\n")
	require.Contains(t, text, "x.go:1:1: broken\n")
	require.NotContains(t, text, "quiet")
	require.Contains(t, text, "slowest tests:\n    1.5s  core TestBad\n    0.2s  core TestGood\n")
	require.Contains(t, text, "3 packages (1 unchanged) in 3.0s\n")
	require.True(t, strings.HasSuffix(text, "\n1 passed, 2 failed, 1 skipped\n"), text)
}
