package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// Menus are published to aggregator B, whose part the sink plays.
const publishPlatform = "aggregator-b"

// publishBench has a business whose stores, all of the same menu, are listed on a
// platform, and another one that sends menus beside it.
type publishBench struct {
	*chain
	beside tenant
	stores int
	prices int // changes of the prices so far
	jobs   int // requests of the other business so far
}

// measurePublishMenus changes what all items cost on the platform, and waits
// until every store's menu has arrived there.
func measurePublishMenus(ctx context.Context, b *bench) ([]figure, error) {
	m, err := openMenuBench(ctx, b, "publishmenus")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("publishmenus", b.log)
	defer m.close()
	p, err := m.publishBench(ctx, pick(b, 500, 100))
	if err != nil {
		return nil, err
	}
	var rates, floors, alone, beside []float64
	size := 0
	for range pick(b, 3, 2) {
		for range pick(b, 3, 2) {
			took, err := p.job(ctx)
			if err != nil {
				return nil, err
			}
			alone = append(alone, took)
		}
		came, jobs, err := p.round(ctx)
		if err != nil {
			return nil, err
		}
		floor, err := p.floorOf(ctx, came)
		if err != nil {
			return nil, err
		}
		size = came[0].Size
		rates, floors, beside = append(rates, rateOf(came)), append(floors, floor), append(beside, median(jobs))
	}
	sent := medianFigure("publish/menus", perSecond, rates).against(floors)
	job := medianFigure("publish/beside", milliseconds, beside)
	job.Floor, job.Ratio = new(median(alone)), new(job.Measured/median(alone))
	return []figure{
		sent.judged(">= 20/s", sent.Measured >= 20).noted(fmt.Sprintf(
			"stores of %d items after a change of the master's prices, rendered by a plugin and sent, %d stores a round, %d KB each; floor: a plain loop that posts such bodies", storeItems, p.stores, size>>10)),
		job.judged("<= 1.3x", *job.Ratio <= 1.3).noted(fmt.Sprintf("the job of a menu of %d items of another business meanwhile; floor: the same alone", checkedItems)),
	}, nil
}

// publishBench makes the businesses; every store has been published once then.
func (m menuBench) publishBench(ctx context.Context, stores int) (*publishBench, error) {
	who, err := m.business(ctx)
	if err != nil {
		return nil, err
	}
	p := &publishBench{chain: &chain{menuBench: m, who: who}, stores: stores}
	if p.beside, err = m.business(ctx); err != nil {
		return nil, err
	}
	if p.chain.stores, err = m.stores(ctx, who, 1); err != nil {
		return nil, err
	}
	if err := m.played(ctx, who.business); err != nil {
		return nil, err
	}
	if _, err := m.postMaster(ctx, who, p.menu(), storeItems, 0); err != nil {
		return nil, err
	}
	if _, err := m.post(ctx, who, p.chain.stores[0], p.sold(), 0, storeItems); err != nil {
		return nil, err
	}
	if err := p.fill(ctx, stores-1); err != nil {
		return nil, err
	}
	if _, err := m.floor.bun.ExecContext(ctx, `UPDATE stores SET excluded_platforms = '{}' WHERE business_id = ?`, who.business); err != nil {
		return nil, err
	}
	if _, err := p.job(ctx); err != nil {
		return nil, err
	}
	_, _, err = p.round(ctx)
	return p, err
}

// menu is the items of the business at prices that the platform has not had yet.
func (p *publishBench) menu() []byte {
	p.prices++
	prices := []object{{"platform": publishPlatform, "price": float64(p.prices) + 0.25}}
	return plainItems(storeItems, func(int) object {
		return object{"price": 4.5, "description": "Slow-cooked and served with rice", "platform_pricing": prices}
	})
}

// sold is the same items at a store, which has no prices of its own for the platform.
func (p *publishBench) sold() []byte {
	return plainItems(storeItems, func(int) object { return object{"price": 4.5} })
}

