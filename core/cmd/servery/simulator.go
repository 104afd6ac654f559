package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulatorFlags select the simulator.
type simulatorFlags struct {
	Simulator string `env:"SERVERY_SIMULATOR" default:"http://127.0.0.1:8090" placeholder:"URL" help:"Address of the simulated aggregators."`
}

// wrong returns the mistakes in the flags.
func (f simulatorFlags) wrong() error {
	if environ.IsURL(f.Simulator) {
		return nil
	}
	return errors.New("SERVERY_SIMULATOR: must be a URL such as http://127.0.0.1:8090")
}

// simulatorCommand simulates the aggregators of a hub.
type simulatorCommand struct {
	databaseFlags
	simulatorFlags
	Listen        string        `name:"listen" env:"SERVERY_SIMULATOR_LISTEN" placeholder:"HOST:PORT" help:"Address to listen on, where it is not that of --simulator."`
	BaseURL       string        `name:"base-url" env:"SERVERY_BASE_URL" default:"http://127.0.0.1:8080" help:"Address of the hub, for orders and callbacks."`
	Token         string        `env:"SERVERY_SIMULATOR_TOKEN" help:"What its pages and admin API ask for; needed where others can reach it."`
	CallbackAfter time.Duration `name:"callback-after" env:"SERVERY_SIMULATOR_CALLBACK_AFTER" default:"1s" help:"How long a customer's contact takes."`
	Fault         []string      `sep:"none" env:"SERVERY_SIMULATOR_FAULT" placeholder:"KIND:NAME=VALUE,…" help:"A fault from the start, such as fail:platform=aggregator-a,call=menu,status=500,times=2; repeatable. Kinds: fail, delay, hang, reset, refuse, duplicate."`
}

// Check returns the mistakes in the flags of URLs and of the database.
func (c simulatorCommand) Check() error {
	return errors.Join(c.databaseFlags.Check(), c.simulatorFlags.wrong(), wrongBase(c.BaseURL))
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
	address, err := url.Parse(c.Simulator)
	if err != nil {
		return err
	}
	if c.Listen == "" {
		// the scheme is also a port name
		c.Listen = net.JoinHostPort(address.Hostname(), cmp.Or(address.Port(), address.Scheme))
	}
	host, _, _ := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); c.Token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("SERVERY_SIMULATOR_TOKEN is required where others can reach the simulator (%s)", c.Listen)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use: stop the other program, or set --listen HOST:PORT", c.Listen)
	}
	if err != nil {
		return err
	}
	defer listener.Close()
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		config.Directory = sandbox.NewAccounts(db, c.Simulator, c.BaseURL)
		s, err := simulator.New(config)
		if err != nil {
			return err
		}
		fmt.Fprintf(out.stdout,
			"aggregators A, B and C are played at %s, for the businesses whose platforms are reached there\n",
			c.Simulator)
		return s.Serve(ctx, listener)
	})
}
