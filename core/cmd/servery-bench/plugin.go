package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginIDs are the plugins that are built beside the hub.
var pluginIDs = []string{"aggregator-a", "aggregator-b", "aggregator-c"}

// checker is the one of them that is asked: it has rules of items.
const checker = "aggregator-c"

// pluginBench is a host within this process, with copies of the built plugins.
type pluginBench struct {
	*pluginhost.Host
	dir string
}

// unwatched observes nothing (pluginhost.Observer).
type unwatched struct{}

// PluginCalled is told of a call.
func (unwatched) PluginCalled(string, string, string, time.Duration) {}

// PluginEntered is told of a state.
func (unwatched) PluginEntered(string, pluginhost.State) {}

func openPluginBench(b *bench) (*pluginBench, error) {
	dir, err := os.MkdirTemp(b.scratch, "plugins")
	if err != nil {
		return nil, err
	}
	built := filepath.Join(filepath.Dir(b.Hub), "plugins")
	for _, id := range pluginIDs {
		if err := os.CopyFS(filepath.Join(dir, id), os.DirFS(filepath.Join(built, id))); err != nil {
			return nil, fmt.Errorf("the plugins are not built (make build): %w", err)
		}
	}
	p := &pluginBench{dir: dir}
	p.Host, err = pluginhost.Open(pluginhost.Config{Dir: dir, Clock: core.NewSystemClock(nil), Observer: unwatched{}, Log: slog.New(slog.DiscardHandler)})
	return p, err
}

// program is the file of a plugin.
func (p *pluginBench) program(id string) string { return filepath.Join(p.dir, id, id) }

// ask has one item of so many bytes checked.
func (p *pluginBench) ask(ctx context.Context, id string, size int) error {
	_, err := p.Plugin(id).CheckItems(ctx, pluginhost.Subject{Business: 1, Platform: id}, time.Minute, []*sdk.Item{{RefId: "x", Description: strings.Repeat("x", size)}})
	return err
}

// await waits until a plugin is in a state.
func (p *pluginBench) await(id string, state pluginhost.State, within time.Duration) (pluginhost.Status, error) {
	for began := time.Now(); time.Since(began) < within; time.Sleep(time.Millisecond) {
		for _, s := range p.Status() {
			if s.ID == id && s.State == state {
				return s, nil
			}
		}
	}
	return pluginhost.Status{}, fmt.Errorf("plugin %s is not %s within %v", id, state, within)
}

// callSize is the size of a measured call's text, in bytes.
const callSize = 256

// measurePluginCalls asks a plugin one small question after the other, beside the
// same bytes sent there and back over a socket of this machine.
func measurePluginCalls(ctx context.Context, b *bench) ([]figure, error) {
	p, err := openPluginBench(b)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	p.Start(checker)
	if err := p.ask(ctx, checker, callSize); err != nil {
		return nil, err
	}
	n := pick(b, 4000, 1000)
	var calls, floors []float64
	for range pick(b, 5, 3) {
		floor, err := echo(ctx, b.scratch, n)
		if err != nil {
			return nil, err
		}
		took, err := timed(n, func() error { return p.ask(ctx, checker, callSize) })
		if err != nil {
			return nil, err
		}
		calls, floors = append(calls, took), append(floors, floor)
	}
	call := medianFigure("plugins/call", microseconds, calls).against(floors)
	return []figure{call.judged("< 300 µs", call.Measured < 300).
		noted(fmt.Sprintf("median of %d calls of %d bytes one after the other, in each round; floor: the bytes there and back over a Unix socket", n, callSize))}, nil
}

// timed is the median of n runs, in microseconds.
func timed(n int, run func() error) (float64, error) {
	took := make([]float64, n)
	for i := range took {
		began := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(began)) / float64(time.Microsecond)
	}
	return median(took), nil
}

