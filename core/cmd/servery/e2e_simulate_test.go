package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulateReport is the output of `servery simulate … --json`.
type simulateReport struct {
	Seed      uint64                 `json:"seed"`
	Platforms []string               `json:"platforms"`
	Orders    []sandbox.PlacedOrder  `json:"orders"`
	Calls     []sandbox.ReportedCall `json:"calls"`
	Arrivals  sandbox.ReportedArrivals
}

func (s simulateReport) counted(call string) sandbox.ReportedCall {
	for _, c := range s.Calls {
		if c.Call == call {
			return c
		}
	}
	return sandbox.ReportedCall{}
}

// addMenu adds the store S-1 with a menu.
func (d demo) addMenu(t *testing.T) {
	t.Helper()
	require.Equal(t, http.StatusOK,
		hubtest.Call(t, "POST", d.URL+storesPath, d.authorization,
			json.RawMessage(`{"stores":[{"ref_id":"S-1","name":"N","city":"Oakland","excluded_platforms":[]}]}`)).
			Status)
	eventually(t, waitTimeout, func() error {
		if r := hubtest.Call(t, "GET", d.URL+storesPath+"S-1/", d.authorization, nil); r.Status != http.StatusOK {
			return fmt.Errorf("the store is not there: %d", r.Status)
		}
		return nil
	})
	menu := `{"items":[{"ref_id":"dal","title":"Dal","price":9.5},{"ref_id":"tea","title":"Tea","price":2.25}],
		"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["dal"],"min_selectable":1,"max_selectable":1}],
		"options":[{"ref_id":"hot","title":"Hot","price":0.5,"opt_grp_ref_ids":["heat"]}]}`
	require.Equal(t, http.StatusOK,
		hubtest.Call(t, "POST", d.URL+"/external/api/v1/inventory/locations/S-1/", d.authorization,
			json.RawMessage(menu)).Status)
}

var simulatorLine = regexp.MustCompile(`Simulator\s+(http://\S+)/`)

func TestSimulateRejectsABusinessWithRealAggregators(t *testing.T) {
	address := hubtest.HubDatabaseURL(t)
	db := hubtest.Open(t, address, nil)
	business := hubtest.Business(t, db).ID
	require.NoError(t, platforms.New(db).Set(t.Context(), business,
		core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": "https://api.example.com"}
			return nil
		}))
	env := onDatabase(address).With("SERVERY_DATA_DIR", openDir(t))
	for _, scenario := range []string{"order", "rush"} {
		e := servery(t, env, "simulate", scenario, "--business", fmt.Sprint(business), "--store", "S-1",
			"--platform", "web", "--count", "1")
		require.Equal(t, 1, e.status)
		require.Equal(t, "servery: the business is not in test mode: none of its aggregators is simulated\n", e.stderr)
	}
	e := servery(t, env, "key", "list", "--business", fmt.Sprint(business))
	require.NotContains(t, e.stdout, "simulate:", "no keys are created")
}

