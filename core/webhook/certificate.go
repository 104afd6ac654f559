package webhook

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
)

// Certificate is a client certificate chain and its key, in PEM.
type Certificate struct{ Chain, Key string }

// errCertificate does not repeat the certificate or its key.
var errCertificate = errors.New("the client certificate and its key are not a valid pair in PEM")

// Check returns an error if the certificate and the key are not a valid pair.
func (c Certificate) Check() error {
	_, err := c.parse()
	return err
}

func (c Certificate) parse() (tls.Certificate, error) {
	pair, err := tls.X509KeyPair([]byte(c.Chain), []byte(c.Key))
	if err != nil {
		return pair, errCertificate
	}
	return pair, nil
}

func (c Certificate) digest() [32]byte {
	return sha256.Sum256([]byte(c.Chain + "\x00" + c.Key))
}

// maxCertified bounds the client certificates with connections. The one that was used the longest ago is dropped.
const maxCertified = 128

// certifiedClients has the clients with a client certificate. A connection with one must not be used for another.
type certifiedClients struct {
	base     *http.Transport
	mu       sync.Mutex
	uses     int64
	byDigest map[[32]byte]*certifiedPair
}

type certifiedPair struct {
	clientPair
	used int64 // number of the last use
}

// clients returns the clients for requests with a certificate; nil is none.
func (s *Sender) clients(c *Certificate) (clientPair, error) {
	if c == nil {
		return s.plain, nil
	}
	return s.certified.get(*c)
}

func (p *certifiedClients) get(c Certificate) (clientPair, error) {
	digest := c.digest()
	p.mu.Lock()
	found := p.use(digest)
	p.mu.Unlock()
	if found != nil {
		return found.clientPair, nil
	}
	pair, err := c.parse() // it takes long: requests with other certificates do not wait for it
	if err != nil {
		return clientPair{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.use(digest); found != nil { // another request was faster
		return found.clientPair, nil
	}
	if len(p.byDigest) >= maxCertified {
		p.dropOldest()
	}
	transport := p.base.Clone()
	if transport.TLSClientConfig == nil {
		transport.TLSClientConfig = &tls.Config{}
	}
	transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	transport.MaxIdleConns = 64
	p.byDigest[digest] = &certifiedPair{newClientPair(transport), p.uses}
	return p.byDigest[digest].clientPair, nil
}

// use returns the clients with a certificate, or nil, and records their use. The caller holds the lock.
func (p *certifiedClients) use(digest [32]byte) *certifiedPair {
	p.uses++
	found := p.byDigest[digest]
	if found != nil {
		found.used = p.uses
	}
	return found
}

func (p *certifiedClients) dropOldest() {
	var oldest [32]byte
	first := p.uses
	for digest, pair := range p.byDigest {
		if pair.used < first {
			oldest, first = digest, pair.used
		}
	}
	p.byDigest[oldest].client.CloseIdleConnections()
	delete(p.byDigest, oldest)
}

func (p *certifiedClients) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pair := range p.byDigest {
		pair.client.CloseIdleConnections()
	}
}
