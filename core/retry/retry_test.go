package retry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultScheduleIsDocumented(t *testing.T) {
	require.Equal(t, "six attempts: 1, 2, 4, 8 and 16",
		Documented().Replace("{retry_attempts} attempts: {retry_waits}"))
}

func TestNoAttemptFollowsTheLast(t *testing.T) {
	s := Default(time.Second)
	require.Len(t, s.Waits(), s.Attempts-1)
	for _, failed := range []int{0, s.Attempts} {
		_, more := s.After(failed)
		require.False(t, more, failed)
	}
}

func TestWaitsStayBelowTheMaximum(t *testing.T) {
	s := Schedule{Attempts: 25, FirstWait: time.Second, MaxWait: time.Minute}
	for failed, expected := range map[int]time.Duration{1: time.Second, 6: 32 * time.Second, 7: time.Minute,
		24: time.Minute} {
		wait, more := s.After(failed)
		require.True(t, more)
		require.Equal(t, expected, wait, "after %d failed attempts", failed)
	}
}

func TestDocumentationFollowsTheDefaultSchedule(t *testing.T) {
	files, err := filepath.Glob("../../adminui/reference/guides/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	fixed := Documented().Replace("{retry_waits}|{retry_attempts} (failed )?attempts")
	for _, file := range append(files, "../../web/openapi.yaml", "../../plugins/README.md", "../README.md",
		"../../README.md", "../../deploy/README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, fixed, string(text), "%s: write {retry_waits} or {retry_attempts}", file)
	}
}
