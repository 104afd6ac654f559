package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/internal/listen"
)

// listenCommand is a receiver for integrators to start with. It shows every delivery that arrives, and responds as
// configured.
type listenCommand struct {
	Listen string   `env:"SERVERY_LISTEN_ADDRESS" default:"127.0.0.1:9000" help:"Address to listen on."`
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
}

// Run listens until the context ends, and prints a summary.
func (c listenCommand) Run(ctx context.Context, out output) error {
	socket, err := listenOn(ctx, c.Listen)
	if err != nil {
		return err
	}
	config := c.config()
	config.Stdout, config.Stderr = out.stdout, out.stderr
	return listen.Serve(ctx, socket, config)
}

// Check returns all mistakes in the flags.
func (c listenCommand) Check() error { return c.config().Validate() }

// config converts the flags.
func (c listenCommand) config() listen.Config {
	config := listen.Config{Body: c.Body, JSON: c.JSON, Status: c.Status, Hang: c.Hang, Drop: c.Drop,
		Redirect: c.Redirect, Forward: c.Forward, ForwardTimeout: c.ForwardTimeout, Delay: c.Delay,
		FailFirst: c.FailFirst, FailStatus: c.FailStatus}
	for _, secret := range c.Secret { // the environment may contain blanks after commas
		config.Secrets = append(config.Secrets, strings.TrimSpace(secret))
	}
	return config
}

// listenOn opens a socket. Its error says what to do.
func listenOn(ctx context.Context, address string) (net.Listener, error) {
	socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: stop the other program, or set --listen HOST:PORT", address)
	}
	return socket, err
}
