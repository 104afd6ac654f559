package pluginhost

import (
	"context"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// noopObserver is an Observer that does nothing.
type noopObserver struct{}

// PluginCalled does nothing.
func (noopObserver) PluginCalled(string, string, string, time.Duration) {}

// PluginEntered does nothing.
func (noopObserver) PluginEntered(string, State) {}

// benchHost returns a host with the hostile plugin in its compliant mode and the system clock.
func benchHost(b *testing.B) *Host {
	b.Helper()
	stage := &testHost{t: &testing.T{}, dir: b.TempDir()}
	stage.install("good")
	h, err := Open(Config{Dir: stage.dir, Clock: core.NewSystemClock(nil), Observer: noopObserver{},
		Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(h.Close)
	return h
}

func callOnce(b *testing.B, h *Host, text string) {
	_, err := h.Plugin("hostile").CheckItems(context.Background(), Subject{Business: 1}, time.Minute,
		&sdk.Check{Items: []*sdk.Item{{RefId: "x", Description: text}}})
	require.NoError(b, err)
}

func BenchmarkCallOf256Bytes(b *testing.B) {
	h := benchHost(b)
	h.Start("hostile")
	text := strings.Repeat("x", 256)
	callOnce(b, h, text)
	for b.Loop() {
		callOnce(b, h, text)
	}
}

func BenchmarkUnaryCallOf256Bytes(b *testing.B) {
	h := benchHost(b)
	h.Start("hostile")
	settings := []byte(`{"x":"` + strings.Repeat("x", 256) + `"}`)
	for b.Loop() {
		_, err := h.Plugin("hostile").CheckSettings(context.Background(), Subject{Business: 1, Settings: settings})
		require.NoError(b, err)
	}
}

func awaitState(h *Host, is func(State) bool) {
	tick := time.NewTicker(20 * time.Microsecond)
	defer tick.Stop()
	for !is(h.Status()[0].State) {
		<-tick.C
	}
}

// BenchmarkStart measures the time from a start to the first result.
func BenchmarkStart(b *testing.B) {
	h := benchHost(b)
	for b.Loop() {
		h.Start("hostile")
		awaitState(h, func(s State) bool { return s != Stopped })
		callOnce(b, h, "")
		b.StopTimer()
		h.Stop("hostile")
		awaitState(h, func(s State) bool { return s == Stopped })
		b.StartTimer()
	}
}

// BenchmarkKilledUntilItAnswers measures the time from a kill to the next result.
func BenchmarkKilledUntilItAnswers(b *testing.B) {
	h := benchHost(b)
	h.Start("hostile")
	callOnce(b, h, "")
	for b.Loop() {
		pid := h.Status()[0].PID
		if pid <= 0 {
			b.Fatal("the plugin does not run")
		}
		require.NoError(b, syscall.Kill(pid, syscall.SIGKILL))
		callOnce(b, h, "")
		h.supervisor("hostile").resetFaults() // else it is quarantined
	}
}
