package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/servery-hub/servery/core/internal/listen"
)

// listenCommand is a receiver for integrators to start with. It shows every delivery that arrives, and responds as
// configured.
type listenCommand struct {
	Listen string `env:"SERVERY_LISTEN_ADDRESS" default:"127.0.0.1:9000" help:"Address to listen on."`
	listen.Config
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
func (c listenCommand) Check() error { return c.config().Check() }

// config trims the secrets, because the environment may contain blanks after commas.
func (c listenCommand) config() listen.Config {
	config := c.Config
	config.Secret = slices.Clone(c.Secret)
	for i, secret := range config.Secret {
		config.Secret[i] = strings.TrimSpace(secret)
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
