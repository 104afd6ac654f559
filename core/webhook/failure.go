package webhook

// Failure documents a class of failed attempts: its meaning and the remedy. The texts are single-line Markdown.
type Failure struct {
	Class   ErrorClass
	Meaning string
	Remedy  string
}

// Failures returns every class, in the order in which an attempt can fail.
func Failures() []Failure {
	return []Failure{
		{AddressRefused, "The host resolves to an IP address that the hub does not send to, such as a private one.",
			"Use a URL on the public internet, or ask the operator to allow the network with `SERVERY_WEBHOOK_ALLOW`."},
		{DNS, "The host name does not exist or could not be resolved.",
			"Check the host in the URL and its DNS records."},
		{Connect, "The endpoint refused the connection or is unreachable.",
			"Check that the endpoint listens on the port and that its firewall accepts the hub."},
		{TLS, "The TLS handshake failed: the certificate is expired, self-signed, incomplete or for another name.",
			"Renew the certificate, and configure the server to send the whole chain."},
		{Timeout, "No connection within 3 seconds, or no complete response within 5.",
			"Respond with `2xx` first and process the event afterwards."},
		{ConnectionBroken, "The endpoint closed or reset the connection before the response was complete.",
			"Check the endpoint and its proxy for crashes, restarts and idle timeouts."},
		{Protocol, "The response is not valid HTTP, or the request could not be built.",
			"Check that the URL leads to an HTTP server. The attempt states the reason."},
		{Redirect, "The endpoint responded with `3xx`. Redirects are not followed.",
			"Subscribe the URL that the redirect leads to."},
		{Status, "The endpoint responded with a status other than `2xx`, `3xx` or `410`.",
			"Read the recorded response body and fix the endpoint. The hub retries on its own."},
		{Gone, "The endpoint responded with `410 Gone`. The hub disables the webhook.",
			"Enable the webhook when the endpoint accepts events again."},
	}
}
