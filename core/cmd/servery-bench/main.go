// Command servery-bench measures what the hub promises: how fast requests are
// accepted and carried out, how many deliveries a second it makes and how soon
// they arrive, how exact its retries are, and what it costs while idle. Each
// figure stands beside a floor measured in the same run on the same machine:
// the least that the work could cost with nothing of the hub in between.
//
// It brings a PostgreSQL of its own, with full durability, runs the built hub
// where a figure concerns all of it, and posts to nowhere but this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/servery-hub/servery/core/pluginhost"
)

// commands is the command line.
type commands struct {
	Measure measureCommand `cmd:"" default:"withargs" help:"Measure and print the figures (the default)."`
	Chart   chartCommand   `cmd:"" help:"Draw the growth curves of a run."`
	Compare compareCommand `cmd:"" help:"Hold two runs against each other."`
	Sink    sinkCommand    `cmd:"" hidden:"" help:"Be the endpoint that deliveries are posted to."`

	Attack attackCommand `cmd:"" hidden:"" help:"Be the clients that attack a hub."`
	Burn   burnCommand   `cmd:"" hidden:"" help:"Use the processors."`

	IntakeFloor intakeFloorCommand `cmd:"" hidden:"" help:"Be the server that stores each order by one INSERT."`
}

func main() {
	pluginhost.Shim()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var all commands
	parsed := kong.Parse(&all, kong.Name("servery-bench"),
		kong.Description("Measure the hub against the floors of this machine."),
		kong.BindTo(ctx, (*context.Context)(nil)))
	err := parsed.Run()
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "servery-bench:", err)
		os.Exit(1)
	}
}
