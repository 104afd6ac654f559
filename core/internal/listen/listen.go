// Package listen is a receiver of webhooks for integrators to start with. It shows every delivery that arrives, and
// responds as configured.
package listen

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Config configures a receiver. Without Status, Hang, Drop, Redirect and Forward it responds with 200.
type Config struct {
	Secrets []string // that signatures are checked with; none: they are not checked
	Body    bool     // print bodies
	JSON    bool     // print one line of JSON for each delivery

	Status         *int
	Hang           bool   // never respond
	Drop           bool   // close the connection without a response
	Redirect       string // URL
	Forward        string // URL that also receives the delivery, and whose response is passed on
	ForwardTimeout time.Duration
	Delay          time.Duration // before the response
	FailFirst      int           // attempts of each webhook-id that fail
	FailStatus     *int          // of those; nil: 500

	Stdout, Stderr io.Writer
}

// Serve receives deliveries until ctx ends, and prints a summary. It then aborts requests that wait for a response.
func Serve(ctx context.Context, socket net.Listener, config Config) error {
	s := &printer{out: config.Stdout, err: config.Stderr, json: config.JSON, body: config.Body,
		broken: make(chan error, 1)}
	s.printURL(socket.Addr().String(), len(config.Secrets))
	h := newHandler(config, s)
	defer h.close()
	requests, cancelRequests := context.WithCancel(ctx)
	defer cancelRequests()
	server := &http.Server{
		Handler: h, BaseContext: func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(config.Stderr, "servery: ", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(socket) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	case err = <-s.broken:
	}
	cancelRequests()
	finishing, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(finishing) != nil {
		_ = server.Close()
	}
	if err == nil {
		err = h.summarize()
	}
	return err
}
