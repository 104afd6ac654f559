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

// checkArrivals compares the received deliveries with the accepted requests.
func (s *chaosRun) checkArrivals() {
	for _, wrong := range slices.Concat(s.load.problems, s.pos.problems(), s.second.problems(),
		s.rejecting.problems()) {
		s.t.Errorf("wrong: %s", wrong)
	}
	arrivals := s.pos.allArrivals()
	accepted := map[string]bool{}
	for _, a := range arrivals {
		if a.order == 0 && a.accepted {
			accepted[a.content] = true
		}
	}
	for reference, path := range s.load.references {
		if !accepted[reference] {
			s.t.Errorf("lost: %s, accepted at %s", reference, path)
		}
	}
	s.checkOrders("the POS", arrivals, func(o *acceptedOrder) int { return 1 + o.steps })
	s.checkOrders("the second endpoint", s.second.allArrivals(), func(*acceptedOrder) int { return 1 })
	s.checkOrderIDs()
	s.checkIDs("the POS", arrivals)
	s.checkIDs("the second endpoint", s.second.allArrivals())
	s.checkIDs("the endpoint that refuses", s.rejecting.allArrivals())
}

// checkOrders checks that an endpoint received the events of every order, in order, and at least the required number.
func (s *chaosRun) checkOrders(where string, arrivals []arrival, atLeast func(*acceptedOrder) int) {
	firsts, accepted := map[int64][]string{}, map[string]bool{}
	for _, a := range arrivals {
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
			s.t.Errorf("lost: %s received %v of order %d (%s), %d steps of which were accepted", where, came, id,
				order.key, order.steps)
		}
		if len(came) > len(expected) || !slices.Equal(came, expected[:len(came)]) {
			s.t.Errorf("out of order: %s received %v of order %d (%s)", where, came, id, order.key)
		}
		for _, what := range came {
			if !accepted[fmt.Sprint(id, what)] {
				s.t.Errorf("lost: %s never accepted %s of order %d", where, what, id)
			}
		}
	}
}

// checkOrderIDs checks that platform order ids and hub order ids correspond one to one.
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

// checkState checks that stores and menus are in the state of the last accepted request, or of a later one without a
// response.
func (s *chaosRun) checkState() {
	for path, allowed := range s.load.possibleNumbers {
		var arrivals struct {
			Name  string
			Items []struct {
				RefID string `json:"ref_id"`
				Price float64
			}
		}
		status, err := s.load.send("GET", path, s.tenant.pos, "", &arrivals)
		if err != nil || status != http.StatusOK {
			s.t.Errorf("lost: %s answers %d %v", path, status, err)
			continue
		}
		number, _ := strconv.Atoi(strings.TrimPrefix(arrivals.Name, "Till "))
		for _, item := range arrivals.Items {
			if item.RefID == "dal" {
				number = int(item.Price)
			}
		}
		if !slices.Contains(allowed, number) {
			s.t.Errorf("lost: %s is at %d, not at one of %v", path, number, allowed)
		}
	}
}

// checkIDs checks that events and webhook-ids correspond one to one.
func (s *chaosRun) checkIDs(where string, arrivals []arrival) {
	idOf, eventOf := map[string]string{}, map[string]string{}
	for _, a := range arrivals {
		event := fmt.Sprint(a.order, " ", a.content)
		if id, known := idOf[event]; known && id != a.webhookID {
			s.t.Errorf("doubled: %s received %s under %s and %s; of the order it received %v", where, event, id,
				a.webhookID, eventsOf(a.order, arrivals))
		}
		if other, known := eventOf[a.webhookID]; known && other != event {
			s.t.Errorf("confused: %s received %s and %s under %s", where, event, other, a.webhookID)
		}
		idOf[event], eventOf[a.webhookID] = a.webhookID, event
	}
}

// eventsOf returns the received events of an order, in order.
func eventsOf(order int64, arrivals []arrival) (list []string) {
	for _, a := range arrivals {
		if a.order == order {
			list = append(list, a.content+" "+a.webhookID)
		}
	}
	return list
}

