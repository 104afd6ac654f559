package pluginhost

import (
	"net"
	"net/url"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// CheckEndpointURL checks that a base URL may be used for an endpoint. It must use HTTPS and a host that the plugin's
// manifest allows. A loopback host may use HTTP if the manifest allows it.
func CheckEndpointURL(about *sdk.Description, endpoint, address string) error {
	for _, e := range about.GetEndpoints() {
		if e.GetName() == endpoint {
			return checkHost(e.GetHosts(), endpoint, address)
		}
	}
	return core.Errorf(core.Invalid, "endpoint %q: plugin %s has no endpoint of that name", endpoint, about.GetId())
}

func checkHost(hosts []string, endpoint, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return core.Errorf(core.Invalid, "endpoint %q: must be a URL such as https://api.example.com/v1, not %q",
			endpoint, address)
	}
	host := strings.ToLower(u.Hostname())
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return core.Errorf(core.Invalid, "endpoint %q: must begin with https://, not %q", endpoint, address)
	}
	if sdk.AllowsHost(hosts, host) {
		return nil
	}
	return core.Errorf(core.Invalid, "endpoint %q: host %s is not allowed by the plugin's manifest, only %s", endpoint,
		host, strings.Join(hosts, ", "))
}
