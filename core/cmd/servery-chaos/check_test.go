package chaos

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// checkArrivals holds what arrived against what was accepted.
func (s *chaosRun) checkArrivals() {
	for _, wrong := range slices.Concat(s.load.problems, s.pos.problems(), s.second.problems(), s.rejecting.problems()) {
		s.t.Errorf("wrong: %s", wrong)
	}
	got := s.pos.allArrivals()
	accepted := map[string]bool{}
	for _, a := range got {
		if a.order == 0 && a.accepted {
			accepted[a.content] = true
		}
	}
	for reference, path := range s.load.references {
		if !accepted[reference] {
			s.t.Errorf("lost: %s, accepted at %s", reference, path)
		}
	}
	s.checkOrders("the POS", got, func(o *acceptedOrder) int { return 1 + o.steps })
	s.checkOrders("the second endpoint", s.second.allArrivals(), func(*acceptedOrder) int { return 1 })
	s.checkOrderIDs()
	s.checkIDs("the POS", got)
	s.checkIDs("the second endpoint", s.second.allArrivals())
	s.checkIDs("the endpoint that refuses", s.rejecting.allArrivals())
}

// checkOrders makes sure that an endpoint was told of every order, as far as it
// must be at least, and in order.
func (s *chaosRun) checkOrders(where string, got []arrival, atLeast func(*acceptedOrder) int) {
	firsts, accepted := map[int64][]string{}, map[string]bool{}
	for _, a := range got {
		if a.order != 0 && !slices.Contains(firsts[a.order], a.content) {
			firsts[a.order] = append(firsts[a.order], a.content)
		}
		if a.accepted {
			accepted[fmt.Sprint(a.order, a.content)] = true
		}
	}
	for id, order := range s.load.orders {
		came, expected := firsts[id], order.expected()
		if len(came) < atLeast(order) {
			s.t.Errorf("lost: %s was told %v of order %d (%s), %d steps of which were accepted", where, came, id,
				order.key, order.steps)
		}
		if len(came) > len(expected) || !slices.Equal(came, expected[:len(came)]) {
			s.t.Errorf("out of order: %s was told %v of order %d (%s)", where, came, id, order.key)
		}
		for _, what := range came {
			if !accepted[fmt.Sprint(id, what)] {
				s.t.Errorf("lost: %s never accepted %s of order %d", where, what, id)
			}
		}
	}
}

// checkOrderIDs makes sure that what a platform calls an order has one id, and each id one such name.
func (s *chaosRun) checkOrderIDs() {
	idOf, keyOf := map[string]int64{}, map[int64]string{}
	for id, order := range s.load.orders {
		idOf[order.key], keyOf[id] = id, order.key
	}
	for _, a := range slices.Concat(s.pos.allArrivals(), s.second.allArrivals()) {
		if a.content != "Placed" {
			continue
		}
		if id, known := idOf[a.key]; known && id != a.order || a.key == "" {
			s.t.Errorf("doubled: the order %q is %d and %d", a.key, id, a.order)
		}
		if key, known := keyOf[a.order]; known && key != a.key {
			s.t.Errorf("confused: %d is the order %q and %q", a.order, key, a.key)
		}
		idOf[a.key], keyOf[a.order] = a.order, a.key
	}
}

// checkState makes sure that stores and menus are in the end what the last accepted request
// made of them, or one without an answer after it.
func (s *chaosRun) checkState() {
	for path, allowed := range s.load.possibleNumbers {
		var got struct {
			Name  string
			Items []struct {
				RefID string `json:"ref_id"`
				Price float64
			}
		}
		status, err := s.load.send("GET", path, s.tenant.pos, "", &got)
		if err != nil || status != http.StatusOK {
			s.t.Errorf("lost: %s answers %d %v", path, status, err)
			continue
		}
		number, _ := strconv.Atoi(strings.TrimPrefix(got.Name, "Till "))
		for _, item := range got.Items {
			if item.RefID == "dal" {
				number = int(item.Price)
			}
		}
		if !slices.Contains(allowed, number) {
			s.t.Errorf("lost: %s is at %d, not at one of %v", path, number, allowed)
		}
	}
}