// echo sends as many bytes as a call there and back, and tells the median of the
// times in microseconds.
func echo(ctx context.Context, dir string, n int) (float64, error) {
	path := filepath.Join(dir, "echo")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		part := make([]byte, callSize)
		for {
			got, err := conn.Read(part)
			if err != nil {
				return
			}
			if _, err := conn.Write(part[:got]); err != nil {
				return
			}
		}
	}()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	part := make([]byte, callSize)
	return timed(n, func() error {
		if _, err := conn.Write(part); err != nil {
			return err
		}
		for left := callSize; left > 0; {
			got, err := conn.Read(part[:left])
			if err != nil {
				return err
			}
			left -= got
		}
		return nil
	})
}

// measurePluginLife starts plugins, kills them, and puts others in their place
// while they are asked.
func measurePluginLife(ctx context.Context, b *bench) ([]figure, error) {
	var starts, floors, killed []float64
	for range pick(b, 5, 2) {
		if err := lifeRound(ctx, b, &starts, &floors, &killed); err != nil {
			return nil, err
		}
	}
	failed, calls, changes, err := upgradeUnderLoad(ctx, b, pick(b, 10, 3))
	if err != nil {
		return nil, err
	}
	start := medianFigure("plugins/start", milliseconds, starts).against(floors)
	back := medianFigure("plugins/killed", milliseconds, killed)
	upgrade := figure{Name: "plugins/upgrade", Unit: "failed", Measured: float64(failed)}
	return []figure{
		start.judged("< 200 ms", start.Measured < 200).noted("from its wish to its first answer: digest, copy, start, certificates, description, self-test; floor: the program started to describe itself"),
		back.judged("< 2 s", back.Measured < 2000).noted("from SIGKILL to the next answer, the first pause included"),
		upgrade.judged("0", failed == 0 && calls > 0).noted(fmt.Sprintf("of %d calls from 8 goroutines, during %d upgrades", calls, changes)),
	}, nil
}

// lifeRound starts each plugin and kills it once: after a second fault the pause is longer.
func lifeRound(ctx context.Context, b *bench, starts, floors, killed *[]float64) error {
	p, err := openPluginBench(b)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, id := range []string{"aggregator-a", checker} {
		describe := exec.CommandContext(ctx, p.program(id), "describe")
		describe.Env = []string{}
		began := time.Now()
		if err := describe.Run(); err != nil {
			return fmt.Errorf("describing plugin %s: %w", id, err)
		}
		*floors = append(*floors, inMilliseconds(time.Since(began)))
		began = time.Now()
		p.Start(id)
		if err := p.ask(ctx, id, callSize); err != nil {
			return err
		}
		*starts = append(*starts, inMilliseconds(time.Since(began)))
		s, err := p.await(id, pluginhost.Ready, time.Second)
		if err != nil {
			return err
		}
		began = time.Now()
		if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
			return err
		}
		if err := p.ask(ctx, id, callSize); err != nil {
			return err
		}
		*killed = append(*killed, inMilliseconds(time.Since(began)))
	}
	return nil
}

// upgradeUnderLoad puts another version in the place of a plugin, so many times,
// while it is asked without a pause.
func upgradeUnderLoad(ctx context.Context, b *bench, changes int) (failed, calls int64, _ int, err error) {
	p, err := openPluginBench(b)
	if err != nil {
		return 0, 0, 0, err
	}
	defer p.Close()
	p.Start(checker)
	if err := p.ask(ctx, checker, callSize); err != nil {
		return 0, 0, 0, err
	}
	var wrong, made atomic.Int64
	var asking sync.WaitGroup
	load, stop := context.WithCancel(ctx)
	for range 8 {
		asking.Go(func() {
			for load.Err() == nil {
				if p.ask(ctx, checker, callSize) != nil {
					wrong.Add(1)
				}
				made.Add(1)
			}
		})
	}
	defer asking.Wait()
	defer stop()
	manifest := filepath.Join(p.dir, checker, sdk.ManifestName)
	text, err := os.ReadFile(manifest)
	for n := 0; n < changes && err == nil; n++ {
		text = fmt.Appendf(text, "# %d\n", n) // another manifest is another version
		if err = os.WriteFile(manifest, text, 0o600); err == nil {
			err = p.Upgrade(ctx, checker)
		}
	}
	stop()
	asking.Wait()
	return wrong.Load(), made.Load(), changes, err
}
