package sandbox

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/plugins/simulator"
)

// requestRecorder is a hub and a simulator that record all requests.
type requestRecorder struct {
	mu       sync.Mutex
	requests []string
}

func (s *requestRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var sent struct {
		ID     string `json:"platform_order_id"`
		Basket struct {
			Number string `json:"number"`
		} `json:"basket"`
	}
	_ = json.Unmarshal(body, &sent)
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+string(body))
	s.mu.Unlock()
	sum := fnv.New32a()
	fmt.Fprint(sum, sent.ID, sent.Basket.Number)
	switch {
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		fmt.Fprint(w, `{"status":200}`)
		return
	case strings.HasPrefix(r.URL.Path, "/admin/"):
		fmt.Fprintf(w, `[{"id":"B-%s","order_id":%d,"status":200}]`, sent.Basket.Number, sum.Sum32())
		return
	}
	fmt.Fprintf(w, `{"status":"success","order_id":%d}`, sum.Sum32())
}

// recordedRequests returns the requests of a scenario with a seed, sorted.
func recordedRequests(t *testing.T, scenario console.Scenario) []string {
	t.Helper()
	s := &requestRecorder{}
	server := httptest.NewServer(s)
	defer server.Close()
	menu := simulator.Menu{Store: "s1", Point: &simulator.Point{Latitude: 37.8, Longitude: -122.2}}
	for n := range 12 {
		menu.Items = append(menu.Items,
			simulator.Item{Ref: fmt.Sprint("dish-", n), Title: "Dish", Price: "9.5",
				OptionGroups: []simulator.OptionGroup{
					{Max: -1, Options: []simulator.Option{{Ref: "hot", Title: "Hot", Price: "0.5"},
						{Ref: "mild", Title: "Mild", Price: "0"}}}}})
	}
	simulated := &Scenario{
		Options: Options{BaseURL: server.URL, Store: "s1", Seed: scenario.Seed}, client: server.Client(),
		Report: &Report{calls: map[string]*callStats{}}, platforms: []string{"web", "aggregator-b"},
		menus:    map[string]simulator.Menu{"web": menu, "aggregator-b": menu},
		accounts: map[string]string{"web": "", "aggregator-b": server.URL + "/admin/7/aggregator-b"},
	}
	require.NoError(t, simulated.run(t.Context(), scenario))
	require.Len(t, simulated.Report.acceptedIDs(),
		len(slices.Compact(slices.Sorted(slices.Values(simulated.Report.acceptedIDs())))),
		"each order is counted once")
	slices.Sort(s.requests)
	return s.requests
}

func TestSameSeedRunsTheSameScenario(t *testing.T) {
	for want, scenario := range map[string]console.Scenario{
		"order": {Kind: "order", Count: 20, Rate: 2000}, "rush": {Kind: "rush", Count: 20, Rate: 2000},
		"edit":   {Kind: "edit", Count: 8},
		"rider":  {Kind: "rider", Count: 4, Locations: 3, Step: time.Microsecond},
		"cancel": {Kind: "cancel", Count: 12, CancelShare: 0.5},
	} {
		t.Run(want, func(t *testing.T) {
			scenario.Store, scenario.Seed = "s1", 7
			first := recordedRequests(t, scenario)
			require.Equal(t, first, recordedRequests(t, scenario))
			scenario.Seed = 8
			require.NotEqual(t, first, recordedRequests(t, scenario), "another seed, another crowd")
		})
	}
}

func TestScenarioSendsTheExpectedRequests(t *testing.T) {
	count := func(requests []string, part string) (n int) {
		for _, line := range requests {
			if strings.Contains(line, part) {
				n++
			}
		}
		return n
	}
	rider := recordedRequests(t, console.Scenario{Kind: "rider", Store: "s1", Seed: 7, Count: 2, Locations: 3})
	require.Equal(t, []int{10, 6}, []int{count(rider, "rider-status"), count(rider, "rider-location")},
		"five statuses and the places that are asked for")
	cancelled := recordedRequests(t, console.Scenario{Kind: "cancel", Store: "s1", Seed: 7, Count: 9, CancelShare: 0.5})
	require.Equal(t, 5, count(cancelled, `"new_status":"Cancelled"`)+count(cancelled, "/cancel"),
		"half of them, rounded up")
	require.Positive(t, count(cancelled, `"new_status":"Acknowledged"`)+count(cancelled, `"new_status":"Food Ready"`)+
		count(cancelled, `"new_status":"Dispatched"`))
	edited := recordedRequests(t, console.Scenario{Kind: "edit", Store: "s1", Seed: 7, Count: 3})
	require.Equal(t, []int{3 * 3, 3},
		[]int{count(edited, `"lines":`) + count(edited, `"platform_order_id"`),
			count(edited, `"new_status":"Cancelled"`) + count(edited, "/cancel")})
}

func TestSimulationReportsAnUnreachableHub(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	s := &Scenario{Options: Options{BaseURL: server.URL}, client: server.Client()}
	require.ErrorContains(t, s.read(t.Context(), "/channel/api/v1/stores/", nil),
		"no response from "+server.URL+": dial tcp")
}

func TestOrdersOfAMenuAreValid(t *testing.T) {
	effective := menu.EffectiveMenu{StoreRefID: "s1"}
	for n := range 12 {
		effective.Items = append(effective.Items, menu.EffectiveItem{RefID: fmt.Sprint("item-", n),
			ItemDetails: menu.ItemDetails{Title: "A dish"}, ItemStoreDetails: menu.ItemStoreDetails{CurrentStock: -1},
			OptionGroupRefIDs: []string{"sizes"}})
	}
	effective.OptionGroups = []menu.EffectiveOptionGroup{{RefID: "sizes",
		OptionGroupDetails: menu.OptionGroupDetails{MinSelectable: 1, MaxSelectable: 1}}}
	effective.Options = []menu.EffectiveOption{{RefID: "large", OptionDetails: menu.OptionDetails{Title: "Large"},
		OptGrpRefIDs: []string{"sizes"}}}
	orders, err := Orders(effective, "web", 40)
	require.NoError(t, err)
	different := map[string]bool{}
	for _, one := range orders {
		require.NotContains(t, one, "platform_order_id")
		one["platform_order_id"] = "W-1"
		body, err := json.Marshal(one)
		require.NoError(t, err)
		draft, err := order.Decode(body)
		require.NoError(t, err)
		require.EqualValues(t, "large", draft.Items[0].Options[0].RefID)
		different[string(body)] = true
	}
	require.Len(t, different, 40)
	_, err = Orders(menu.EffectiveMenu{}, "web", 1)
	require.ErrorContains(t, err, "nothing to order")
}
