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

// Config has the flags of `servery listen`. Without Status, Hang, Drop, Redirect and Forward the receiver responds with
// 200. Without Secret it does not check signatures.
type Config struct {
	Secret []string `env:"SERVERY_LISTEN_SECRET" placeholder:"WHSEC" help:"Signing secrets to verify with."`
	Body   bool     `env:"SERVERY_LISTEN_BODY" help:"Print up to 64 KiB of each body."`
	JSON   bool     `env:"SERVERY_LISTEN_JSON" help:"Print one line of JSON for each delivery."`

	Status   *int   `env:"SERVERY_LISTEN_STATUS" placeholder:"200" help:"Return this status."`
	Hang     bool   `env:"SERVERY_LISTEN_HANG" help:"Never respond."`
	Drop     bool   `env:"SERVERY_LISTEN_DROP" help:"Close the connection without a response."`
	Redirect string `env:"SERVERY_LISTEN_REDIRECT" placeholder:"URL" help:"Return 302 to this URL."`
	Forward  string `env:"SERVERY_LISTEN_FORWARD" placeholder:"URL" help:"Forward to this URL and return its response."`

	ForwardTimeout time.Duration `env:"SERVERY_LISTEN_FORWARD_TIMEOUT" default:"10s" help:"Timeout of --forward."`
	Delay          time.Duration `env:"SERVERY_LISTEN_DELAY" help:"Time before each response, such as 2s."`
	FailFirst      int           `env:"SERVERY_LISTEN_FAIL_FIRST" placeholder:"N" help:"Attempts that fail first."`
	FailStatus     *int          `env:"SERVERY_LISTEN_FAIL_STATUS" placeholder:"500" help:"Status of --fail-first."`

	Stdout, Stderr io.Writer `kong:"-"`
}

// Serve receives deliveries until ctx ends, and prints a summary. It then aborts requests that wait for a response.
func Serve(ctx context.Context, socket net.Listener, config Config) error {
	s := &printer{out: config.Stdout, err: config.Stderr, json: config.JSON, body: config.Body,
		broken: make(chan error, 1)}
	s.printURL(socket.Addr().String(), len(config.Secret))
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
