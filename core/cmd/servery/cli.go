package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/servery-hub/servery/core/internal/environ"
)

// cli is the command line. Every flag has an environment variable.
type cli struct {
	Serve     serveCommand     `cmd:"" help:"Run the hub."`
	Migrate   migrateCommand   `cmd:"" help:"Change or show the database's schema."`
	Business  businessCommand  `cmd:"" help:"Businesses: the tenants of the hub."`
	Key       keyCommand       `cmd:"" help:"API keys of a business."`
	Callback  callbackCommand  `cmd:"" help:"Keys by which aggregators call the hub."`
	Platform  platformCommand  `cmd:"" help:"Platforms of a business: what serves them, their settings, addresses and secrets."`
	User      userCommand      `cmd:"" help:"Users of the console."`
	Secrets   secretsCommand   `cmd:"" help:"The key that seals the secrets in the database."`
	Doctor    doctorCommand    `cmd:"" help:"Check configuration, database, plugins, disk and endpoints, and say what to do."`
	Listen    listenCommand    `cmd:"" help:"Receive webhooks here, show them and answer as told: a receiver for trying things out."`
	Simulate  simulateCommand  `cmd:"" help:"Play the customers of a business: orders, riders, cancellations, edits, a rush, faults."`
	Simulator simulatorCommand `cmd:"" help:"Play aggregators A, B and C beside a hub."`
	Plugin    pluginCommand    `cmd:"" help:"Make, check and try plugins of aggregators."`
	Version   versionCommand   `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// output is where commands print.
type output struct {
	stdout, stderr io.Writer
}

// run runs one command and returns the exit status.
func run(ctx context.Context, args []string, out output) int {
	var commands cli
	status := -1
	parser, err := kong.New(&commands, kong.Name("servery"),
		kong.Description("Servery stands between a merchant's POS or ERP and its ordering channels."),
		kong.Vars{"version": "servery " + version()}, kong.UsageOnError(), kong.Writers(out.stdout, out.stderr),
		kong.Exit(func(code int) { status = code }), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(out))
	if err != nil {
		fmt.Fprintln(out.stderr, "servery:", err)
		return 1
	}
	mistakes := append(environ.Unknown(parser, os.Environ()), environ.Invalid(parser, args)...)
	parsed, err := parser.Parse(args)
	if status >= 0 { // help was printed
		return status
	}
	if err == nil {
		err = environ.Validate(parsed, mistakes)
	}
	if err == nil {
		err = parsed.Run()
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 130
	default:
		fmt.Fprintln(out.stderr, "servery:", err)
		return 1
	}
}

// printJSON prints a value as JSON, or returns the error.
func printJSON(out output, value any, err error) error {
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
