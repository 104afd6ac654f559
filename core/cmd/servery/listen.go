package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/webhook"
)

// listenCommand is the receiver for an integrator's first hour: it shows every
// delivery that arrives and answers as told.
type listenCommand struct {
	Listen string   `env:"SERVERY_LISTEN_ADDRESS" default:"127.0.0.1:9000" help:"Address to listen on."`
	Secret []string `env:"SERVERY_LISTEN_SECRET" placeholder:"WHSEC" help:"Signing secret (whsec_…) that signatures are checked with; give several for several webhooks. It is never printed."`
	Body   bool     `env:"SERVERY_LISTEN_BODY" help:"Print the bodies too, up to 64 KiB of each."`
	JSON   bool     `env:"SERVERY_LISTEN_JSON" help:"Print one line of JSON for each delivery."`

	Status   *int   `env:"SERVERY_LISTEN_STATUS" placeholder:"200" help:"Answer with this status."`
	Hang     bool   `env:"SERVERY_LISTEN_HANG" help:"Never answer: wait until the client gives up."`
	Drop     bool   `env:"SERVERY_LISTEN_DROP" help:"Close the connection without an answer."`
	Redirect string `env:"SERVERY_LISTEN_REDIRECT" placeholder:"URL" help:"Answer 302, to this address."`
	Forward  string `env:"SERVERY_LISTEN_FORWARD" placeholder:"URL" help:"Post the delivery to this address too, and answer what it answers."`

	ForwardTimeout time.Duration `name:"forward-timeout" env:"SERVERY_LISTEN_FORWARD_TIMEOUT" default:"10s" help:"How long the address of --forward may take."`
	Delay          time.Duration `env:"SERVERY_LISTEN_DELAY" help:"Wait this long before answering, such as 2s."`
	FailFirst      int           `name:"fail-first" env:"SERVERY_LISTEN_FAIL_FIRST" placeholder:"N" help:"Fail the first N attempts of each webhook-id, to watch the retries."`
	FailStatus     *int          `name:"fail-status" env:"SERVERY_LISTEN_FAIL_STATUS" placeholder:"500" help:"What --fail-first answers."`
}

// Run listens until it is told to stop, and ends with a summary.
func (c listenCommand) Run(ctx context.Context, out output) error {
	if err := c.check(); err != nil {
		return err
	}
	socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use: stop what listens there, or choose another address with --listen HOST:PORT", c.Listen)
	}
	if err != nil {
		return fmt.Errorf("listening on %s: %w", c.Listen, err)
	}
	screen := &listenScreen{out: out, json: c.JSON, body: c.Body, broken: make(chan error, 1)}
	screen.greet(socket.Addr().String(), len(c.Secret))
	return c.serve(ctx, socket, newListenHandler(c, screen))
}

// serve answers until ctx ends. Attempts that wait for an answer then are broken off.
func (c listenCommand) serve(ctx context.Context, socket net.Listener, handler *listenHandler) error {
	defer handler.close()
	requests, giveUp := context.WithCancel(ctx)
	defer giveUp()
	server := &http.Server{
		Handler: handler, BaseContext: func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(handler.screen.out.stderr, "servery: ", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(socket) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	case err = <-handler.screen.broken:
	}
	giveUp()
	finishing, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(finishing) != nil {
		_ = server.Close()
	}
	if err == nil {
		err = handler.summarize()
	}
	return err
}

// check names every mistake of the flags at once. It repeats no secret.
func (c listenCommand) check() error {
	var mistakes []error
	wrong := func(format string, values ...any) { mistakes = append(mistakes, fmt.Errorf(format, values...)) }
	for i := range c.Secret {
		c.Secret[i] = strings.TrimSpace(c.Secret[i]) // the environment may hold blanks after commas
		if err := webhook.CheckSecret(c.Secret[i]); err != nil {
			wrong("--secret number %d: %w", i+1, err)
		}
	}
	if c.Status != nil && (*c.Status < 200 || *c.Status > 599) {
		wrong("--status: must be from 200 to 599; what begins with 1 is no final answer")
	}
	if c.FailStatus != nil && (*c.FailStatus < 300 || *c.FailStatus > 599) {
		wrong("--fail-status: must be from 300 to 599, or it is no failure")
	}
	if c.Redirect != "" && !isAddress(c.Redirect) {
		wrong("--redirect: must be an address such as https://pos.example.com/hooks")
	}
	if c.Forward != "" && !isAddress(c.Forward) {
		wrong("--forward: must be an address such as http://127.0.0.1:3000/hooks")
	}
	if c.ForwardTimeout <= 0 {
		wrong("--forward-timeout: must be longer than 0")
	}
	if c.Delay < 0 || c.FailFirst < 0 {
		wrong("--delay and --fail-first: must not be negative")
	}
	return errors.Join(append(mistakes, c.conflicts()...)...)
}

// conflicts names answers that exclude each other.
func (c listenCommand) conflicts() (mistakes []error) {
	var chosen []string
	for _, answer := range []struct {
		flag  string
		given bool
	}{
		{"--status", c.Status != nil}, {"--hang", c.Hang}, {"--drop", c.Drop},
		{"--redirect", c.Redirect != ""}, {"--forward", c.Forward != ""},
	} {
		if answer.given {
			chosen = append(chosen, answer.flag)
		}
	}
	if len(chosen) > 1 {
		mistakes = append(mistakes, fmt.Errorf("%s are different answers: give one of them", strings.Join(chosen, " and ")))
	}
	if c.Hang && c.Delay > 0 {
		mistakes = append(mistakes, errors.New("--delay waits before an answer, and --hang gives none: give one of them"))
	}
	if c.FailFirst > 0 && (c.Hang || c.Drop || c.Redirect != "") {
		mistakes = append(mistakes, errors.New("--fail-first fails and then accepts: it goes with --status or --forward, not with --hang, --drop or --redirect"))
	}
	if c.FailStatus != nil && c.FailFirst == 0 {
		mistakes = append(mistakes, errors.New("--fail-status says what --fail-first answers: give --fail-first too"))
	}
	return mistakes
}
