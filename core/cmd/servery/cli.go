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

// cli is the command line.
type cli struct {
	Serve     serveCommand     `cmd:"" group:"Run:" help:"Run the hub."`
	Simulator simulatorCommand `cmd:"" group:"Run:" help:"Run simulated aggregators for a hub."`
	Listen    listenCommand    `cmd:"" group:"Run:" help:"Run a receiver that shows webhooks."`

	Business businessCommand `cmd:"" group:"Set up:" help:"Create and configure businesses, the tenants."`
	Platform platformCommand `cmd:"" group:"Set up:" help:"List and configure the platforms of a business."`
	Key      keyCommand      `cmd:"" group:"Set up:" help:"Create and revoke API keys."`
	Callback callbackCommand `cmd:"" group:"Set up:" help:"Create callback keys for aggregators."`
	User     userCommand     `cmd:"" group:"Set up:" help:"Create users of the console."`

	Doctor   doctorCommand   `cmd:"" group:"Operate:" help:"Check the environment and suggest remedies."`
	Migrate  migrateCommand  `cmd:"" group:"Operate:" help:"Apply, roll back and list schema migrations."`
	Secrets  secretsCommand  `cmd:"" group:"Operate:" help:"Rotate the key that encrypts stored secrets."`
	Simulate simulateCommand `cmd:"" group:"Operate:" help:"Send simulated orders, and inject faults."`
	Version  versionCommand  `cmd:"" group:"Operate:" help:"Print the version."`

	Plugin pluginCommand `cmd:"" group:"Plugins:" help:"Create, test, install and inspect aggregator plugins."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// output is where commands print.
type output struct{ stdout, stderr io.Writer }

// show prints a value as JSON, or else the text.
func (o output) show(asJSON bool, value any, format string, args ...any) error {
	if asJSON {
		encoder := json.NewEncoder(o.stdout)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	_, err := fmt.Fprintf(o.stdout, format, args...)
	return err
}

// maxListed bounds the lists that commands print.
const maxListed = 10_000

// newParser returns the parser of the command line.
func newParser(commands *cli, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(commands, append([]kong.Option{kong.Name("servery"),
		kong.Description("Servery connects a merchant's POS or ERP with its ordering channels."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true}),
		kong.Vars{"version": "servery " + version()}, kong.PostBuild(describe)}, options...)...)
}

// run runs one command and returns the exit status.
func run(ctx context.Context, args []string, out output) int {
	var commands cli
	status := -1
	parser, err := newParser(&commands, kong.Writers(out.stdout, out.stderr),
		kong.Exit(func(code int) { status = code }), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(out))
	if err != nil {
		fmt.Fprintln(out.stderr, "servery:", err)
		return 1
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	mistakes := append(environ.Unknown(parser, os.Environ()), environ.Invalid(parser, args)...)
	parsed, err := parser.Parse(args)
	if status >= 0 { // help was printed
		return status
	}
	if err != nil {
		fmt.Fprintf(out.stderr, "servery: %v\n%s", err, helpHint(err))
		return 1
	}
	if err = environ.Validate(parsed, mistakes); err == nil {
		err = parsed.Run()
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 130
	default:
		fmt.Fprintf(out.stderr, "servery: %v\n%s", err, remedy(err))
		return 1
	}
}
