package postgres

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostAndModeDecideTLS(t *testing.T) {
	for name, row := range map[string]struct {
		host, query string
		plain, open bool
		wrong       bool
	}{
		"this machine":               {host: "127.0.0.1", plain: true},
		"this machine by name":       {host: "localhost", plain: true},
		"another machine":            {host: "db.example.com"},
		"another, plain requested":   {host: "db.example.com", query: "sslmode=disable", plain: true},
		"another, only encrypted":    {host: "db.example.com", query: "sslmode=require", open: true},
		"another, in full":           {host: "db.example.com", query: "sslmode=verify-full"},
		"a mode that hides failures": {host: "db.example.com", query: "sslmode=prefer", wrong: true},
		"a missing certificate file": {host: "db.example.com", query: "sslrootcert=/nowhere.pem", wrong: true},
	} {
		query, err := url.ParseQuery(row.query)
		require.NoError(t, err)
		security, err := tlsConfig(row.host, query)
		require.Equal(t, row.wrong, err != nil, name)
		if err != nil {
			continue
		}
		require.Equal(t, row.plain, security == nil, name)
		if security != nil {
			require.Equal(t, row.open, security.InsecureSkipVerify, name)
			require.Equal(t, row.host, security.ServerName, name)
		}
	}
}

func TestInvalidDatabaseURLErrorsSayWhy(t *testing.T) {
	for address, message := range map[string]string{
		"mysql://u:p@h/d":                     "must begin with postgres://",
		"postgres://h/d":                      "must name user, host and database",
		"postgres://u:p@h":                    "must name user, host and database",
		"postgres://u:p@h/d%":                 "is not a URL",
		"postgres://u:p@h/d?ssl_mode=disable": `the unknown parameter "ssl_mode": known are sslmode,`,
		"postgres://u:p@h/d?sslmode=disable&target_session_attrs=any":   `the unknown parameter "target_session_attrs"`,
		"unix://u:p@d/run/.s.PGSQL.5432?options=-csearch_path%3Dfoo":    `the unknown parameter "options"`,
		"postgres://u:p@h/d?host=elsewhere":                             "are only for a socket directory",
		"postgres://u:p@h/d?port=5433":                                  "are only for a socket directory",
		"postgres://u:p@h/d?sslmode=disable;sslrootcert=/authority.pem": "is malformed",
	} {
		_, err := newConnector(Config{URL: address})
		require.ErrorContains(t, err, message)
		require.NotContains(t, err.Error(), ":p@", "no password in an error")
	}
}
