package sdk

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/hashicorp/go-plugin"
)

// exitTimeout is the maximum time that a plugin takes to end after its host has.
const exitTimeout = 2 * time.Second

// Serve is the main function of a plugin. It returns when the host stops the plugin or ends. Started by hand, the
// program prints what it is; the argument "describe" prints the description as JSON.
func Serve(p Plugin) {
	log := slog.New(NewLogHandler(os.Stderr, slog.LevelInfo))
	slog.SetDefault(log)
	server, err := NewServer(p, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, "this plugin cannot be served:", err)
		os.Exit(1)
	}
	if os.Getenv(Handshake.MagicCookieKey) != Handshake.MagicCookieValue {
		os.Exit(server.runByHand(os.Args[1:], os.Stdout, os.Stderr))
	}
	plugin.Serve(server.ServeConfig(func(stop func()) {
		watchParent(func() {
			time.AfterFunc(exitTimeout, func() { os.Exit(1) })
			stop()
		})
	}))
}

// runByHand handles a start by a person at a terminal. It returns the exit status.
func (s *Server) runByHand(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == "describe" {
		text, err := ToJSON(s.description)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		_, _ = fmt.Fprintln(stdout, string(text))
		return 0
	}
	_, _ = fmt.Fprintf(stderr, `This is %s %s, a plugin of the Servery hub: %s.
It is started by the hub and does nothing by itself. What you can do with it:

  %[4]s describe              print what it can do, as JSON
  servery plugin check FILE   check it against its manifest, plugin.yaml
  servery plugin test PATH    run the conformance suite against it
  servery plugin run PATH     call it by hand with a JSON file
`, s.description.Id, s.description.Version, s.description.DisplayName, os.Args[0])
	return 1
}
