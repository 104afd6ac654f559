package plugintest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/servery-hub/servery/plugins/sdk"
)

// Options configures the suite.
type Options struct {
	Golden   string        // directory of NAME.input.json and NAME.golden.json; may be empty
	Update   bool          // write the golden files instead of comparing
	Manifest *sdk.Manifest // that the description must equal; may be nil

	only        string          // run only this check; empty: all
	cancelWhen  <-chan struct{} // cancels a call with its whole menu; nil: cancelDelay
	menuTimeout time.Duration   // 0: menuTimeout
}

// Result is the result of one check.
type Result struct {
	Check string `json:"check"`
	Error string `json:"error,omitempty"` // empty: passed
}

// session is a plugin under test.
type session struct {
	*Running
	driver      Driver
	options     Options
	description *sdk.Description
	cases       []Case
	requests    []Request // cases and samples of its capabilities
	first       firstResponses
	peakMemory  uint64 // bytes; measured after each check
}

// check is one rule for every plugin.
type check struct {
	name    string
	run     func(context.Context, *session) error
	program bool // only for a separate program
	cases   bool // only with golden files
}

// checks are in execution order. Those that end the plugin come last.
var checks = []check{
	{name: "the description is complete, constant and equals the manifest", run: checkDescription},
	{name: "settings are accepted and refused as their schema says", run: checkSettings},
	{name: "absent capabilities answer Unimplemented, and no other", run: checkCapabilities},
	{name: "golden answers", run: checkGolden, cases: true},
	{name: "same question, same answer, in any order and at the same time", run: checkDeterminism},
	{name: "settings of one business do not reach another", run: checkSettingsIsolation},
	{name: "chunk borders do not matter", run: checkChunkSizes},
	{name: "a menu of 10,000 items", run: checkLargeMenu},
	{name: "duplicated and disordered rider updates", run: checkRiders},
	{name: "repeated actions give the same plan", run: checkActions},
	{name: "a cancelled call ends", run: checkCancellation},
	{name: "answers are complete, and plans name what is declared", run: checkResults},
	{name: "the log is readable and holds nothing of what was asked", run: checkLogs},
	{name: "no environment", run: environment, program: true},
	{name: "no network", run: network, program: true},
	{name: "memory stays within its limit", run: checkMemory, program: true},
	{name: "same question, same answer, more than a second later", run: checkLater},
	{name: "draining refuses new calls and ends", run: checkDrain},
}

// Run runs the suite as subtests.
func Run(t *testing.T, d Driver, o Options) {
	t.Helper()
	t.Run(d.Name(), func(t *testing.T) {
		err := runChecks(context.Background(), d, o, func(c check, do func() error) {
			t.Run(c.name, func(t *testing.T) {
				if err := do(); err != nil {
					t.Error(err)
				}
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// Check runs the suite outside a Go test and reports each result. It returns an error if the plugin cannot be started
// or stopped.
func Check(ctx context.Context, d Driver, o Options, report func(Result)) error {
	return runChecks(ctx, d, o, func(c check, do func() error) {
		result := Result{Check: c.name}
		if err := do(); err != nil {
			result.Error = err.Error()
		}
		report(result)
	})
}

// canary is a marker in requests that must not appear in the plugin's log. It has only letters and digits, so that no
// format of a body changes it.
const canary = "serverycanary8f1d2c"

// runChecks starts the plugin, runs every check, stops the plugin and checks for leftovers.
func runChecks(ctx context.Context, d Driver, o Options, run func(check, func() error)) error {
	before := goleak.IgnoreCurrent()
	s, err := openSession(ctx, d, o)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if c.program && (s.PID == 0 || !canLook) || c.cases && len(s.cases) == 0 || o.only != "" && c.name != o.only {
			continue
		}
		run(c, func() error {
			err := c.run(ctx, s)
			s.peakMemory = max(s.peakMemory, resident(s.PID))
			if err != nil && ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		})
	}
	if err := s.Stop(); err != nil {
		return fmt.Errorf("stopping the plugin: %w", err)
	}
	run(check{name: "nothing is left behind"}, func() error { return leftovers(s, before) })
	return nil
}

func openSession(ctx context.Context, d Driver, o Options) (*session, error) {
	cases, err := Cases(o.Golden)
	if err != nil {
		return nil, err
	}
	running, err := d.Start()
	if err != nil {
		return nil, fmt.Errorf("starting the plugin: %w", err)
	}
	about, err := running.Client.Describe(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("asking for the description: %w", err), running.Stop())
	}
	s := &session{Running: running, driver: d, options: o, description: about, cases: cases}
	for _, c := range cases {
		s.requests = append(s.requests, c.Request)
	}
	s.requests = append(s.requests, sampleRequests(about)...)
	s.requests = slices.DeleteFunc(s.requests, func(q Request) bool { return !s.has(q.Method) })
	return s, nil
}

// has reports whether the plugin supports a method.
func (s *session) has(method string) bool {
	return slices.Contains(s.description.GetCapabilities(), sdk.CapabilityOf(method))
}

// leftovers checks that a program left nothing, or that the goroutines of a plugin in this process have ended.
func leftovers(s *session, before goleak.Option) error {
	if s.PID == 0 {
		return goleak.Find(before,
			// go-plugin reads the test's own standard output and never stops
			goleak.IgnoreAnyFunction("github.com/hashicorp/go-plugin.copyChan"))
	}
	return s.Running.leftovers()
}
