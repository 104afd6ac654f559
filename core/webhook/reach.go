package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"
)

// reachWithin bounds an attempt to connect to an endpoint without sending anything.
const reachWithin = 3 * time.Second

// Reach tells in plain words why no delivery could connect to an address, or ""
// where it takes connections and shows a good certificate. It waits at most 3 s.
func (g *Guard) Reach(ctx context.Context, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "it is not an address"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	dialer := &net.Dialer{Timeout: reachWithin, Control: g.control}
	dial := dialer.DialContext
	if u.Scheme == "https" { // most that fails there is the certificate
		dial = (&tls.Dialer{NetDialer: dialer}).DialContext
	}
	connection, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		_, words := classify(err, SenderConfig{ConnectTimeout: reachWithin, ExchangeTimeout: reachWithin}, u.Scheme == "https")
		return words
	}
	_ = connection.Close()
	return ""
}
