package main

import (
	"slices"

	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hostile"
)

// Units of figures.
const ms, us, perSecond = figures.Milliseconds, figures.Microseconds, figures.PerSecond
const megabytes, percent = figures.Megabytes, figures.Percent

// row is a line of the table. A multiple, or a percentage of a rate, limits the ratio to the floor. The note is a
// format: the measurement adds its values.
type row struct{ name, unit, target, note string }

// measurement measures the figures of its rows.
type measurement struct {
	measure func(*run)
	rows    []row
}

// Parts of notes.
const (
	toCallback = "response to the callback at the sink; floor: decode, COPY and merge"
	inAll      = "all in %.1f ms from the response to the callback at the sink"
	withStores = "response to the callback with %d stores of %d items each; floor: the same without them"
	drained    = "%d of 1 KB to one endpoint, all %d attempts recorded; floor: the sender alone"
)

// measurements are in the order of the table.
func measurements() []measurement {
	abuse := measurement{measure: measureAbuse}
	for _, kind := range hostile.Kinds() {
		abuse.rows = append(abuse.rows, row{abuseFigure(kind), ms, "<= 2x, none refused",
			"median p99 of %d rounds of %d orders, %d refused; attackers: %s; hub at most %.0f MB; floor: beside a " +
				"process that uses the %.1f s of the processors that the attack took"})
	}
	abuse.rows = append(abuse.rows, row{"abuse/memory", megabytes, "", "at most; %.0f MB before the first attack"})
	return append(slices.Clip(withoutAbuse), abuse)
}

