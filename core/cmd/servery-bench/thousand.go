package main

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// There are a thousand endpoints: a hundred businesses with one for each of ten
// event types, every one a host of its own. The tenth of each can be made dead.
const (
	crowdBusinesses = 100
	crowdEvents     = 10
)

// crowd is a replica with many endpoints.
type crowd struct {
	*replica
	members []member
}

// member is one endpoint of a crowd.
type member struct {
	subscription webhook.Subscription
	host         string
	mayDie       bool
}

// measureThousand works off the same deliveries to a thousand endpoints, once
// with all of them well and once with a tenth dead: half of that tenth refuse
// connections, the others hang. The well ones have the same to do both times,
// and as many deliveries of others stand beside theirs.
func measureThousand(ctx context.Context, b *bench) ([]figure, error) {
	each := pick(b, 60, 20)
	c, err := openCrowd(ctx, b, "thousand")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("thousand", b.log)
	defer c.close()
	var well, beside []float64
	hung, attempts := 0, int64(0)
	var costs [2]string                                  // well, dead
	if _, err := c.round(ctx, b, 2, false); err != nil { // connections, statements, statistics
		return nil, err
	}
	for round := range pick(b, 2, 1) {
		for turn := range 2 { // another goes first in every round
			dead := (round+turn)%2 == 1
			before, err := c.failures(ctx)
			if err != nil {
				return nil, err
			}
			var rate float64
			if err := b.profiled(fmt.Sprintf("thousand-%d-dead-%v", round, dead), func() (err error) {
				rate, err = c.round(ctx, b, each, dead)
				return err
			}); err != nil {
				return nil, err
			}
			if !dead {
				well, costs[0] = append(well, rate), c.queue.cost()
				continue
			}
			beside, costs[1] = append(beside, rate), c.queue.cost()
			if hung, err = c.sink.hung(); err != nil {
				return nil, err
			}
			if attempts, err = c.failures(ctx); err != nil {
				return nil, err
			}
			attempts -= before
		}
	}
	f := medianFigure("deliveries/thousand endpoints", perSecond, beside).against(well)
	return []figure{f.judged(">= 95%", *f.Ratio >= 0.95).noted(fmt.Sprintf(
		"%d due at each of %d endpoints, a tenth dead: half refuse, half hang (%d failed attempts recorded in the last round, %d left hanging; %s); what the other nine tenths got; floor: the same with that tenth well (%s)",
		each, len(c.members), attempts, hung, costs[1], costs[0]))}, nil
}

func openCrowd(ctx context.Context, b *bench, name string) (*crowd, error) {
	r, err := openReplica(ctx, b, name, webhook.Seconds)
	if err != nil {
		return nil, err
	}
	c := &crowd{replica: r}
	if err := c.join(ctx); err != nil {
		r.close()
		return nil, err
	}
	return c, nil
}

// join makes businesses and endpoints.
func (c *crowd) join(ctx context.Context) error {
	if err := c.sink.spread(crowdBusinesses * crowdEvents); err != nil {
		return err
	}
	for range crowdBusinesses {
		who, err := newTenant(ctx, c.db)
		if err != nil {
			return err
		}
		for i, event := range core.EventTypes()[:crowdEvents] {
			host := spreadAddress(len(c.members))
			s, err := subscribe(ctx, c.db, who.business, event, c.sink.at(host, "/hook"), webhook.Seconds)
			if err != nil {
				return err
			}
			c.members = append(c.members, member{s, host, i == crowdEvents-1})
		}
	}
	return nil
}

// round queues so many deliveries for each endpoint, then has them delivered
// and tells how many a second the endpoints got that are always well.
func (c *crowd) round(ctx context.Context, b *bench, each int, dead bool) (float64, error) {
	if err := c.change(ctx, dead); err != nil {
		return 0, err
	}
	if err := c.fill(ctx, each); err != nil {
		return 0, fmt.Errorf("filling the queue: %w", err)
	}
	if err := c.sink.reset(0); err != nil {
		return 0, err
	}
	all := each * len(c.members)
	wanted := all
	if dead {
		wanted -= each * crowdBusinesses
	}
	began := time.Now()
	c.start(b, all)
	defer c.halt()
	if err := c.sink.await(wanted, time.Minute); err != nil {
		return 0, err
	}
	came, err := c.sink.arrivals()
	if err != nil {
		return 0, err
	}
	ids, last := map[string]bool{}, int64(0)
	for _, a := range came {
		if a.Path == "/hook" {
			ids[a.ID], last = true, max(last, a.At)
		}
	}
	if n := all - each*crowdBusinesses; len(ids) != n {
		return 0, fmt.Errorf("%d deliveries reached the endpoints that are well, not %d", len(ids), n)
	}
	if !dead {
		err = c.awaitRecorded(ctx, 20*time.Second)
	}
	c.halt()
	if err == nil {
		err = c.forgetQueue(ctx)
	}
	return float64(len(ids)) / time.Unix(0, last).Sub(began).Seconds(), err
}

// change makes the tenth of the endpoints well or dead. Nobody serves at the
// hosts of those that refuse.
func (c *crowd) change(ctx context.Context, dead bool) error {
	for i, m := range c.members {
		if !m.mayDie {
			continue
		}
		url := c.sink.at(m.host, "/mortal")
		switch {
		case dead && i/crowdEvents%2 == 0:
			url = c.sink.at("127.2"+m.host[len("127.1"):], "/mortal")
		case dead:
			url = c.sink.at(m.host, hangPath)
		}
		if _, err := c.floor.bun.ExecContext(ctx, `UPDATE webhooks SET url = ?, version = version + 1 WHERE id = ?`, url, m.subscription.ID); err != nil {
			return err
		}
	}
	return nil
}

// fill queues deliveries to all endpoints, one each in turn.
func (c *crowd) fill(ctx context.Context, each int) error {
	return c.publishTogether(ctx, each*len(c.members), func(i int) core.Event {
		event, to := c.event(i), c.members[i%len(c.members)].subscription
		event.Business, event.Type = to.Business, to.EventType
		return event
	})
}

// failures is how many failed attempts are recorded.
func (c *crowd) failures(ctx context.Context) (int64, error) {
	return c.floor.count(ctx, `SELECT count(*) FROM attempts WHERE error_class <> ''`)
}
