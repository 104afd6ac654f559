package pluginhost

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// awaitRestart waits before the next start after a fault. After too many faults it waits until an operator starts the
// plugin or another version is installed. It reports whether the plugin is to run.
func (k *supervisor) awaitRestart(ctx context.Context, installed string, fault error) (run bool) {
	clock := k.host.config.Clock
	count := k.recordFault(faultOf(fault))
	state, wait := Backoff, backoff(max(1, count), rand.Float64())
	if count >= maxFaults {
		state, wait = Quarantined, maxBackoff
	}
	k.setState(state)
	for {
		due, stopTimer := clock.At(clock.Now().Add(wait))
		select {
		case <-ctx.Done():
			stopTimer()
			return false
		case w := <-k.requests:
			stopTimer()
			k.resetFaults()
			k.pending = w
			return w.run
		case <-due:
			if state == Backoff {
				return true
			}
			if now, err := readInstalled(k.host.config.Dir, k.id); err == nil && now.manifestDigest != installed {
				k.resetFaults()
				return true
			}
		}
	}
}

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	FaultStart    FaultKind = "start"    // it did not start, or not in its new version
	FaultCrash    FaultKind = "crash"    // its process ended, or used too much memory
	FaultPanic    FaultKind = "panic"    // a call panicked, and the process went on
	FaultDeadline FaultKind = "deadline" // it did not respond in time
	FaultInvalid  FaultKind = "invalid"  // its result was invalid
	FaultError    FaultKind = "error"    // a call failed
)

// fault is a fault with its details.
type fault struct {
	kind   FaultKind
	text   string
	stack  string
	ended  bool       // it ended the process
	denied bool       // the system did not permit its start
	repeat bool       // it does not count toward quarantine
	call   string     // such as Menu.Render; "": none, or several
	lost   []lostCall // under way when the process ended, or the call itself
	late   bool       // the one in lost had already ended without a reply, so it may not be the cause
}

// Error returns the text.
func (f *fault) Error() string { return f.text }

// faultOf returns the fault of an error that ended the process. The error of a start has a separate kind.
func faultOf(err error) *fault {
	var known *fault
	if errors.As(err, &known) {
		return known
	}
	return &fault{kind: FaultStart, text: err.Error(), ended: true, denied: errors.Is(err, fs.ErrPermission)}
}

// callFault returns the fault of a call that the process survived.
func callFault(kind FaultKind, r request, format string, args ...any) *fault {
	call := lostCall{store: r.subject.Store, about: r.about(),
		request: Request{Call: r.call, Business: r.subject.Business, Platform: r.subject.Platform}}
	return &fault{kind: kind, text: r.call + ": " + fmt.Sprintf(format, args...), call: r.call, lost: []lostCall{call}}
}

// FaultReport is a fault for the journal. Faults with the same group have the same cause.
type FaultReport struct {
	Plugin   string
	Version  string
	Kind     FaultKind
	Group    string // by stack, or else by text
	Text     string
	Stack    string // "": unknown
	Ended    bool
	Call     string          // such as Menu.Render; "": none, or several
	Business core.BusinessID // of the call; 0: none, or several
	Platform string
	About    string // what the call is about, or several of them; "": nothing
	At       time.Time
}

// report returns the fault for the journal.
func (f *fault) report(plugin, version string, now time.Time) FaultReport {
	r := FaultReport{Plugin: plugin, Version: version, Kind: f.kind, Text: sdk.Truncate(f.text, maxFaultText),
		Stack: sdk.Truncate(f.stack, maxText), Ended: f.ended, Call: f.call, At: now}
	var about []string
	for _, call := range f.lost {
		if text := strings.TrimSpace(call.request.Call + " " + call.about); !slices.Contains(about, text) {
			about = append(about, text)
		}
	}
	if len(f.lost) == 1 {
		r.Call, r.Business, r.Platform = f.lost[0].request.Call, f.lost[0].request.Business, f.lost[0].request.Platform
		about = []string{f.lost[0].about}
	}
	r.About = sdk.Truncate(strings.Join(about, ", "), maxFaultText)
	cause := f.stack
	if cause == "" {
		cause, _, _ = strings.Cut(f.text, lastLogLine)
		cause = variable.ReplaceAllString(strings.TrimSuffix(cause, ")"), "#")
	}
	r.Group = fmt.Sprintf("%x", sha256.Sum256([]byte(string(f.kind)+"\n"+r.Call+"\n"+cause)))[:32]
	return r
}

// variable matches what differs between faults with the same cause: quoted values, addresses and numbers.
var variable = regexp.MustCompile(`"[^"]*"|0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+`)

// maxFrames bounds the frames of a stack that groups faults.
const maxFrames = 12

// frameOf matches the end of a line with the position of a frame, which differs between processes.
var frameOf = regexp.MustCompile(` \+0x[0-9a-f]+$`)

// stackIn returns the frames of the first stack in log lines, without what differs between processes.
func stackIn(log []string) string {
	var frames []string
	started := false
	for _, line := range log {
		switch {
		case strings.HasPrefix(line, "goroutine "):
			if started {
				return strings.Join(frames, "\n")
			}
			started = true
		case !started || len(frames) >= 2*maxFrames:
		case strings.HasPrefix(line, "\t"):
			frames = append(frames, "  "+frameOf.ReplaceAllString(strings.TrimSpace(line), ""))
		case strings.HasSuffix(line, ")") && strings.Contains(line, "("):
			frames = append(frames, line[:strings.LastIndex(line, "(")])
		}
	}
	return strings.Join(frames, "\n")
}

// recordFault records a fault, whose text it masks. It returns the number of recent faults that ended the plugin. The
// faults of one request count once.
func (k *supervisor) recordFault(f *fault) int {
	f.text = sdk.MaskPersonal(f.text)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.host.config.Clock.Now()
	k.faults = slices.Insert(k.faults, 0, Fault{now, sdk.Truncate(f.text, maxFaultText), f.ended, f.kind, f.denied})
	k.faults = k.faults[:min(len(k.faults), maxRecordedFaults)]
	k.recentCrashes = withinWindow(k.recentCrashes, now)
	if f.ended && !f.repeat {
		k.recordCrash(now, f)
	}
	if journal := k.host.config.Journal; journal != nil {
		journal.RecordFault(f.report(k.id, k.version, now))
	}
	k.log.showFault(k.faults[0].Text)
	k.log.log.Warn("plugin fault", "fault", k.faults[0].Text, "kind", f.kind, "ended", f.ended)
	return len(k.recentCrashes)
}

// resetFaults resets the fault count.
func (k *supervisor) resetFaults() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults, k.recentCrashes = nil, nil
}

// withinWindow returns the crashes within the window.
func withinWindow(crashes []crash, now time.Time) []crash {
	return slices.DeleteFunc(crashes, func(c crash) bool { return now.Sub(c.at) >= faultWindow })
}