// withoutAbuse are all but those of hostile requests.
var withoutAbuse = []measurement{
	{measureStores, []row{
		{"stores/accept", ms, "< 150 ms", "%d %s stores, %.1f MB, POST to response"},
		{"stores/job created", ms, "<= 3x", "response to the callback at the sink; floor: COPY and merge"},
		{"stores/job updated", ms, "<= 3x", "the same rows again; the hub held %.0f MB at most"},
	}},
	{measureStoreGrowth, storeGrowth.rows(us, "<= 1.5x", "a store of %d, "+inAll)},
	{measureCallbackLatency, []row{
		{"stores/callback median", ms, "", "%d of one store at %d/s from POST; from response %.2f ms"},
		{"stores/callback p99", ms, "", "at most %.2f ms; from response %.2f ms"},
	}},
	{measureMenu, []row{
		{"menu/accept", ms, "< 300 ms", "%s, %s, %.1f MB, POST to response"},
		{"menu/job first", ms, "<= 2.5x", toCallback},
		{"menu/job unchanged", ms, "<= 2.5x", toCallback},
		{"menu/job 1% changed", ms, "<= 2.5x", toCallback},
		{"menu/memory", megabytes, "< 400 MB", "resident at most, over the requests above"},
	}},
	{measureMenuGrowth, menuGrowth.rows(us, "<= 1.5x", "an object of %d, "+inAll)},
	{measureMenuIndependence, []row{
		{"menu/independence store", ms, "<= 1.3x", "%d items at one store, " + withStores},
		{"menu/independence master", ms, "<= 1.3x", "%s, 1%% changed, " + withStores},
	}},
	{measureMenuEffective, []row{
		{"menu/effective uncached", ms, "< 100 ms", "median of %d, %.1f MB; at least %.1f ms"},
		{"menu/effective 304", ms, "< 2 ms", "median of %d, with If-None-Match; p99 %.2f ms"},
	}},
	{measureDrain, []row{{"deliveries/drain", perSecond, ">= 25%", drained}}},
	{measureBacklog, []row{{"deliveries/backlog", perSecond, ">= 25%", drained}}},
	{measurePublish, []row{{"deliveries/publish", perSecond, ">= 45%",
		"%d events from %d goroutines, first publish to last arrival; floor: one INSERT a transaction"}}},
	{measureLatency, []row{
		{"deliveries/latency median", ms, "< 2 ms", "%d events at %d/s, from commit; from call %.2f ms"},
		{"deliveries/latency p99", ms, "< 10 ms", "at most %.2f ms; from call %.2f ms"},
	}},
	{measureRetry, []row{
		{"deliveries/retry p99", ms, "< 20 ms", "lateness of %d retries of %d deliveries to one endpoint; median " +
			"%.2f ms; deliveries of %d others wait"},
		{"deliveries/retry max", ms, "< 100 ms", "the earliest %.2f ms after due"},
	}},
	{measureIdle, []row{
		{"idle/memory", megabytes, "< 80 MB", "resident %v after the start"},
		{"idle/cpu", percent, "< 1%", "of a core, over %v"},
	}},
	{measureIdleStatements, []row{{"idle/statements", perSecond, "< 1.2/s",
		"statements of a hub with %d plugins, alone on its database, over %v"}}},
	{measureNeighbour, []row{{"deliveries/neighbour p99", ms, "<= 2x, none late",
		"%d events at %d/s, commit to arrival, beside an endpoint that left %d attempts hanging; %d took over " +
			"%v, median %.2f ms, at most %.1f ms; floor: alone"}}},
	{measureThousand, []row{{"deliveries/thousand endpoints", perSecond, ">= 95%",
		"%d due at each of %d endpoints, a tenth dead: half refuse, half hang (%d failed attempts recorded in " +
			"the last round, %d left hanging); what the others got; floor: the same with that tenth alive"}}},
	{measureEndpointGrowth, endpointGrowth.rows(perSecond, "", "%d due, delivered and recorded")},
	{measureOrders, []row{
		{"orders/intake", perSecond, ">= 300%", "%d orders of %d bytes, durable, over %d connections, nobody " +
			"subscribed; floor: a server that does one INSERT, which PostgreSQL commits in groups"},
		{"orders/intake grouped", perSecond, ">= 300%", "floor: that server over one connection, without groups"},
		{"orders/intake p99", ms, "< 50 ms", "%d at %.0f/s, half of that; median %.2f ms, at most %.1f ms"},
		{"orders/journey", perSecond, ">= 70%", "%d orders to one endpoint, POST to arrival; floor: as above"},
	}},
	{measureSteady, []row{
		{"orders/steady median", ms, "<= 2.5x",
			"%d orders at %d/s, POST to response; floor: a server that does one INSERT"},
		{"orders/steady p99", ms, "<= 1.5x", "floor: as above"},
		{"orders/steady arrival", ms, "< 0.5 ms",
			"median POST to arrival at the endpoint %.2f ms, less that to the response; 99%% within %.2f ms"},
		{"orders/processor", us, "< 180 µs",
			"processor time of hub and PostgreSQL for an order and its delivery, %d orders over %d connections; " +
				"at %d/s %.0f µs; floor: that of one INSERT, its server included, without a delivery"},
	}},
	{measureStatuses, []row{
		{"orders/statuses", perSecond, ">= 100%", "%d changes of the states of %d orders, durable, over %d " +
			"connections, nobody subscribed; floor: a server that does one UPDATE"},
		{"orders/statuses delivered", perSecond, ">= 50%", "%d to one endpoint, PUT to arrival; floor: as above"},
	}},
	{measureOrderRetry, []row{{"orders/retry", perSecond, ">= 80%", "%d failed orders, POST to last arrival; " +
		"floor: a drain of as many"}}},
	{measurePluginCalls, []row{{"plugins/call", us, "< 300 µs", "median of %d calls of %d bytes one " +
		"after the other, in each round; floor: the bytes there and back over a Unix socket"}}},
	{measurePluginLife, []row{
		{"plugins/start", ms, "< 200 ms", "to its first response: digest, copy, start, certificates, " +
			"description, self-test; floor: the program started to describe itself"},
		{"plugins/killed", ms, "< 2000 ms", "from SIGKILL to the next response, with the first pause"},
		{"plugins/upgrade", "failed", "0", "of %d calls from %d goroutines, during %d upgrades"},
	}},
	{measurePluginMenu, []row{
		{"plugins/menu check", ms, "< 150 ms",
			"what three plugins add to the job of %d items, which takes %.0f ms without; findings stored"},
		{"plugins/menu memory", megabytes, "< 64 MB", "what they add to the hub's memory at most"},
	}},
	{measurePublishMenus, []row{
		{"publish/menus", perSecond, ">= 20/s", "stores of %d items after a change of the master's prices, " +
			"rendered by a plugin and sent, %d stores a round, %d KB each; floor: a plain loop that posts such " +
			"bodies"},
		{"publish/beside", ms, "<= 1.3x",
			"the job of a menu of %d items of another business meanwhile; floor: the same alone"},
	}},
	{measureToggles, []row{
		{"toggles/items", ms, "< 1000 ms",
			"%d items of a store, request to arrival at the aggregator, while %d menus are published"},
		{"toggles/items p99", ms, "< 3000 ms", "of %d"},
		{"toggles/stores", ms, "< 5000 ms",
			"%d stores due in the same second, until the last has arrived at the aggregator"},
	}},
	{measureRush, []row{{"sandbox/rush", ms, "< 200 ms", "99%% of %d orders that `servery simulate rush` " +
		"placed at %d/s from the store's menu, from the hub to the endpoint, all delivered; median %.1f ms"}}},
	{measureRiders, []row{
		{"riders/locations", perSecond, ">= 5,000/s",
			"accepted, from %d connections for %d orders; of %d locations %d, the newest ones, were relayed"},
		{"riders/statuses", perSecond, ">= 950/s, in order", "of %d at %d/s over %d orders; %d out of order"},
	}},
	{measureHistory, []row{
		{"deliveries/history drain", perSecond, ">= 91%", "%d due beside %d that ended within %d days (%.1f GB, " +
			"filled in %.0f s); floor: the same in an empty database"},
		{"deliveries/history publish", perSecond, ">= 91%", "%d events from %d goroutines, publish to arrival"},
		{"orders/history", perSecond, ">= 91%", "%d orders accepted over %d connections, nobody subscribed"},
	}},
	{measureReplicas, []row{{"replicas/two", perSecond, ">= 160%", "%d deliveries to one endpoint that responds " +
		"after %v, so that waiting and not the processor bounds a replica; hubs of role worker, GOMAXPROCS=1; " +
		"floor: one replica"}}},
	{measureTakeover, []row{{"replicas/takeover", ms, "< 2000 ms", "99%% of %d kills of one of two replicas with " +
		"%d accepted orders, SIGKILL to the last arrival; at most %.0f ms, median %.0f ms; %d orders arrived " +
		"twice; kills by time below (ms): %s"}}},
	{measureConsole, []row{
		{"console/pages", ms, "<= 50 ms",
			"slowest of %d pages: %s; %d over a bound; beside %d deliveries of 3 attempts, %d stores, %d items"},
		{"console/pages p95", ms, "<= 150 ms", "slowest page: %s"},
		{"console/page size", megabytes, "<= 0.1 MB", "largest page: %s"},
	}},
}
