package sandbox

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulatedPlatforms returns the platforms at a simulator, with the simulator's URL.
func simulatedPlatforms(business core.BusinessID, all []platforms.Platform) map[string]string {
	simulated := map[string]string{}
	for _, p := range all {
		for _, address := range p.Addresses {
			if base, url := strings.CutSuffix(address, platformPath(business, p.Name)); url {
				simulated[p.Name] = base
			}
		}
	}
	return simulated
}

// hasAggregators reports whether a platform has the URL of an aggregator, simulated or not. Without one, a business is
// not in operation on any aggregator.
func hasAggregators(all []platforms.Platform) bool {
	return slices.ContainsFunc(all, func(p platforms.Platform) bool { return len(p.Addresses) > 0 })
}

// FaultClient manages the faults of one business at its simulators. Its calls take at most simulatorTimeout.
type FaultClient struct {
	db    *postgres.DB
	token string // of the simulators
}

// NewFaultClient returns a FaultClient. The token is that of the simulators; "" if they ask for none.
func NewFaultClient(db *postgres.DB, token string) FaultClient { return FaultClient{db, token} }

const simulatorTimeout = 3 * time.Second

var simulatorClient = &http.Client{Timeout: simulatorTimeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// simulated returns the simulated platforms of a business, or Conflict if it has none.
func (d FaultClient) simulated(ctx context.Context, business core.BusinessID) (map[string]string, error) {
	all, err := platforms.New(d.db).List(ctx, business)
	if err != nil {
		return nil, err
	}
	simulated := simulatedPlatforms(business, all)
	if len(simulated) == 0 {
		return nil, ErrNotSimulated
	}
	return simulated, nil
}

// ErrNotSimulated is the error for a business without simulated aggregators.
var ErrNotSimulated = core.Errorf(core.Conflict,
	"the business is not in test mode: none of its aggregators is simulated")

// List returns the active faults that apply to the business.
func (d FaultClient) List(ctx context.Context, business core.BusinessID) (list []simulator.Fault, err error) {
	simulated, err := d.simulated(ctx, business)
	if err != nil {
		return nil, err
	}
	for _, base := range simulatorURLs(simulated) {
		var faults []simulator.Fault
		if err := d.call(ctx, base, request{method: http.MethodGet, url: faultsPath(business),
			into: &faults}); err != nil {
			return nil, err
		}
		for _, f := range faults {
			if f.Times == 0 || f.Hits < f.Times { // it is not used up
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// Check returns Invalid or Conflict for a fault that is not valid.
func (d FaultClient) Check(ctx context.Context, business core.BusinessID, f simulator.Fault) error {
	simulated, err := d.simulated(ctx, business)
	if err != nil {
		return err
	}
	if f.Platform != "" && simulated[f.Platform] == "" {
		return core.Errorf(core.Invalid, "platform %q is not simulated, only: %s", f.Platform,
			strings.Join(slices.Sorted(maps.Keys(simulated)), ", "))
	}
	if err := f.Check(); err != nil {
		return core.Errorf(core.Invalid, "%s", err)
	}
	return nil
}

// Set enables a checked fault.
func (d FaultClient) Set(ctx context.Context, business core.BusinessID, f simulator.Fault) error {
	simulated, err := d.simulated(ctx, business)
	if err != nil {
		return err
	}
	if base := simulated[f.Platform]; base != "" {
		simulated = map[string]string{f.Platform: base}
	}
	f.Space = strconv.FormatInt(int64(business), 10)
	for _, base := range simulatorURLs(simulated) {
		if err := d.call(ctx, base, request{method: http.MethodPost, url: "/admin/faults", body: f}); err != nil {
			return err
		}
	}
	return nil
}

// Clear removes all faults of the business.
func (d FaultClient) Clear(ctx context.Context, business core.BusinessID) error {
	simulated, err := d.simulated(ctx, business)
	if err != nil {
		return err
	}
	for _, base := range simulatorURLs(simulated) {
		if err := d.call(ctx, base, request{method: http.MethodDelete, url: faultsPath(business)}); err != nil {
			return err
		}
	}
	return nil
}

func simulatorURLs(simulated map[string]string) []string {
	return slices.Compact(slices.Sorted(maps.Values(simulated)))
}

func faultsPath(business core.BusinessID) string {
	return "/admin/faults?" + url.Values{"space": {strconv.FormatInt(int64(business), 10)}}.Encode()
}

// call sends a request to the simulator at base. The URL of the request is relative to base. It returns Invalid for a
// rejected request, and Unavailable if there is no response.
func (d FaultClient) call(ctx context.Context, base string, r request) error {
	r.url, r.authorization = base+r.url, "Bearer "+d.token
	response, message, _, err := exchange(ctx, simulatorClient, r)
	switch {
	case response == nil:
		return core.Errorf(core.Unavailable,
			"the simulator at %s does not respond: start one with servery simulator", base)
	case response.StatusCode == http.StatusBadRequest:
		return core.Errorf(core.Invalid, "%s", message)
	case response.StatusCode == http.StatusUnauthorized:
		return core.Errorf(core.Unavailable, "the simulator at %s requires its token: set SERVERY_SIMULATOR_TOKEN",
			base)
	case err != nil || response.StatusCode != http.StatusOK:
		return core.Errorf(core.Unavailable, "the server at %s is not a simulator: %d", base, response.StatusCode)
	}
	return nil
}
