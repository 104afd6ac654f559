package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// classifyStatus classifies a response: only 2xx is success.
func classifyStatus(response *http.Response) (ErrorClass, string) {
	status := response.StatusCode
	switch {
	case status >= 200 && status < 300:
		return "", ""
	case status == http.StatusGone:
		return Gone, "the server responded with 410 Gone: it wants no more deliveries"
	case status >= 300 && status < 400:
		return Redirect,
			fmt.Sprintf("the server responded with %d, a redirect; redirects are not followed: subscribe the final URL",
				status)
	default:
		return Status, fmt.Sprintf("the server responded with %d %s", status, http.StatusText(status))
	}
}

// classify returns the class and a plain description of a transport error. If shaking is set, an error that is not
// from dialling is from the TLS handshake.
func classify(err error, config SenderConfig, shaking bool) (ErrorClass, string) {
	var (
		lookup    *net.DNSError
		operation *net.OpError
		timeout   net.Error
		urlError  *url.Error
	)
	host := ""                     // a host name, if the URL has one
	if errors.As(err, &urlError) { // the URL in the message may contain secrets
		host, err = hostName(urlError.URL), urlError.Err
	}
	isTimeout := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
	dialling := errors.As(err, &operation) && operation.Op == "dial"
	switch {
	case errors.Is(err, errRefused) && host != "":
		return DNS, noPublicAddress(host)
	case errors.Is(err, errRefused):
		return AddressRefused, errRefused.Error()
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return DNS, noPublicAddress(cmp.Or(host, lookup.Name))
	case errors.As(err, &lookup):
		return DNS, fmt.Sprintf("the host name %s could not be resolved", lookup.Name)
	case isTimeout && dialling:
		return Timeout, fmt.Sprintf("no connection within %v", config.ConnectTimeout)
	case isTimeout && shaking && !errors.Is(err, context.DeadlineExceeded):
		return Timeout, fmt.Sprintf("no TLS handshake within %v", config.ConnectTimeout)
	case isTimeout && shaking:
		return Timeout, fmt.Sprintf("no TLS handshake within %v", config.ExchangeTimeout)
	case isTimeout:
		return Timeout, fmt.Sprintf("no complete response within %v", config.ExchangeTimeout)
	case errors.Is(err, context.Canceled):
		return ConnectionBroken, "the hub stopped before the server responded"
	case errors.Is(err, syscall.ECONNREFUSED):
		return Connect, "connection refused: no server listens at this host and port"
	case dialling:
		return Connect, "no connection: " + operation.Err.Error()
	}
	if words := tlsProblem(err, shaking); words != "" {
		return TLS, words
	}
	if words := interruption(err); words != "" {
		return ConnectionBroken, words
	}
	return Protocol, "the response is not valid HTTP"
}

// noPublicAddress returns the same message for an unknown name and for one that resolves to a private address.
// Otherwise a subscriber could list the names of the operator's network.
func noPublicAddress(name string) string {
	return fmt.Sprintf("the server name %s was not found on the public internet", name)
}

// Host returns the host and port of a URL in lower case, or the text if it is not a URL.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.ToLower(u.Host)
}

// hostName returns the host name of a URL, or "" if its host is an IP address.
func hostName(address string) string {
	u, err := url.Parse(address)
	if err != nil || net.ParseIP(u.Hostname()) != nil {
		return ""
	}
	return u.Hostname()
}

// tlsProblem describes a TLS error, or returns "" for any other error.
func tlsProblem(err error, shaking bool) string {
	var (
		certificate *tls.CertificateVerificationError
		alert       *net.OpError
		record      tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &certificate):
		return "the server's certificate is not valid: " + certificateProblem(certificate)
	case errors.As(err, &alert) && alert.Op == "remote error": // crypto/tls reports an alert this way
		return "the server rejected the TLS handshake: " + strings.TrimPrefix(alert.Err.Error(), "tls: ")
	case errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not support TLS"
	case !shaking:
		return ""
	case interruption(err) != "":
		return "the server closed the connection during the TLS handshake"
	}
	return "the TLS handshake failed: " + strings.TrimPrefix(err.Error(), "tls: ")
}

// connectionClosed is the description that interruption returns for a closed connection.
const connectionClosed = "the server closed the connection before the response was complete"

// interruption describes how the connection or the exchange was interrupted, or returns "" if it was not.
func interruption(err error) string {
	var reset streamError
	switch text := err.Error(); {
	case errors.As(err, &reset) && reset.Cause != nil && reset.Cause.Error() == "received from peer", // else local
		strings.Contains(text, "cannot retry err [stream error"):
		return "the server reset the HTTP/2 stream before the response was complete"
	case strings.Contains(text, "http2: client connection lost"):
		return "the connection was lost: no more data arrived"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.EPIPE),
		strings.Contains(text, "http2: client conn"), strings.Contains(text, "GOAWAY"),
		strings.Contains(text, "server closed idle connection"):
		return connectionClosed
	}
	return ""
}

// streamError matches the error of an HTTP/2 stream. The error type of net/http is not exported, but its As method
// fills a type of the same shape.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "HTTP/2 stream error" }

// certificateProblem describes why a certificate was not accepted.
func certificateProblem(err *tls.CertificateVerificationError) string {
	var (
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	leaf := err.UnverifiedCertificates[0]
	itself := bytes.Equal(leaf.RawIssuer, leaf.RawSubject)
	switch {
	case errors.As(err, &name):
		words := fmt.Sprintf("it is for %s, not for %s, and valid until %s", clip(namesOf(leaf), 500), name.Host,
			day(leaf.NotAfter))
		if itself {
			words += ", and self-signed"
		}
		return words
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return period(invalid.Cert, leaf)
	case errors.As(err, &invalid):
		return strings.TrimPrefix(invalid.Error(), "x509: ")
	case itself:
		return "it is self-signed, not signed by a known authority, and valid until " + day(leaf.NotAfter)
	default:
		return fmt.Sprintf("its authority %s is unknown, or the server does not send its intermediate certificates; "+
			"it is valid until %s", authorityName(leaf.Issuer), day(leaf.NotAfter))
	}
}

// period says when a certificate of the chain was or will be valid. A nil one is the server's own, the leaf.
func period(expired, leaf *x509.Certificate) string {
	subject := "it"
	if expired == nil {
		expired = leaf
	} else if !expired.Equal(leaf) {
		subject = "the certificate of its authority " + authorityName(expired.Subject)
	}
	if time.Now().Before(expired.NotBefore) { // crypto/tls compares with the same clock
		return subject + " is not valid before " + day(expired.NotBefore)
	}
	return subject + " expired on " + day(expired.NotAfter)
}

// day returns a time as in "21 Nov 2026, 11:26 UTC".
func day(at time.Time) string { return at.UTC().Format("2 Jan 2006, 15:04 MST") }

// authorityName returns the common name or organization of a certificate authority.
func authorityName(name pkix.Name) string {
	return fmt.Sprintf("%q", clip(cmp.Or(name.CommonName, strings.Join(name.Organization, ", ")), 100))
}

// namesOf lists the first names and IP addresses of a certificate.
func namesOf(c *x509.Certificate) string {
	names := c.DNSNames
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	switch more := len(names) - 5; {
	case len(names) == 0:
		return "no name"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), more)
	}
	return strings.Join(names, ", ")
}
