// Hub is a plugin host that waits to be killed. `hub DIR TEMPDIR [plain]` prints the process id of the plugin hostile
// when it is ready. With plain there is no isolation.
package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
)

type observer struct{ ready chan struct{} }

func (observer) PluginCalled(string, string, string, time.Duration) {}

func (o observer) PluginEntered(_ string, state pluginhost.State) {
	if state == pluginhost.Ready {
		close(o.ready)
	}
}

func main() {
	o := observer{make(chan struct{})}
	host, err := pluginhost.Open(pluginhost.Config{Dir: os.Args[1], TempDir: os.Args[2], NoIsolation: len(os.Args) > 3,
		Clock: core.NewSystemClock(nil), Observer: o, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	host.Start("hostile")
	<-o.ready
	fmt.Println(host.Status()[0].PID)
	select {}
}