func plainItems(n int, with func(n int) object) []byte {
	items := make([]object, n)
	for i := range items {
		items[i] = with(i)
		items[i]["ref_id"], items[i]["title"] = fmt.Sprintf("I-%d", i), fmt.Sprintf("Dish %d", i)
	}
	body, err := json.Marshal(object{"items": items})
	if err != nil {
		panic(err) // maps of plain values
	}
	return body
}

// job has the other business change a menu and tells how many milliseconds it took.
func (p *publishBench) job(ctx context.Context) (float64, error) {
	p.jobs++
	taken, err := p.hub.postMenu(ctx, p.beside, "-1", plainItems(checkedItems, func(int) object { return object{"price": float64(p.jobs)} }))
	if err != nil {
		return 0, err
	}
	created, updated := 0, checkedItems
	if p.jobs == 1 {
		created, updated = checkedItems, 0
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		took, err := p.outcome(ctx, p.beside, taken.reference, created, updated)
		if err == nil || time.Now().After(deadline) {
			return inMilliseconds(took), err
		}
	}
}

// round changes the prices, and has the other business send menus until every
// store's has arrived; it returns these, and how long the jobs took.
func (p *publishBench) round(ctx context.Context) (came []arrival, jobs []float64, err error) {
	if err := p.sink.reset(0); err != nil {
		return nil, nil, err
	}
	if _, err := p.hub.postMenu(ctx, p.who, "-1", p.menu()); err != nil {
		return nil, nil, err
	}
	for deadline := time.Now().Add(2 * time.Minute); len(came) < p.stores; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return nil, nil, fmt.Errorf("%d of %d menus arrived", len(came), p.stores)
		}
		all, err := p.sink.arrivals()
		if err != nil {
			return nil, nil, err
		}
		came = came[:0]
		for _, a := range all {
			if strings.HasPrefix(a.Path, "/api/restaurants/") {
				came = append(came, a)
			}
		}
		if len(came) > 0 && len(came) < p.stores*4/5 {
			took, err := p.job(ctx)
			if err != nil {
				return nil, nil, err
			}
			jobs = append(jobs, took)
		}
	}
	left, err := p.floor.count(ctx, `SELECT count(*) FROM publications WHERE business_id = ? AND state = 'failed'`, p.who.business)
	if err == nil && (left > 0 || len(came) != p.stores || len(jobs) == 0) {
		err = fmt.Errorf("%d menus arrived, %d failed, %d jobs were done meanwhile", len(came), left, len(jobs))
	}
	return came, jobs, err
}

// rateOf is how many came a second.
func rateOf(came []arrival) float64 {
	first, last := came[0].At, came[0].At
	for _, a := range came {
		first, last = min(first, a.At), max(last, a.At)
	}
	return float64(len(came)-1) / time.Duration(last-first).Seconds()
}

// floorOf posts bodies of the same sizes one after the other and tells how many a second.
func (p *publishBench) floorOf(ctx context.Context, came []arrival) (float64, error) {
	address := strings.TrimSuffix(p.sink.url, "/hook") + "/floor"
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	began := time.Now()
	for _, a := range came {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(make([]byte, a.Size)))
		if err != nil {
			return 0, err
		}
		answer, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return 0, err
		}
	}
	return float64(len(came)) / time.Since(began).Seconds(), nil
}

// played has the sink be the aggregator of a business.
func (b *storeBench) played(ctx context.Context, business core.BusinessID) error {
	return postgres.Platforms{DB: b.db}.Set(ctx, business, core.Platform{Name: publishPlatform, ServedBy: publishPlatform}, func(a *relay.Access) error {
		address := strings.TrimSuffix(b.sink.url, "/hook")
		a.Addresses = map[string]string{"catalogue_api": address, "delivery_api": address}
		a.Secrets = map[string]string{"access_token": "measured"}
		return nil
	})
}
