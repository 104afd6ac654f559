package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"
)

// connectionCheckTimeout bounds a connection check, which sends no request.
const connectionCheckTimeout = 3 * time.Second

// CheckConnection describes why no delivery could connect to a URL. It returns "" if the endpoint accepts connections
// with a valid certificate. It waits at most 3 s.
func (g *Guard) CheckConnection(ctx context.Context, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "it is not a URL"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, connectionCheckTimeout)
	defer cancel()
	dialer := &net.Dialer{Timeout: connectionCheckTimeout, Control: g.control}
	dial := dialer.DialContext
	if u.Scheme == "https" { // the certificate is the most common failure
		dial = (&tls.Dialer{NetDialer: dialer}).DialContext
	}
	connection, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		limits := SenderConfig{ConnectTimeout: connectionCheckTimeout, ExchangeTimeout: connectionCheckTimeout}
		_, words := classify(err, limits, u.Scheme == "https")
		return words
	}
	_ = connection.Close()
	return ""
}
