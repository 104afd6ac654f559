package sandbox

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/plugins/simulator"
)

// Runner runs the scenarios that the console requests, one at a time for each business in test mode. The replica
// that ran the latest scenario keeps it in memory. The method Run owns its goroutines.
type Runner struct {
	db      *postgres.DB
	options Options // the hub's URL, and the directory of keys

	mu         sync.Mutex
	runContext context.Context // nil unless it runs
	runs       map[core.BusinessID]*run
	running    sync.WaitGroup
}

// run is one run of a scenario.
type run struct {
	console.ScenarioRun
	report *Report // nil before it starts
}

// NewRunner returns a Runner. Of the options it uses the URL, the directory and the token.
func NewRunner(db *postgres.DB, options Options) *Runner { return &Runner{db: db, options: options} }

// runTimeout bounds a scenario: a rush, its last responses and its rides.
const runTimeout = 2 * time.Minute

// Run enables scenarios until the context ends, and waits for the running ones.
func (p *Runner) Run(ctx context.Context) {
	p.mu.Lock()
	p.runContext = ctx
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.runContext = nil // no scenario starts after this
	p.mu.Unlock()
	p.running.Wait()
}

// SimulatedPlatforms returns the platforms with simulated aggregators.
func (p *Runner) SimulatedPlatforms(ctx context.Context, business core.BusinessID) ([]string, error) {
	all, err := platforms.New(p.db).List(ctx, business)
	return slices.Sorted(maps.Keys(simulatedPlatforms(business, all))), err
}

// StartScenario starts a scenario. It returns Conflict for a business that is not in test mode, or if another scenario
// is running. It returns Invalid if the store takes no orders.
func (p *Runner) StartScenario(ctx context.Context, business core.BusinessID, s console.Scenario,
	change access.Change) error {
	if err := s.Check(); err != nil {
		return err
	}
	if _, err := p.faults().simulated(ctx, business); err != nil {
		return err
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64() >> 11 // exact in every JSON parser
	}
	g := &run{ScenarioRun: console.ScenarioRun{Scenario: s, RequestedBy: change.Actor, StartedAt: p.db.Clock().Now()}}
	playing, err := p.reserve(business, g)
	if err != nil {
		return err
	}
	scenario, err := p.open(ctx, business, g)
	if err == nil {
		change.Object, change.After = "sandbox/"+s.Kind,
			map[string]any{"store": s.Store, "count": s.Count, "rate": s.Rate, "seed": s.Seed, "platform": s.Platform,
				"places": s.Locations, "step_ms": s.Step.Milliseconds(), "share": s.CancelShare}
		err = consolelists.New(p.db).Record(ctx, change)
	}
	if err != nil {
		p.end(g, err)
		p.running.Done()
		return err
	}
	go func() {
		defer p.running.Done()
		ctx, cancel := context.WithTimeout(playing, runTimeout)
		defer cancel()
		p.end(g, scenario.run(ctx, s))
	}()
	return nil
}

// reserve ensures that only this scenario runs for the business until end. The caller must call running.Done after
// it.
func (p *Runner) reserve(business core.BusinessID, g *run) (context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runContext == nil {
		return nil, core.Errorf(core.Unavailable, "the hub is starting or stopping")
	}
	if before := p.runs[business]; before != nil && before.EndedAt.IsZero() {
		return nil, core.Errorf(core.Conflict, "a scenario is already running")
	}
	if p.runs == nil {
		p.runs = map[core.BusinessID]*run{}
	}
	p.runs[business] = g
	p.running.Add(1)
	return p.runContext, nil
}

func (p *Runner) end(g *run, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.EndedAt = p.db.Clock().Now()
	if err != nil {
		g.Failure = err.Error()
	}
}

// open reads the store and its menus.
func (p *Runner) open(ctx context.Context, business core.BusinessID, g *run) (*Scenario, error) {
	options := p.options
	options.Business, options.Store, options.Seed = int64(business), g.Store, g.Seed
	if g.Platform != "" {
		options.Platforms = []string{g.Platform}
	}
	scenario, err := Open(ctx, options, access.Access{Keys: accessdb.New(p.db), Clock: p.db.Clock()}, p.db)
	if err != nil {
		return nil, core.Errorf(core.Invalid, "%s", strings.TrimPrefix(err.Error(), "--"))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g.report = scenario.Report
	return scenario, nil
}

// run runs a scenario like `servery simulate`.
func (s *Scenario) run(ctx context.Context, scenario console.Scenario) error {
	defer s.client.CloseIdleConnections()
	spec := simulator.OrderSpec{}
	if scenario.Kind == "rider" {
		spec = simulator.OrderSpec{Mode: simulator.Delivery, DeliveredBy: simulator.BySelf}
	}
	accepted := s.Place(ctx, spec, scenario.Count, scenario.Rate)
	switch scenario.Kind {
	case "rider":
		s.MoveRiders(ctx, accepted, scenario.Locations, scenario.Step)
	case "cancel":
		s.CancelSome(ctx, accepted, scenario.CancelShare)
	case "edit":
		s.Edit(ctx, accepted)
	}
	return cmp.Or(ctx.Err(), s.Report.Failure())
}

// LatestRun returns the latest scenario of a business. It returns false if none ran here.
func (p *Runner) LatestRun(ctx context.Context, business core.BusinessID) (console.ScenarioRun, bool, error) {
	p.mu.Lock()
	g := p.runs[business]
	if g == nil {
		p.mu.Unlock()
		return console.ScenarioRun{}, false, nil
	}
	simulated, report := g.ScenarioRun, g.report
	p.mu.Unlock()
	var err error
	if report != nil {
		simulated.Deliveries, err = consolelists.New(p.db).ScenarioDeliveries(ctx, business, report.acceptedIDs(),
			simulated.StartedAt.Add(-clockTolerance))
		for _, line := range report.lines() {
			simulated.Calls = append(simulated.Calls,
				console.ScenarioCall{Name: line.Call, Count: line.Count, Failed: line.Failed,
					LastResponse: line.LastMessage,
					P50:          toDuration(line.P50), P99: toDuration(line.P99)})
		}
	}
	return simulated, true, err
}
