package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
)

// judgeStatus is the verdict on an answer: only 2xx is success.
func judgeStatus(response *http.Response) (ErrorClass, string) {
	status := response.StatusCode
	switch {
	case status >= 200 && status < 300:
		return "", ""
	case status == http.StatusGone:
		return Gone, "the endpoint answered 410 Gone: it wants no more deliveries"
	case status >= 300 && status < 400:
		return Redirect, fmt.Sprintf("the endpoint answered %d, a redirect; redirects are not followed: subscribe the final address", status)
	default:
		return Status, fmt.Sprintf("the endpoint answered %d %s; only 2xx is success", status, http.StatusText(status))
	}
}

// classify puts a transport error into a class and into plain words.
func classify(err error, config SenderConfig) (ErrorClass, string) {
	var (
		refused     *refusal
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		authority   x509.UnknownAuthorityError
		operation   *net.OpError
		timeout     net.Error
	)
	isTimeout := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
	dialling := errors.As(err, &operation) && operation.Op == "dial"
	switch {
	case errors.As(err, &refused):
		return Refused, refused.Error()
	case errors.As(err, &lookup):
		if lookup.IsNotFound {
			return DNS, fmt.Sprintf("the name %s does not exist", lookup.Name)
		}
		return DNS, fmt.Sprintf("the name %s could not be looked up", lookup.Name)
	case errors.As(err, &certificate) || errors.As(err, &authority):
		return TLS, "the endpoint's certificate is not valid: " + certificateProblem(err)
	case errors.As(err, &record) || errors.As(err, &alert) || errors.Is(err, http.ErrSchemeMismatch):
		return TLS, "the endpoint does not speak TLS properly"
	case isTimeout && dialling:
		return Timeout, fmt.Sprintf("no connection within %v", config.ConnectTimeout)
	case isTimeout:
		return Timeout, fmt.Sprintf("no complete answer within %v", config.ExchangeTimeout)
	case errors.Is(err, context.Canceled):
		return Broken, "the hub stopped before the endpoint answered"
	case errors.Is(err, syscall.ECONNREFUSED):
		return Connect, "the connection was refused: nothing listens at the address"
	case dialling:
		return Connect, "no connection to the address: " + operation.Err.Error()
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		return Broken, "the endpoint closed the connection before the answer was complete"
	default:
		return Protocol, "the endpoint's answer is not proper HTTP"
	}
}

func certificateProblem(err error) string {
	var (
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &name):
		return "it is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired or is not valid yet"
	default:
		return "it is signed by an unknown authority"
	}
}
