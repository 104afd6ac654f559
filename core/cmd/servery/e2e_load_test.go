package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// posClient repeatedly updates its own store. The store's name is the number of the update.
type posClient struct {
	client       apiClient
	store        string
	sent         int
	lastAccepted int // number of the last accepted update
}

// load sends store requests from several clients of several businesses, round robin over its hubs. It records the
// result of each.
type load struct {
	client  *http.Client
	clients []*posClient
	stop    func() // ends the load when every running request has a response

	mu          sync.Mutex
	hubs        []string
	accepted    map[string]string // store and number of the update, by reference
	unknown     map[string]int    // request ids whose acceptance is unknown, with the status; 0: no response
	refused     map[string]bool   // request ids that were rejected
	unreachable int               // requests that reached no hub
	problems    []string          // responses that must not occur
}

const clientsPerBusiness = 2

// startLoad creates businesses, subscribes each to the sink, and starts to send requests.
func startLoad(t *testing.T, env environment, hub string, sink *callbackSink, businesses int) *load {
	t.Helper()
	l := &load{
		client: &http.Client{Timeout: waitTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
		hubs:   []string{hub}, accepted: map[string]string{}, unknown: map[string]int{}, refused: map[string]bool{},
	}
	db := hubtest.Connect(t, env["SERVERY_DATABASE_URL"], nil)
	for range businesses {
		tenant := hubtest.Business(t, db)
		who := apiClient{business: int64(tenant.ID), authorization: tenant.Authorization}
		subscribe(t, hub, who, sink.url+"/"+strconv.FormatInt(who.business, 10))
		for n := range clientsPerBusiness {
			l.clients = append(l.clients, &posClient{client: who, store: fmt.Sprintf("S-%d-%d", who.business, n)})
		}
	}
	require.NoError(t, db.Close())
	ctx, cancel := context.WithCancel(context.Background())
	var posting sync.WaitGroup
	for _, one := range l.clients {
		posting.Go(func() { l.post(ctx, one) })
	}
	l.stop = func() {
		cancel()
		posting.Wait()
		l.client.CloseIdleConnections()
	}
	t.Cleanup(l.stop)
	return l
}

// setHubs sets the hubs for the following requests.
func (l *load) setHubs(hubs ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hubs = hubs
}

func (l *load) post(ctx context.Context, one *posClient) {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		one.sent++
		l.mu.Lock()
		hub := l.hubs[one.sent%len(l.hubs)]
		l.mu.Unlock()
		l.postOne(hub, one)
	}
}