// checkIDs makes sure that every event has one webhook-id, and every id one event.
func (s *chaosRun) checkIDs(where string, got []arrival) {
	idOf, eventOf := map[string]string{}, map[string]string{}
	for _, a := range got {
		event := fmt.Sprint(a.order, " ", a.content)
		if id, known := idOf[event]; known && id != a.webhookID {
			s.t.Errorf("doubled: %s was told %s under %s and %s; of the order it was told %v", where, event, id,
				a.webhookID, eventsOf(a.order, got))
		}
		if other, known := eventOf[a.webhookID]; known && other != event {
			s.t.Errorf("confused: %s was told %s and %s under %s", where, event, other, a.webhookID)
		}
		idOf[event], eventOf[a.webhookID] = a.webhookID, event
	}
}

// eventsOf is all that arrived of an order, in its order.
func eventsOf(order int64, got []arrival) (list []string) {
	for _, a := range got {
		if a.order == order {
			list = append(list, a.content+" "+a.webhookID)
		}
	}
	return list
}

// checkRelays makes sure that aggregator B was told of every accepted status of a
// rider, in order, each by one call.
func (s *chaosRun) checkRelays() {
	s.aggregators.mu.Lock()
	defer s.aggregators.mu.Unlock()
	firsts, accepted, keys := map[string][]string{}, map[string]bool{}, map[string]string{}
	for _, r := range s.aggregators.relayed {
		event := r.order + " " + r.state
		if !slices.Contains(firsts[r.order], r.state) {
			firsts[r.order] = append(firsts[r.order], r.state)
			keys[event] = r.key
		}
		if keys[event] != r.key {
			s.t.Errorf("doubled: aggregator B was told %s under %s and %s", event, keys[event], r.key)
		}
		accepted[event] = accepted[event] || r.accepted
	}
	for id, order := range s.load.orders {
		if !order.rider {
			continue
		}
		came := firsts[order.key]
		if len(came) < order.steps {
			s.t.Errorf("lost: aggregator B was told %v of order %d (%s), %d statuses of which were accepted", came, id,
				order.key, order.steps)
		}
		if len(came) > len(riderStatusesB) || !slices.Equal(came, riderStatusesB[:len(came)]) {
			s.t.Errorf("out of order: aggregator B was told %v of order %d (%s)", came, id, order.key)
		}
		for _, state := range came {
			if !accepted[order.key+" "+state] {
				s.t.Errorf("lost: aggregator B never accepted %s of order %d", state, id)
			}
		}
	}
}

