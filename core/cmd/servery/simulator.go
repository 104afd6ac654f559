package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulatorFlags select the simulator.
type simulatorFlags struct {
	Simulator environ.URL `env:"*" default:"http://127.0.0.1:8090" placeholder:"URL" help:"URL of the simulator."`
}

// simulatorCommand simulates the aggregators of a hub.
type simulatorCommand struct {
	databaseFlags
	simulatorFlags
	BaseURL       environ.BaseURL `env:"*" default:"http://127.0.0.1:8080" help:"URL of the hub."`
	Listen        string          `env:"SERVERY_SIMULATOR_LISTEN" help:"HOST:PORT, by default of --simulator."`
	Token         string          `env:"SERVERY_SIMULATOR_TOKEN" help:"Token of its pages and admin API."`
	CallbackAfter time.Duration   `env:"SERVERY_SIMULATOR_CALLBACK_AFTER" default:"1s" help:"Delay of a contact."`
	Fault         []string        `env:"SERVERY_SIMULATOR_FAULT" sep:"none" help:"KIND:NAME=VALUE,…, repeatable."`
}

// Run runs the simulator until the context ends.
func (c simulatorCommand) Run(ctx context.Context, out output) error {
	config := simulator.Config{Token: c.Token, CallbackAfter: c.CallbackAfter}
	for _, text := range c.Fault {
		fault, err := simulator.ParseFault(text)
		if err != nil {
			return err
		}
		config.Faults = append(config.Faults, fault)
	}
	address, err := url.Parse(string(c.Simulator))
	if err != nil {
		return err
	}
	if c.Listen == "" {
		// JoinHostPort accepts a scheme as the name of a port
		c.Listen = net.JoinHostPort(address.Hostname(), cmp.Or(address.Port(), address.Scheme))
	}
	host, _, _ := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); c.Token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("SERVERY_SIMULATOR_TOKEN: is required, because others can reach %s", c.Listen)
	}
	listener, err := listenOn(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	return c.withHub(ctx, out, func(db *hub.Database) error {
		config.Directory = sandbox.NewAccounts(db.DB, string(c.Simulator), string(c.BaseURL))
		s, err := simulator.New(config)
		if err != nil {
			return err
		}
		fmt.Fprintf(out.stdout, "simulating aggregators A, B and C at %s, for businesses with its URLs\n", c.Simulator)
		return s.Serve(ctx, listener)
	})
}
