package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/webhook"
)

// menuCountry is where the businesses are whose menus are measured: it decides
// which taxes and charges there are.
const menuCountry = "IN"

// menuBench posts menus to the built hub and waits for their callbacks.
type menuBench struct{ *storeBench }

// openMenuBench brings up a fresh database with the hub on it; close ends all of it.
func openMenuBench(ctx context.Context, b *bench, name string) (menuBench, error) {
	s, err := openStoreBench(ctx, b, name)
	return menuBench{s}, err
}

// business makes one whose callbacks go to the sink.
func (m menuBench) business(ctx context.Context) (tenant, error) {
	who, err := newTenant(ctx, m.db)
	if err != nil {
		return who, err
	}
	if _, err := m.floor.bun.ExecContext(ctx, `UPDATE businesses SET country = ?, currency = 'INR' WHERE id = ?`, menuCountry, who.business); err != nil {
		return who, err
	}
	for _, event := range []core.EventType{core.InventoryUpdate, core.StoreCreation} {
		if _, err := subscribe(ctx, m.db, who.business, event, m.sink.url, webhook.Seconds); err != nil {
			return who, err
		}
	}
	return who, nil
}

// stores makes n stores of a business and returns their ref_ids.
func (m menuBench) stores(ctx context.Context, who tenant, n int) ([]string, error) {
	refs, rows := make([]string, n), make([]map[string]string, n)
	for i := range refs {
		refs[i] = fmt.Sprintf("S-%d", i)
		rows[i] = map[string]string{"ref_id": refs[i], "name": "Harbour Street " + refs[i], "city": "Pune"}
	}
	body, err := json.Marshal(map[string]any{"stores": rows})
	if err == nil {
		_, err = m.storeBench.post(ctx, who, body, n, 0)
	}
	return refs, err
}

// menuJourney is one request of a menu from its POST to its callback.
type menuJourney struct {
	journey
	recorded time.Duration // from the request's arrival to the job's end, as the hub has noted them
}

// postMenu posts a request to a location.
func (h *hubProcess) postMenu(ctx context.Context, who tenant, location string, body []byte) (accepted, error) {
	return h.postTo(ctx, who, "/external/api/v1/inventory/locations/"+location+"/", body)
}

// post takes one request the whole way and checks that it came to so many
// objects created and updated and to no error.
func (m menuBench) post(ctx context.Context, who tenant, location string, body []byte, created, updated int) (menuJourney, error) {
	if err := m.sink.reset(0); err != nil {
		return menuJourney{}, err
	}
	taken, err := m.hub.postMenu(ctx, who, location, body)
	if err != nil {
		return menuJourney{}, err
	}
	if err := m.sink.await(1, 20*time.Second); err != nil {
		return menuJourney{}, fmt.Errorf("the callback: %w", err)
	}
	came, err := m.sink.arrivals()
	if err != nil {
		return menuJourney{}, err
	}
	if !strings.Contains(came[0].Head, taken.reference) {
		return menuJourney{}, fmt.Errorf("the callback is not of %s: %s", taken.reference, came[0].Head)
	}
	took := menuJourney{journey: journey{taken.answered.Sub(taken.sent), time.Unix(0, came[0].At).Sub(taken.answered)}}
	took.recorded, err = m.outcome(ctx, who, taken.reference, created, updated)
	return took, err
}

// postMaster is post of a whole menu to the master catalogue.
func (m menuBench) postMaster(ctx context.Context, who tenant, body []byte, created, updated int) (menuJourney, error) {
	return m.post(ctx, who, menu.MasterLocation, body, created, updated)
}

// outcome checks what a job came to and tells how long it took.
func (m menuBench) outcome(ctx context.Context, who tenant, reference string, created, updated int) (time.Duration, error) {
	var result string
	var began, ended time.Time
	if err := m.floor.bun.QueryRowContext(ctx, `SELECT result, created_at, finished_at FROM jobs WHERE business_id = ? AND id = ? AND state = 'done'`,
		who.business, reference).Scan(&result, &began, &ended); err != nil {
		return 0, fmt.Errorf("reading the job: %w", err)
	}
	var told struct {
		Stats map[string]struct{ Created, Updated, Errors int }
	}
	if err := json.Unmarshal([]byte(result), &told); err != nil {
		return 0, err
	}
	errors := 0
	for _, kind := range told.Stats {
		created, updated, errors = created-kind.Created, updated-kind.Updated, errors+kind.Errors
	}
	if created != 0 || updated != 0 || errors != 0 {
		return 0, fmt.Errorf("the request came to %s: %d created and %d updated too few, %d errors", result, created, updated, errors)
	}
	return ended.Sub(began), nil
}