func TestSimulateCommandRunsDemoScenarios(t *testing.T) {
	t.Parallel()
	plugins := t.TempDir()
	for _, id := range []string{"aggregator-a", "aggregator-b", "aggregator-c"} {
		installtest.Plugin(t, plugins, id, "../../../plugins/"+strings.ReplaceAll(id, "-", ""))
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	env := environment{"SERVERY_DATA_DIR": openDir(t), "SERVERY_LISTEN": "127.0.0.1:0", "SERVERY_PLUGIN_DIR": plugins,
		"SERVERY_LIMIT_RIDER": "off", "SERVERY_SIMULATOR": "http://" + taken.Addr().String()}
	d := startDemo(t, env)
	play := simulatorLine.FindStringSubmatch(d.Out.String())
	require.NotNil(t, play, d.Out.String())
	require.NotContains(t, play[1], taken.Addr().String(), "a port that is taken is left alone")
	env["SERVERY_BASE_URL"] = d.URL
	none := servery(t, env, "simulate", "order", "--store", "S-9")
	require.Equal(t, 1, none.status)
	require.Contains(t, none.stderr, `no store "S-9"`)

	d.addMenu(t)
	var first, repeated, other simulateReport
	eventually(t, waitTimeout, func() error {
		if e := servery(t, env, "simulate", "order", "--store", "S-1", "--count", "10", "--seed", "7",
			"--json"); e.status != 0 {
			return fmt.Errorf("%s", e.stderr)
		} else {
			return json.Unmarshal([]byte(e.stdout), &first)
		}
	})
	require.Equal(t, []string{"aggregator-a", "aggregator-b", "aggregator-c", "app", "web"}, first.Platforms)
	require.Len(t, first.Orders, 10)
	require.Equal(t, []int{10, 0}, []int{first.counted("order").Count, first.counted("order").Failed})
	serveryJSON(t, env, &repeated, "simulate", "order", "--store", "S-1", "--count", "10", "--seed", "7")
	for i := range first.Orders {
		require.Equal(t, first.Orders[i].PlatformOrderID, repeated.Orders[i].PlatformOrderID)
		require.Equal(t, first.Orders[i].OrderID, repeated.Orders[i].OrderID, "the same seed places the same orders")
	}
	serveryJSON(t, env, &other, "simulate", "rush", "--store", "S-1", "--count", "20", "--rate", "200", "--platform",
		"aggregator-c", "--platform", "web")
	require.NotEqual(t, first.Seed, other.Seed)
	require.Equal(t, []string{"aggregator-c", "web"}, other.Platforms)
	require.Len(t, other.Orders, 20)

	var moved, cancelled simulateReport
	serveryJSON(t, env, &moved, "simulate", "rider", "--store", "S-1", "--platform", "aggregator-b", "--step", "0s",
		"--places", "3")
	require.Equal(t, []int{5, 3}, []int{moved.counted("rider_status").Count, moved.counted("rider_location").Count})
	eventually(t, waitTimeout, func() error {
		var order simulator.Order
		r := hubtest.Call(t, "GET", play[1]+"/admin/1/aggregator-b/orders/"+moved.Orders[0].PlatformOrderID, "", nil)
		if err := json.Unmarshal(r.Body, &order); err != nil || !strings.HasPrefix(order.Rider, "delivered") {
			return fmt.Errorf("the aggregator knows of the rider: %s", r.Body)
		}
		return nil
	})
	serveryJSON(t, env, &cancelled, "simulate", "cancel", "--store", "S-1", "--count", "5")
	require.Equal(t, []int{5, 0}, []int{cancelled.counted("cancel").Count, cancelled.counted("cancel").Failed})
	require.Equal(t, []int{5, 5, 0},
		[]int{cancelled.Arrivals.Orders, cancelled.Arrivals.Arrived, cancelled.Arrivals.Failed},
		"the demo's receiver took them")
	require.Positive(t, cancelled.Arrivals.P99)
	var edited simulateReport
	serveryJSON(t, env, &edited, "simulate", "edit", "--store", "S-1", "--platform", "web", "--platform",
		"aggregator-b", "--count", "2")
	require.Len(t, edited.Orders, 6)
	require.Equal(t, []int{6, 0},
		[]int{edited.counted("order").Count + edited.counted("edit").Count, edited.counted("edit").Failed})
	require.Equal(t, []int{4, 4}, []int{edited.Arrivals.Orders, edited.Arrivals.Arrived},
		"the changed ones are orders of their own")
	for _, o := range edited.Orders[2:] {
		if o.OrderID == edited.Orders[0].OrderID {
			require.Contains(t, o.Message, "already exists", "the hub says that it keeps the first")
		}
	}

	checkFaultCommands(t, env)
	require.Zero(t, d.Terminate(t))
}

func checkFaultCommands(t *testing.T, env environment) {
	t.Helper()
	var faults []simulator.Fault
	serveryJSON(t, env, &faults, "simulate", "faults")
	require.Empty(t, faults)
	wrong := servery(t, env, "simulate", "faults", "on", "reset:call=menu", "eat")
	require.Contains(t, wrong.stderr, "must be one of: fail")
	serveryJSON(t, env, &faults, "simulate", "faults", "on",
		"fail:platform=aggregator-b,call=rider_status,status=500,for=5m", "delay:delay=1s")
	require.Equal(t, []any{2, "1", 500, "1"}, []any{len(faults), faults[0].Space, faults[0].Status, faults[1].Space})
	serveryJSON(t, env, &faults, "simulate", "faults", "off")
	require.Empty(t, faults)
}

func TestSandboxPlatformsUseTheSimulator(t *testing.T) {
	o := newOperator(t)
	plugins := t.TempDir()
	installtest.Plugin(t, plugins, "aggregator-b", "../../../plugins/aggregatorb")
	t.Setenv("SERVERY_PLUGIN_DIR", plugins)
	stdout, stderr := o.run("business", "create", "--name", "N", "--country", "US", "--timezone", "UTC", "--currency",
		"USD", "--sandbox", "--simulator", "http://127.0.0.1:9999/")
	require.Empty(t, stderr)
	require.Contains(t, stdout, "business 1")
	stdout, _ = o.run("platform", "list", "--business", "1")
	require.Contains(t, stdout, "endpoint delivery_api at http://127.0.0.1:9999/1/aggregator-b")
	require.Contains(t, stdout, "secrets access_token, callback_token")

	for args, says := range map[string]string{
		"simulator --simulator nowhere": "--simulator: must be a URL",
		"simulator --simulator http://sim.example.com": "SERVERY_SIMULATOR_TOKEN: is required, because " +
			"others can reach sim.example.com:http",
		"simulator --listen 0.0.0.0:1":                            "SERVERY_SIMULATOR_TOKEN: is required",
		"simulator --fault eat":                                   "must be one of: fail",
		"simulator --simulator http://127.0.0.1:1 --fault fail:x": "must be one of",
		"simulator --base-url hub.example.com":                    "--base-url: must be",
		"simulate order --store S-1 --base-url http://hub/api":    "--base-url: must be",
		"user create --email a@b.example --base-url http://:8080": "--base-url: must be",
		"business create --name N --country US --timezone UTC --currency USD --sandbox " +
			"--simulator http://:1": "--simulator: must be",
	} {
		_, stderr := o.run(strings.Fields(args)...)
		require.Contains(t, stderr, says, args)
	}
}
