package main

import "github.com/servery-hub/servery/core/internal/figures"

// measurement measures the figures of its rows.
type measurement struct {
	measure func(*run)
	rows    []figures.Figure // without their values
}

// measurements are in the order of the table.
func measurements() (all []measurement) {
	rows := map[string][]figures.Figure{}
	decode("table.yaml", &rows)
	verify(len(rows) == len(measures), "the table has rows of %d measurements, not %d", len(rows), len(measures))
	for _, one := range measures {
		all = append(all, measurement{one.measure, rows[one.name]})
	}
	return all
}

// measures are the measurements of table.yaml, in its order.
var measures = []struct {
	name    string
	measure func(*run)
}{
	{"stores", measureStores},
	{"stores/growth", measureStoreGrowth},
	{"stores/callback", measureCallbackLatency},
	{"menu", measureMenu},
	{"menu/growth", measureMenuGrowth},
	{"menu/independence", measureMenuIndependence},
	{"menu/effective", measureMenuEffective},
	{"deliveries/drain", measureDrain},
	{"deliveries/backlog", measureBacklog},
	{"deliveries/publish", measurePublish},
	{"deliveries/latency", measureLatency},
	{"deliveries/retry", measureRetry},
	{"idle", measureIdle},
	{"idle/statements", measureIdleStatements},
	{"deliveries/neighbour", measureNeighbour},
	{"deliveries/thousand", measureThousand},
	{"deliveries/endpoints", measureEndpointGrowth},
	{"orders", measureOrders},
	{"orders/steady", measureSteady},
	{"orders/statuses", measureStatuses},
	{"orders/retry", measureOrderRetry},
	{"plugins/call", measurePluginCalls},
	{"plugins/life", measurePluginLife},
	{"plugins/menu", measurePluginMenu},
	{"publish", measurePublishMenus},
	{"toggles", measureToggles},
	{"sandbox/rush", measureRush},
	{"riders", measureRiders},
	{"history", measureHistory},
	{"replicas/two", measureReplicas},
	{"replicas/takeover", measureTakeover},
	{"console", measureConsole},
	{"abuse", measureAbuse},
}
