package postgres

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsDecryptOnlyWithTheirKeyAndContext(t *testing.T) {
	one, err := NewSealer(strings.Repeat("ab", 32))
	require.NoError(t, err)
	other, err := NewSealer("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	require.NoError(t, err)
	sealed := one.Keys[0].Seal("webhooks/1/secret", []byte("hush"))
	require.NotContains(t, string(sealed), "hush")
	require.NotEqual(t, sealed, one.Keys[0].Seal("webhooks/1/secret", []byte("hush")),
		"the same secret does not look the same twice")
	plain, err := one.Open("webhooks/1/secret", sealed)
	require.NoError(t, err)
	require.Equal(t, "hush", string(plain))
	for name, open := range map[string]func() ([]byte, error){
		"another place": func() ([]byte, error) { return one.Open("webhooks/2/secret", sealed) },
		"another key":   func() ([]byte, error) { return other.Open("webhooks/1/secret", sealed) },
		"changed": func() ([]byte,
			error) {
			return one.Open("webhooks/1/secret", append(bytes.Clone(sealed), 0))
		},
		"cut short": func() ([]byte, error) { return one.Open("webhooks/1/secret", sealed[:5]) },
		"nothing":   func() ([]byte, error) { return one.Open("webhooks/1/secret", nil) },
	} {
		_, err := open()
		require.ErrorIs(t, err, ErrSeal, name)
	}
	for _, wrong := range []string{"", "short", strings.Repeat("ab", 31), strings.Repeat("zz", 32)} {
		_, err := NewSealer(wrong)
		require.Error(t, err, wrong)
	}
}

func TestCompressedBodiesDecompressUnchanged(t *testing.T) {
	p, err := newCompressor()
	require.NoError(t, err)
	for _, body := range []string{``, `{}`, strings.Repeat(`{"a":"ñ"}`, 200), strings.Repeat("x", s2MaxSize),
		strings.Repeat("x", s2MaxSize+1), strings.Repeat(`{"a":"ñ"}`, 100000)} {
		packed := p.Compress([]byte(body))
		back, err := p.Decompress(packed)
		require.NoError(t, err)
		require.Equal(t, body, string(back))
		require.LessOrEqual(t, len(packed), max(len(body), compressMinSize))
	}
	for _, broken := range [][]byte{append(bytes.Clone(zstdMagic), 1, 2, 3), s2Magic,
		append(bytes.Clone(s2Magic), 0xff, 0xff, 0xff, 0x0f), append(bytes.Clone(s2Magic), 5, 0)} {
		_, err = p.Decompress(broken)
		require.Error(t, err)
	}
}

func TestHostAndModeDecideTLS(t *testing.T) {
	for name, row := range map[string]struct {
		host, query string
		plain, open bool
		wrong       bool
	}{
		"this machine":               {host: "127.0.0.1", plain: true},
		"this machine by name":       {host: "localhost", plain: true},
		"another machine":            {host: "db.example.com"},
		"another, asked for plain":   {host: "db.example.com", query: "sslmode=disable", plain: true},
		"another, only encrypted":    {host: "db.example.com", query: "sslmode=require", open: true},
		"another, in full":           {host: "db.example.com", query: "sslmode=verify-full"},
		"a mode that hides failures": {host: "db.example.com", query: "sslmode=prefer", wrong: true},
		"an authority that is gone":  {host: "db.example.com", query: "sslrootcert=/nowhere.pem", wrong: true},
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