// checkRetries makes sure that deliveries were tried as often as they should be,
// that every attempt is on record once, and that an order retry counts right.
func (s *chaosRun) checkRetries() {
	s.t.Helper()
	none := func(what, query string) {
		s.t.Helper()
		if n := s.cluster.number(query); n != 0 {
			s.t.Errorf("retries: %d %s", n, what)
		}
	}
	none("deliveries of the business that refuses nothing have failed",
		fmt.Sprintf(`SELECT count(*) FROM deliveries WHERE business_id = %d AND state = 'failed'`, s.tenant.id))
	none("deliveries have failed after another number of attempts than six",
		`SELECT count(*) FROM deliveries WHERE state = 'failed' AND attempts <> 6`)
	none("attempts are on record more than once",
		`SELECT count(*) FROM (SELECT FROM attempts GROUP BY delivery_id, n, started_at HAVING count(*) > 1) AS doubled`)
	none("calls to aggregators are on record more than once",
		`SELECT count(*) FROM (SELECT FROM call_attempts GROUP BY call_id, n, started_at
			HAVING count(*) > 1) AS doubled`)
	// What a hub was at when it was killed or stopped is tried once more under the same number.
	none("deliveries have fewer attempts on record than they count",
		`SELECT count(*) FROM deliveries d LEFT JOIN (SELECT delivery_id, count(*) AS kept, max(n) AS last
		FROM attempts GROUP BY delivery_id) a ON a.delivery_id = d.id
			WHERE coalesce(a.kept < d.attempts OR a.last > d.attempts, true)`)
	refused := s.cluster.number(fmt.Sprintf(`SELECT count(*) FROM orders WHERE business_id = %d AND id %% 2 = 1`,
		s.rejectingTenant.id))
	if failed := s.cluster.number(`SELECT count(*) FROM deliveries WHERE state = 'failed'`); failed != refused ||
		refused == 0 {
		s.t.Errorf("retries: %d deliveries have failed of %d that were refused", failed, refused)
	}
	s.rejecting.rejecting.Store(false)
	asking := &load{base: s.load.base, client: &http.Client{Timeout: waitTimeout}, tenant: s.rejectingTenant,
		references: map[string]string{}}
	now := time.Now()
	outcome := "webhook_retry " +
		asking.sendOnce("webhook_retry", webhooksPath+"retry/",
			fmt.Sprintf(`{"event_type":18,"start_time":%d,"end_time":%d}`,
				s.began.UnixMilli(), now.Add(time.Second).UnixMilli()))
	asking.client.CloseIdleConnections()
	var told []arrival
	eventually(s.t, waitTimeout, func() error {
		told = slices.DeleteFunc(s.rejecting.allArrivals(), func(a arrival) bool { return a.content != outcome })
		if len(told) == 0 {
			return fmt.Errorf("the order retry is not answered: %v", asking.problems)
		}
		return nil
	})
	if told[0].retried != refused || told[0].failed != 0 {
		s.t.Errorf("retries: an order retry sent %d again of %d, and %d were refused", told[0].retried, refused,
			told[0].failed)
	}
	for _, a := range s.pos.allArrivals() {
		if strings.HasPrefix(a.content, "webhook_retry") && (a.failed > a.retried || a.retried < 0) {
			s.t.Errorf("retries: %s failed %d times of %d", a.content, a.failed, a.retried)
		}
	}
	s.drain()
}

// Some more than before may be held: the hubs' pools keep connections for a while.
const (
	moreGoroutines = 20
	moreSockets    = 40
)

// checkIdle makes sure that hubs with nothing to do hold no more than before the work.
func (s *chaosRun) checkIdle() {
	for _, w := range []*proxy{s.balancer, s.pos.proxy, s.second.proxy, s.rejecting.proxy} {
		w.closeSome()
	}
	for _, h := range s.hubs {
		if err := await(waitTimeout, func() error {
			n, err := h.goroutines()
			now := idleUsage{n, sockets(h.process.Process.Pid)}
			if err == nil && (now.goroutines > s.idle[h].goroutines+moreGoroutines ||
				now.sockets > s.idle[h].sockets+moreSockets) {
				err = fmt.Errorf("left over: %s holds %+v, before the work %+v", h.name, now, s.idle[h])
			}
			return err
		}); err != nil {
			s.t.Error(err)
		}
	}
	for _, queue := range []string{"delivery_queue", "job_queue", "call_queue", "publications"} {
		if n := s.cluster.number(`SELECT count(*) FROM ` + queue + ` WHERE owner IS NOT NULL`); n != 0 {
			s.t.Errorf("left over: %d leases in %s", n, queue)
		}
	}
}

// checkLeftovers makes sure that hubs that were stopped leave nothing in the
// database or on the machine.
func (s *chaosRun) checkLeftovers() {
	for what, query := range map[string]string{
		"connections": `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'servery'`,
		"locks":       `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'`,
	} {
		if err := await(10*time.Second, func() error {
			if n := s.cluster.number(query); n != 0 {
				return fmt.Errorf("left over: %d %s in the database", n, what)
			}
			return nil
		}); err != nil {
			s.t.Error(err)
		}
	}
	if err := await(10*time.Second, func() error {
		left := hubtest.ProcessesIn(s.dir)
		maps.DeleteFunc(left, func(_ int, named string) bool { return strings.Contains(named, "postgres") })
		if len(left) > 0 {
			return fmt.Errorf("left over: processes %v", left)
		}
		return nil
	}); err != nil {
		s.t.Error(err)
	}
	for _, h := range s.hubs {
		if text, _ := os.ReadFile(h.stderr); bytes.Contains(text, []byte("panic:")) ||
			bytes.Contains(text, []byte("fatal error:")) {
			s.t.Errorf("%s broke down:\n%s", h.name, text)
		}
	}
}
