// Command servery is the hub: one program that serves the API, runs the jobs
// and delivers the webhooks, and the commands that operate it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // businesses have time zones, also where the machine has no such files

	"github.com/alecthomas/kong"

	"github.com/servery-hub/servery/core/pluginhost"
)

// cli is the command line. Every flag has its environment variable.
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

func main() {
	pluginhost.Shim()
	ctx, stop := signal.NotifyContext(context.Background(), ends()...)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], output{os.Stdout, os.Stderr}))
}

// ends are the signals that end a command in good order; a terminal that is closed
// sends the last, unless the command was started to outlive it (nohup).
func ends() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
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
	mistakes := append(misnamed(parser, os.Environ()), misread(parser, args)...)
	parsed, err := parser.Parse(args)
	if status >= 0 { // help was asked for and printed
		return status
	}
	if err == nil {
		err = beforehand(parsed, mistakes)
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

type versionCommand struct{}

// Run prints what the program was built from.
func (versionCommand) Run(out output) error {
	_, err := fmt.Fprintln(out.stdout, "servery", version())
	return err
}

// built names what the program was built from; the linker sets it.
var built string

// version is what the build said, else the module's version and, where it is known,
// the commit.
func version() string {
	if built != "" {
		return built
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return info.Main.Version + " " + setting.Value
		}
	}
	return info.Main.Version
}