// checkRelays checks that aggregator B received every accepted rider status once and in order.
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
			s.t.Errorf("doubled: aggregator B received %s under %s and %s", event, keys[event], r.key)
		}
		accepted[event] = accepted[event] || r.accepted
	}
	for id, order := range s.load.orders {
		if !order.rider {
			continue
		}
		came := firsts[order.key]
		if len(came) < order.steps {
			s.t.Errorf("lost: aggregator B received %v of order %d (%s), %d statuses of which were accepted", came, id,
				order.key, order.steps)
		}
		if len(came) > len(riderStatusesB) || !slices.Equal(came, riderStatusesB[:len(came)]) {
			s.t.Errorf("out of order: aggregator B received %v of order %d (%s)", came, id, order.key)
		}
		for _, state := range came {
			if !accepted[order.key+" "+state] {
				s.t.Errorf("lost: aggregator B never accepted %s of order %d", state, id)
			}
		}
	}
}

// checkRetries checks that each delivery has the required attempts, that each attempt is recorded once, and that the
// counts of an order retry are right.
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
		`SELECT count(*) FROM
			(SELECT FROM attempts GROUP BY delivery_id, n, started_at HAVING count(*) > 1) AS doubled`)
	none("calls to aggregators are on record more than once",
		`SELECT count(*) FROM (SELECT FROM call_attempts GROUP BY call_id, n, started_at
			HAVING count(*) > 1) AS doubled`)
	// An attempt that a killed hub had started is repeated with the same number.
	none("deliveries have fewer attempts on record than they count",
		`SELECT count(*) FROM deliveries d LEFT JOIN (SELECT delivery_id, count(*) AS kept, max(n) AS last
		FROM attempts GROUP BY delivery_id) a ON a.delivery_id = d.id
			WHERE coalesce(a.kept < d.attempts OR a.last > d.attempts, true)`)
	rejected := s.cluster.number(fmt.Sprintf(`SELECT count(*) FROM orders WHERE business_id = %d AND id %% 2 = 1`,
		s.rejectingTenant.id))
	if failed := s.cluster.number(`SELECT count(*) FROM deliveries WHERE state = 'failed'`); failed != rejected ||
		rejected == 0 {
		s.t.Errorf("retries: %d deliveries have failed of %d that were refused", failed, rejected)
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
	var received []arrival
	eventually(s.t, waitTimeout, func() error {
		received = slices.DeleteFunc(s.rejecting.allArrivals(), func(a arrival) bool { return a.content != outcome })
		if len(received) == 0 {
			return fmt.Errorf("the order retry is not answered: %v", asking.problems)
		}
		return nil
	})
	if received[0].retried != rejected || received[0].failed != 0 {
		s.t.Errorf("retries: an order retry sent %d again of %d, and %d were refused", received[0].retried, rejected,
			received[0].failed)
	}
	for _, a := range s.pos.allArrivals() {
		if strings.HasPrefix(a.content, "webhook_retry") && (a.failed > a.retried || a.retried < 0) {
			s.t.Errorf("retries: %s failed %d times of %d", a.content, a.failed, a.retried)
		}
	}
	s.drain()
}

// The tolerances, because connection pools keep connections for a while.
const (
	moreGoroutines = 20
	moreSockets    = 40
)

// checkIdle checks that idle hubs use no more goroutines and sockets than before the load.
func (s *chaosRun) checkIdle() {
	for _, w := range []*proxy{s.balancer, s.pos.proxy, s.second.proxy, s.rejecting.proxy} {
		w.closeSome()
	}
	for _, h := range s.hubs {
		if err := hubtest.Await(waitTimeout, func() error {
			n, err := h.goroutines()
			now := idleUsage{n, sockets(h.PID())}
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

// leftoverTimeout bounds the end of what a stopped hub leaves.
const leftoverTimeout = 30 * time.Second

// checkLeftovers checks that stopped hubs leave nothing in the database or on the machine.
func (s *chaosRun) checkLeftovers() {
	for what, query := range map[string]string{
		"connections": `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'servery'`,
		"locks":       `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'`,
	} {
		if err := hubtest.Await(leftoverTimeout, func() error {
			if n := s.cluster.number(query); n != 0 {
				return fmt.Errorf("left over: %d %s in the database", n, what)
			}
			return nil
		}); err != nil {
			s.t.Error(err)
		}
	}
	if err := hubtest.Await(leftoverTimeout, func() error {
		remaining := hubtest.ProcessesIn(s.dir)
		maps.DeleteFunc(remaining, func(_ int, commandLine string) bool {
			return strings.Contains(commandLine, "postgres")
		})
		if len(remaining) > 0 {
			return fmt.Errorf("left over: processes %v", remaining)
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
