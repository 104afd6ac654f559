package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// storeBench posts requests of stores to the built hub and waits for their callbacks.
type storeBench struct {
	db    *postgres.DB // to make businesses
	floor *floorDatabase
	hub   *hubProcess
	sink  *sink
}

// openStoreBench brings up a fresh database with the hub on it; close ends all of it.
func openStoreBench(ctx context.Context, b *bench, name string) (*storeBench, error) {
	if _, err := b.pg.fresh(ctx, name); err != nil {
		return nil, err
	}
	return storeBenchOn(ctx, b, name)
}

// storeBenchOn is openStoreBench on a database that is there.
func storeBenchOn(ctx context.Context, b *bench, name string) (s *storeBench, err error) {
	s = &storeBench{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	address, err := b.pg.address(name)
	if err != nil {
		return s, err
	}
	if s.db, err = openSchema(ctx, address, b.log); err != nil {
		return s, err
	}
	if s.floor, err = openFloor(address, 2); err != nil {
		return s, err
	}
	if s.sink, err = startSink(ctx); err != nil {
		return s, err
	}
	s.hub, err = startHub(ctx, b, name, address)
	return s, err
}

func (s *storeBench) close() {
	if s.hub != nil {
		s.hub.stop()
	}
	if s.sink != nil {
		s.sink.close()
	}
	if s.floor != nil {
		s.floor.close()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
}

// business makes one whose callbacks go to the sink.
func (s *storeBench) business(ctx context.Context) (tenant, error) {
	who, err := newTenant(ctx, s.db)
	if err == nil {
		_, err = subscribe(ctx, s.db, who.business, core.StoreCreation, s.sink.url, webhook.Seconds)
	}
	return who, err
}

// journey is one request from its POST to its callback.
type journey struct {
	accept time.Duration // POST to answer
	job    time.Duration // answer to the head of the callback at the sink
}

// post takes one request the whole way and checks what became of its stores.
func (s *storeBench) post(ctx context.Context, who tenant, body []byte, created, updated int) (journey, error) {
	if err := s.sink.reset(0); err != nil {
		return journey{}, err
	}
	taken, err := s.hub.postStores(ctx, who, body)
	if err != nil {
		return journey{}, err
	}
	if err := s.sink.await(1, 20*time.Second); err != nil {
		return journey{}, fmt.Errorf("the callback: %w", err)
	}
	came, err := s.sink.arrivals()
	if err != nil {
		return journey{}, err
	}
	if !strings.Contains(came[0].Head, taken.reference) {
		return journey{}, fmt.Errorf("the callback is not of %s: %s", taken.reference, came[0].Head)
	}
	var result string
	if err := s.floor.bun.QueryRowContext(ctx, `SELECT result FROM jobs WHERE business_id = ? AND id = ? AND state = 'done'`,
		who.business, taken.reference).Scan(&result); err != nil {
		return journey{}, fmt.Errorf("reading the job: %w", err)
	}
	var stats struct{ Created, Updated, Errors int }
	if err := json.Unmarshal([]byte(result), &stats); err != nil {
		return journey{}, err
	}
	if stats.Created != created || stats.Updated != updated || stats.Errors != 0 {
		return journey{}, fmt.Errorf("the request came to %s, not to %d created and %d updated", result, created, updated)
	}
	return journey{taken.answered.Sub(taken.sent), time.Unix(0, came[0].At).Sub(taken.answered)}, nil
}

// storeRounds are the values of all rounds, in milliseconds.
type storeRounds struct {
	accept, created, updated, floorCreated, floorUpdated []float64
}

// measureStores posts a full request to fresh businesses, twice each, and
// writes the same rows the shortest way beside it.
func measureStores(ctx context.Context, b *bench) ([]figure, error) {
	body, origin, err := storeRequest(b.Stores, mostStores)
	if err != nil {
		return nil, err
	}
	s, err := openStoreBench(ctx, b, "stores")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("stores", b.log)
	defer s.close()
	warm, err := s.business(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.post(ctx, warm, body, mostStores, 0); err != nil {
		return nil, err
	}
	floor, err := s.floor.storeFloor(ctx, warm.business)
	if err != nil {
		return nil, err
	}
	defer floor.close()
	if err := floor.warm(ctx, s); err != nil {
		return nil, err
	}
	var rounds storeRounds
	for range pick(b, 7, 3) {
		if err := rounds.add(ctx, s, floor, body); err != nil {
			return nil, err
		}
	}
	peak, err := s.hub.memory("VmHWM")
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d %s stores, %.1f MB", mostStores, origin, float64(len(body))/1e6)
	return rounds.figures(what, peak), nil
}

// figures are those of all rounds; peak is the hub's memory at most, in megabytes.
func (r storeRounds) figures(what string, peak float64) []figure {
	accept := medianFigure("stores/accept", milliseconds, r.accept)
	created := medianFigure("stores/job created", milliseconds, r.created).against(r.floorCreated)
	updated := medianFigure("stores/job updated", milliseconds, r.updated).against(r.floorUpdated)
	return []figure{
		accept.judged("< 150 ms", accept.Measured < 150).noted(what + ", POST to answer"),
		created.judged("<= 3x", *created.Ratio <= 3).noted("answer to the callback at the sink; floor: COPY and merge"),
		updated.judged("<= 3x", *updated.Ratio <= 3).noted(fmt.Sprintf("the same rows again; the hub held %.0f MB at most", peak)),
	}
}

// warm runs the floor once, as the hub has had its first request by then.
func (s *storeFloor) warm(ctx context.Context, of *storeBench) error {
	who, err := newTenant(ctx, of.db)
	if err == nil {
		_, err = s.run(ctx, who.business)
	}
	return err
}

// add makes one round: created and again, each beside its floor.
func (r *storeRounds) add(ctx context.Context, s *storeBench, floor *storeFloor, body []byte) error {
	who, err := s.business(ctx)
	if err != nil {
		return err
	}
	beside, err := newTenant(ctx, s.db)
	if err != nil {
		return err
	}
	for _, turn := range []struct {
		created, updated int
		jobs, floors     *[]float64
	}{{mostStores, 0, &r.created, &r.floorCreated}, {0, mostStores, &r.updated, &r.floorUpdated}} {
		least, err := floor.run(ctx, beside.business)
		if err != nil {
			return fmt.Errorf("the floor of stores: %w", err)
		}
		took, err := s.post(ctx, who, body, turn.created, turn.updated)
		if err != nil {
			return err
		}
		*turn.floors = append(*turn.floors, inMilliseconds(least))
		*turn.jobs = append(*turn.jobs, inMilliseconds(took.job))
		r.accept = append(r.accept, inMilliseconds(took.accept))
	}
	return nil
}
