package pluginhost

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// personalText is a text that a plugin must not log, but that reaches its log and its faults.
const personalText = "no rider for +1 (415) 555-0100 or ann@example.com, token sk_live_51HxYzAbC"

// hubLog is a log in memory.
type hubLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a line (io.Writer).
func (l *hubLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *hubLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newLoggedHost(t *testing.T) (*testHost, *testJournal, *hubLog) {
	t.Helper()
	log, journal := &hubLog{}, &testJournal{}
	config := Config{NoIsolation: true, Journal: journal, Log: slog.New(slog.NewJSONHandler(log, nil))}
	return newTestHostWith(t, config), journal, log
}

// requireMasked fails if personal data is in the log of the hub, or in the faults or the log of the plugin.
func (s *testHost) requireMasked(journal *testJournal, log *hubLog) {
	s.t.Helper()
	kept := fmt.Sprintf("%s %v %v %v %v", log, s.Logs("hostile"), s.status().Faults, journal.reports(),
		journal.requests())
	require.Contains(s.t, kept, "no rider for [number] or [e-mail]")
	require.NotContains(s.t, kept, "555-0100")
	require.NotContains(s.t, kept, "ann@example")
}

func TestPanicTextsHideTheirPersonalData(t *testing.T) {
	s, journal, log := newLoggedHost(t)
	s.ready("good")
	_, err := s.check(t.Context(), "panic", ": "+personalText)
	require.Equal(t, "plugin hostile failed at this request (plugin_failed)", publicMessage(t, err))
	require.NotContains(t, err.Error(), "555-0100")
	require.Contains(t, journal.reports()[0].Text, "the plugin panicked: a mistake: no rider for [number]")
	s.waitUntil("the panic is in the log", func() bool { return strings.Contains(log.String(), "plugin panicked") })
	s.requireMasked(journal, log)
}

func TestPanicOutsideACallHidesItsPersonalData(t *testing.T) {
	s, journal, log := newLoggedHost(t)
	s.ready("good")
	var got asyncResult
	s.advanceUntil("the call has failed", received(s.checkAsync("panic-outside", personalText), &got))
	require.True(t, IsSetAside(got.err))
	require.Equal(t, "plugin hostile crashed on this request, which is set aside (request_set_aside)",
		publicMessage(t, got.err))
	s.serves(3)
	require.Contains(t, journal.requests()[0].Fault, "panic: no rider for [number]")
	require.Contains(t, journal.reports()[0].Stack, "main.crash", "the fault is grouped by it")
	s.requireMasked(journal, log)
}

func TestLogFloodIsBoundedAndMasked(t *testing.T) {
	s, journal, log := newLoggedHost(t)
	s.ready("good")
	var got asyncResult
	s.advanceUntil("the call has failed", received(s.checkAsync("flood", personalText), &got))
	require.True(t, IsSetAside(got.err))
	s.serves(3)
	message, err := s.check(t.Context(), "version", "")
	require.NoError(t, err, "everything else goes on")
	require.Equal(t, "1.0.0", message)
	s.clock.Advance(time.Second)
	_, err = s.check(t.Context(), "panic", "")
	require.Error(t, err)
	s.waitUntil("the next line states how many were dropped",
		func() bool { return strings.Contains(log.String(), "plugin log lines dropped") })
	require.Less(t, strings.Count(log.String(), "line "), 4_000, "both processes wrote 2,000")
	require.LessOrEqual(t, len(s.Logs("hostile")), maxBufferedLines)
	for _, leak := range []string{"sk_live", "line ", "rider"} {
		require.NotContains(t, publicMessage(t, got.err), leak)
	}
	s.requireMasked(journal, log)
}

func TestLogLinesAreMaskedInEachForm(t *testing.T) {
	for line, masked := range map[string]string{
		`{Ann +14155550100}`:                        `{Ann [number]}`,
		`{"@message":"call +1 415 555 0100","n":7}`: `{"@message":"call [number]","n":7}`,
		`{"phone":4155550100,"took":1.5}`:           `{"phone":"[number]","took":1.5}`,
		`{"@message":"to\nann@example.com"}`:        `{"@message":"to\n[e-mail]"}`,
		`{"@message":"to\n4155550100"}`:             `{"@message":"to\n[number]"}`,
	} {
		require.Equal(t, masked, maskLine(line))
	}
}

func TestDroppedLogLinesCostNoMasking(t *testing.T) {
	s := newTestHost(t)
	buffer, line := &logBuffer{log: s.config.Log, clock: s.clock}, []byte(`{"@message":"4155550100","n":7}`)
	write := func() { _, _ = buffer.Write(line) }
	for range maxLinesPerSecond + maxBufferedLines {
		write()
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, write), 2.0)
	require.Equal(t, `{"@message":"[number]","n":7}`, buffer.lines()[0])
}

func TestLongLogLinesAreMaskedBeforeCutting(t *testing.T) {
	s := newTestHost(t)
	buffer := &logBuffer{log: s.config.Log, clock: s.clock}
	write := func(line string) string {
		_, _ = buffer.Write([]byte(line))
		lines := buffer.lines()
		return lines[len(lines)-1]
	}
	for before := maxLoggedLine - 30; before < maxLoggedLine+cutMargin; before++ {
		text := strings.Repeat("x ", before/2) + strings.Repeat("y", before%2) + " 4155550100"
		require.NotContains(t, write(text+strings.Repeat(" z", cutMargin)), "4155", before)
	}
	long := write(`{"@message":"4155550100 ` + strings.Repeat("x", maxLoggedLine) + `"}`)
	require.True(t, strings.HasPrefix(long, `{"@message":"[number] xx`), long[:40])
	for before := range 18 { // masked values are shorter, so a part of one at the end of the text moves forward
		many := write(strings.Repeat("y", before) + strings.Repeat(" +1 (415) 555-0100", 600))
		require.NotContains(t, many, "415", before)
		require.Contains(t, many, "[number] [number]")
	}
}

func TestRefusalsHideTheirPersonalData(t *testing.T) {
	const reason = "no rider for +1 (415) 555-0100"
	require.Equal(t, "plugin tasty: no rider for [number]", rejection("tasty", reason).Message)
	require.Equal(t, "no rider for [number]", PublicReason(reason))
	err := rejection("tasty", "key=value: "+reason)
	require.Equal(t, "plugin tasty rejected the request (plugin_rejected)", err.Message)
	require.NotContains(t, err.Error(), "555-0100", "the log of the hub has it too")

	s := newTestHost(t)
	s.ready("good")
	_, failed := s.Plugin("hostile").Translate(t.Context(), Subject{Business: 1},
		&sdk.InboundRequest{Kind: "absent", Body: []byte(reason)})
	require.Equal(t, core.NotFound, core.CodeOf(failed))
	require.ErrorContains(t, failed, "no rider for [number]")
}