func (l *load) postOne(hub string, one *posClient) {
	id := fmt.Sprintf("%s.%d", one.store, one.sent)
	body := fmt.Sprintf(`{"stores":[{"ref_id":%q,"city":"Oakland","name":"%d"}]}`, one.store, one.sent)
	request, err := http.NewRequest("POST", hub+storesPath, bytes.NewBufferString(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", one.client.authorization)
	request.Header.Set("X-Request-Id", id)
	status, reference, unknown, err := l.exchange(request)
	var dialling *net.OpError
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.As(err, &dialling) && dialling.Op == "dial":
		l.unreachable++
	case err != nil:
		l.unknown[id] = 0
	case status == http.StatusOK && reference != "":
		l.accepted[reference] = one.store + "/" + strconv.Itoa(one.sent)
		one.lastAccepted = one.sent
	case unknown:
		l.unknown[id] = status
	case status >= http.StatusInternalServerError:
		l.refused[id] = true
	default:
		l.problems = append(l.problems, fmt.Sprintf("%s: %d %q", id, status, reference))
	}
}

// exchange returns an error with whether the request may have been accepted.
func (l *load) exchange(request *http.Request) (status int, reference string, unknown bool, err error) {
	response, err := l.client.Do(request)
	if err != nil {
		return 0, "", false, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, "", false, err
	}
	var reply struct {
		Reference string `json:"reference"`
		Message   string `json:"message"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return response.StatusCode, "not JSON", false, nil
	}
	return response.StatusCode, reply.Reference, strings.Contains(reply.Message, "may or may not have accepted"), nil
}

// awaitAccepted waits until more requests have been accepted.
func (l *load) awaitAccepted(t *testing.T, more int) {
	t.Helper()
	first := -1
	eventually(t, waitTimeout, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if first < 0 {
			first = len(l.accepted)
		}
		if len(l.accepted) < first+more {
			return fmt.Errorf("%d requests accepted, %d without an answer, %d found no hub", len(l.accepted)-first,
				len(l.unknown), l.unreachable)
		}
		return nil
	})
}

// awaitFailures waits until more requests have failed.
func (l *load) awaitFailures(t *testing.T, more int) {
	t.Helper()
	first := -1
	eventually(t, waitTimeout, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		failed := len(l.unknown) + l.unreachable + len(l.refused)
		if first < 0 {
			first = failed
		}
		if failed < first+more {
			return fmt.Errorf("%d requests failed", failed-first)
		}
		return nil
	})
}

// tally describes the results for the test's log.
func (l *load) tally(t *testing.T, sink *callbackSink) {
	t.Helper()
	repeated := 0
	for _, list := range sink.arrivals(t) {
		repeated += len(list) - 1
	}
	t.Logf("%d accepted, %d without an answer, %d may or may not have been accepted, %d refused, %d found no hub; %d "+
		"callbacks repeated",
		len(l.accepted), len(l.unknown)-l.errors(), l.errors(), len(l.refused), l.unreachable, repeated)
}

// errors counts the responses that did not say whether the request was accepted.
func (l *load) errors() (n int) {
	for _, status := range l.unknown {
		if status != 0 {
			n++
		}
	}
	return n
}

// requireNothingLost waits until all work of a stopped load is done. Every accepted request must have exactly one
// result, and its callback.
func (l *load) requireNothingLost(t *testing.T, sink *callbackSink, database, hub string) {
	t.Helper()
	require.Empty(t, l.problems)
	ledger := openTestDatabase(t, database)
	eventually(t, 2*waitTimeout, func() error {
		waiting := ledger.number(t, `SELECT (SELECT count(*) FROM job_queue) + (SELECT count(*) FROM delivery_queue)`)
		if waiting > 0 {
			return fmt.Errorf("%d rows wait in the queues", waiting)
		}
		return nil
	})
	l.tally(t, sink)
	l.requireEnded(t, ledger)
	l.requireNotified(t, ledger, sink.arrivals(t))
	for _, one := range l.clients {
		stored := hubtest.Call(t, "GET", hub+storesPath+one.store, one.client.authorization, nil)
		require.Equal(t, http.StatusOK, stored.Status, "%s", stored.Body)
		last, err := strconv.Atoi(stored.Object(t)["name"].(string))
		require.NoError(t, err)
		require.GreaterOrEqual(t, last, one.lastAccepted, "an earlier update of %s has overtaken a later one",
			one.store)
	}
}

// requireEnded checks that jobs and references match.
func (l *load) requireEnded(t *testing.T, ledger testDatabase) {
	t.Helper()
	jobs := ledger.jobs(t)
	for reference, update := range l.accepted {
		require.Equal(t, "done", jobs[reference].state, "the job of %s (%s)", reference, update)
	}
	for reference, job := range jobs {
		if _, known := l.accepted[reference]; !known {
			require.Contains(t, l.unknown, job.requestID, "accepted as %s without a response that says so", reference)
			require.Equal(t, "done", job.state, "the job of %s", reference)
		}
	}
	require.Zero(t, ledger.number(t, `SELECT count(*) FROM jobs j WHERE
		(SELECT count(*) FROM events e WHERE e.business_id = j.business_id AND e.reference = j.id::text) <> 1`),
		"one event for each job")
	require.Zero(t, ledger.number(t, `SELECT count(*) FROM events e WHERE
		(SELECT count(*) FROM deliveries d WHERE d.business_id = e.business_id AND d.event_id = e.id
		AND d.state = 'delivered') <> 1`),
		"one delivery for each event")
}

// requireNotified checks that callbacks and references match.
func (l *load) requireNotified(t *testing.T, ledger testDatabase, arrivals map[string][]callback) {
	t.Helper()
	jobs := ledger.jobs(t)
	referenceOf := map[string]string{}
	for reference := range l.accepted {
		require.NotEmpty(t, arrivals[reference], "the callback of %s (%s)", reference, l.accepted[reference])
	}
	for reference, list := range arrivals {
		require.Contains(t, jobs, reference, "a callback for a request that was never accepted")
		for _, got := range list {
			require.Equal(t, list[0].WebhookID, got.WebhookID, "every callback of %s is the same delivery", reference)
			require.Equal(t, 1, got.Stats.Created+got.Stats.Updated)
			require.Equal(t, "/"+strconv.FormatInt(jobs[reference].business, 10), got.Path)
			if update, known := l.accepted[reference]; known {
				require.Equal(t, update, got.Stores[0].RefID+"/"+got.Stores[0].Name)
			}
		}
		require.Empty(t, referenceOf[list[0].WebhookID], "one webhook-id for two references")
		referenceOf[list[0].WebhookID] = reference
	}
}
