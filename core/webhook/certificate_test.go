package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// pemPair returns a self-signed client certificate in PEM.
func pemPair(t *testing.T, name string) (Certificate, *x509.Certificate) {
	t.Helper()
	pair := certificate(t, x509.Certificate{Subject: pkix.Name{CommonName: name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, nil)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	return Certificate{
		Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})),
		Key:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}, pair.Leaf
}

func TestRequestsShowTheirOwnClientCertificate(t *testing.T) {
	one, oneLeaf := pemPair(t, "one")
	other, otherLeaf := pemPair(t, "other")
	roots := x509.NewCertPool()
	roots.AddCert(oneLeaf)
	roots.AddCert(otherLeaf)
	var mu sync.Mutex
	connections := map[string]int{}
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}, func(s *httptest.Server) {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots,
			VerifyConnection: func(state tls.ConnectionState) error {
				mu.Lock()
				defer mu.Unlock()
				connections[state.PeerCertificates[0].Subject.CommonName]++
				return nil
			}}
		s.StartTLS()
	})
	sender := testSender(t, SenderConfig{TLS: trustingTLS().Clone()}, "127.0.0.0/8")
	send := func(c *Certificate) Attempt {
		return sender.Exchange(context.Background(), Request{Method: "POST", URL: address, Body: []byte("{}"),
			Certificate: c})
	}
	const rounds = 10 // on a busy machine, net/http does not keep every connection
	for range rounds {
		require.Equal(t, "one", string(send(&one).ResponseBody))
		require.Equal(t, "other", string(send(&other).ResponseBody))
	}
	mu.Lock()
	require.Less(t, connections["one"], rounds, "connections are kept for each certificate")
	require.Less(t, connections["other"], rounds)
	mu.Unlock()
	require.Equal(t, TLS, send(nil).ErrorClass)

	swapped := Certificate{Chain: one.Chain, Key: other.Key}
	attempt := send(&swapped)
	require.Equal(t, TLS, attempt.ErrorClass)
	require.Equal(t, errCertificate.Error(), attempt.Error)
	require.NoError(t, one.Check())
	require.Error(t, swapped.Check())
	require.Error(t, Certificate{Chain: "secret", Key: "secret"}.Check())
	require.NotContains(t, attempt.Error, "PRIVATE")
}

func TestClientsOfOldCertificatesAreDropped(t *testing.T) {
	sender := testSender(t, SenderConfig{})
	pair, _ := pemPair(t, "one")
	for i := range maxCertified + 10 {
		_, err := sender.clients(&Certificate{Chain: pair.Chain + string(bytes.Repeat([]byte("\n"), i)), Key: pair.Key})
		require.NoError(t, err)
	}
	require.Len(t, sender.certified.byDigest, maxCertified)
	require.NotContains(t, sender.certified.byDigest, pair.digest(), "the one that was used the longest ago")
}

func TestConcurrentRequestsShareTheirCertificatesClients(t *testing.T) {
	certificate, _ := pemPair(t, "one")
	sender := testSender(t, SenderConfig{}, "127.0.0.0/8")
	clients := make([]clientPair, 16)
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() { clients[i], _ = sender.clients(&certificate) })
	}
	group.Wait()
	for _, pair := range clients {
		require.NotNil(t, pair.client)
		require.Same(t, clients[0].client, pair.client)
	}
	require.Len(t, sender.certified.byDigest, 1)
}
