package main

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
	"github.com/servery-hub/servery/plugins/simulator"
)

// playground plays the scenarios that the console asks for, one of a business at
// a time, for businesses in test mode alone. What was played last is kept in
// memory, by the replica that played it. run owns its goroutines.
type playground struct {
	db    *postgres.DB
	flags simulateFlags // where the hub is, and where keys are kept

	mu      sync.Mutex
	playing context.Context // nil but while it runs
	games   map[core.BusinessID]*game
	running sync.WaitGroup
}

// game is a scenario that is or was played.
type game struct {
	console.Played
	report *simulateReport // nil before it has begun
}

// playLimit is how long a scenario may take: a rush, its last answers and its riders' ways.
const playLimit = 2 * time.Minute

// run lets scenarios be played until the context ends, and waits for their end.
func (p *playground) run(ctx context.Context) {
	p.mu.Lock()
	p.playing = ctx
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.playing = nil // nothing is started from now on
	p.mu.Unlock()
	p.running.Wait()
}

// Simulated are the platforms whose aggregators are simulated.
func (p *playground) Simulated(ctx context.Context, business core.BusinessID) ([]string, error) {
	all, err := postgres.Platforms{DB: p.db}.List(ctx, business)
	return slices.Sorted(maps.Keys(simulatedPlatforms(business, all))), err
}

// Play begins a scenario; Conflict for a business that is not in test mode, or
// while another one is played, Invalid where the store cannot be ordered from.
func (p *playground) Play(ctx context.Context, business core.BusinessID, s console.Scenario, change access.Change) error {
	if err := s.Check(); err != nil {
		return err
	}
	if _, err := p.desk().simulated(ctx, business); err != nil {
		return err
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64() >> 11 // exact in every reader of JSON
	}
	g := &game{Played: console.Played{Scenario: s, By: change.Actor, Begun: p.db.Clock().Now()}}
	playing, err := p.reserve(business, g)
	if err != nil {
		return err
	}
	scene, err := p.open(ctx, business, g)
	if err == nil {
		change.Object, change.After = "store/"+s.Store, map[string]any{"kind": s.Kind, "count": s.Count, "rate": s.Rate, "seed": s.Seed, "platform": s.Platform, "places": s.Places, "step_ms": s.Step.Milliseconds(), "share": s.Share}
		err = postgres.Console{DB: p.db}.Record(ctx, change)
	}
	if err != nil {
		p.end(g, err)
		p.running.Done()
		return err
	}
	go func() {
		defer p.running.Done()
		ctx, cancel := context.WithTimeout(playing, playLimit)
		defer cancel()
		p.end(g, scene.play(ctx, s))
	}()
	return nil
}

// reserve makes sure that nothing else is played for the business until end; the
// caller calls running.Done then.
func (p *playground) reserve(business core.BusinessID, g *game) (context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.playing == nil {
		return nil, core.Errorf(core.Unavailable, "the hub is starting or stopping")
	}
	if before := p.games[business]; before != nil && before.Ended.IsZero() {
		return nil, core.Errorf(core.Conflict, "a scenario is being played already")
	}
	if p.games == nil {
		p.games = map[core.BusinessID]*game{}
	}
	p.games[business] = g
	p.running.Add(1)
	return p.playing, nil
}

func (p *playground) end(g *game, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.Ended = p.db.Clock().Now()
	if err != nil {
		g.Failure = err.Error()
	}
}

// open finds the store and its menus.
func (p *playground) open(ctx context.Context, business core.BusinessID, g *game) (*simulation, error) {
	flags := p.flags
	flags.Business, flags.Store, flags.Seed = int64(business), g.Store, g.Seed
	if g.Platform != "" {
		flags.Platform = []string{g.Platform}
	}
	scene, err := flags.open(ctx, access.Access{Records: postgres.Access{DB: p.db}, Clock: p.db.Clock()}, p.db)
	if err != nil {
		return nil, core.Errorf(core.Invalid, "%s", strings.TrimPrefix(err.Error(), "--"))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g.report = scene.report
	return scene, nil
}

// play plays a scenario as `servery simulate` does.
func (s *simulation) play(ctx context.Context, scenario console.Scenario) error {
	defer s.client.CloseIdleConnections()
	wish := simulator.Wish{}
	if scenario.Kind == "rider" {
		wish = simulator.Wish{Mode: simulator.Delivery, Carrier: simulator.BySelf}
	}
	taken := s.placeAll(ctx, wish, scenario.Count, scenario.Rate)
	switch scenario.Kind {
	case "rider":
		s.moveRiders(ctx, taken, scenario.Places, scenario.Step)
	case "cancel":
		s.cancelSome(ctx, taken, scenario.Share)
	case "edit":
		s.editAll(ctx, taken)
	}
	return cmp.Or(ctx.Err(), s.report.failure())
}

// Latest is the latest scenario of a business; false where none was played here.
func (p *playground) Latest(ctx context.Context, business core.BusinessID) (console.Played, bool, error) {
	p.mu.Lock()
	g := p.games[business]
	if g == nil {
		p.mu.Unlock()
		return console.Played{}, false, nil
	}
	played, report := g.Played, g.report
	p.mu.Unlock()
	var err error
	if report != nil {
		played.Arrivals, err = postgres.Console{DB: p.db}.Arrivals(ctx, business, report.known(), played.Begun.Add(-clocksApart))
		for _, line := range report.lines() {
			played.Calls = append(played.Calls, console.PlayedCall{Name: line.Call, Count: line.Count, Failed: line.Failed, Said: line.Said, P50: inTime(line.P50), P99: inTime(line.P99)})
		}
	}
	return played, true, err
}
