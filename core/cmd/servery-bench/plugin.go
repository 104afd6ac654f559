package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginIDs are the plugins that are built beside the hub. checker is the one of them that is called.
var pluginIDs = []string{"aggregator-a", "aggregator-b", checker}

const checker = "aggregator-c"

// plugins is a plugin host within this process, with copies of the built plugins.
type plugins struct {
	*run
	*pluginhost.Host
	dir string
}

func (r *run) openPlugins() *plugins {
	p := &plugins{run: r, dir: must(os.MkdirTemp(r.scratch, "plugins"))}
	for _, id := range pluginIDs {
		check(os.CopyFS(filepath.Join(p.dir, id), os.DirFS(filepath.Join(filepath.Dir(r.Hub), "plugins", id))))
	}
	p.Host = must(pluginhost.Open(pluginhost.Config{Dir: p.dir, Clock: core.NewSystemClock(nil),
		Observer: aggregator.NoopObserver{}, Log: slog.New(slog.DiscardHandler)}))
	r.Cleanup(p.Host.Close)
	return p
}

const callSize = 256 // bytes of the text of a call

// call has one item checked.
func (p *plugins) call(id string) error {
	_, err := p.Plugin(id).CheckItems(p.ctx, pluginhost.Subject{Business: 1, Platform: id}, time.Minute,
		&sdk.Check{Items: []*sdk.Item{{RefId: "x", Description: strings.Repeat("x", callSize)}}})
	return err
}

// measurePluginCalls calls a plugin again and again, beside the same bytes sent there and back over a socket.
func measurePluginCalls(r *run) {
	p, n := r.openPlugins(), pick(r.Quick, 4000, 1000)
	p.Start(checker)
	check(p.call(checker))
	each := func(work func()) func() float64 {
		return func() float64 {
			return 1000 * figures.Median(inTurn(n, func() float64 { return timed(work) })[0])
		}
	}
	r.alternate("plugins/call", pick(r.Quick, 5, 3), each(r.startEcho()), each(func() { check(p.call(checker)) })).
		Noted(n, callSize)
}

// startEcho returns a function that sends as many bytes as a call there and back.
func (r *run) startEcho() func() {
	path := filepath.Join(r.scratch, "echo")
	listener := must((&net.ListenConfig{}).Listen(r.ctx, "unix", path))
	go func() {
		defer listener.Close()
		if conn, err := listener.Accept(); err == nil {
			defer conn.Close()
			_, _ = io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}, make([]byte, callSize))
		}
	}()
	conn := must((&net.Dialer{}).DialContext(r.ctx, "unix", path))
	r.Cleanup(func() { _ = conn.Close() })
	part := make([]byte, callSize)
	return func() {
		must(conn.Write(part))
		must(io.ReadFull(conn, part))
	}
}

// measurePluginLife starts plugins, kills them, and upgrades one while it is called.
func measurePluginLife(r *run) {
	var starts, floors, killed []float64
	for range pick(r.Quick, 5, 2) {
		p := r.openPlugins()
		for _, id := range []string{"aggregator-a", checker} { // each once: after a second fault the pause is longer
			describe := exec.CommandContext(r.ctx, filepath.Join(p.dir, id, id), "describe")
			describe.Env = []string{}
			floors = append(floors, timed(func() { check(describe.Run()) }))
			starts = append(starts, timed(func() {
				p.Start(id)
				check(p.call(id))
			}))
			pid := 0
			r.until(time.Second, "plugin "+id+" is ready", func() bool {
				for _, s := range p.Status() {
					if s.ID == id && s.State == pluginhost.Ready {
						pid = s.PID
					}
				}
				return pid > 0
			})
			killed = append(killed, timed(func() {
				check(syscall.Kill(pid, syscall.SIGKILL))
				check(p.call(id))
			}))
		}
		p.Host.Close()
	}
	upgrades := pick(r.Quick, 10, 3)
	failed, calls := r.openPlugins().upgrade(upgrades)
	r.add("plugins/start", starts...).Against(floors)
	r.add("plugins/killed", killed...)
	r.add("plugins/upgrade", float64(failed)).Provided(calls > 0).Noted(calls, upgradeCallers, upgrades)
}

const upgradeCallers = 8 // goroutines that call a plugin during its upgrades

// upgrade replaces a plugin by another version so many times, while it is called without a pause.
func (p *plugins) upgrade(times int) (failed, calls int64) {
	p.Start(checker)
	check(p.call(checker))
	manifest := filepath.Join(p.dir, checker, sdk.ManifestName)
	text := must(os.ReadFile(manifest))
	var wrong, made atomic.Int64
	var done atomic.Bool
	inParallel(upgradeCallers+1, upgradeCallers+1, func(i int) {
		if i > 0 {
			for ; !done.Load(); made.Add(1) {
				if p.call(checker) != nil {
					wrong.Add(1)
				}
			}
			return
		}
		defer done.Store(true)
		for n := range times {
			text = fmt.Appendf(text, "# %d\n", n) // another manifest is another version
			check(os.WriteFile(manifest, text, 0o600))
			check(p.Upgrade(p.ctx, checker))
		}
	})
	return wrong.Load(), made.Load()
}

const checkedItems = 2000 // by the plugins

// measurePluginMenu posts a menu to businesses with and without platforms that plugins serve. Every other item lacks
// what the plugins require.
func measurePluginMenu(r *run) {
	f, rounds := r.openHub(), pick(r.Quick, 7, 3)
	body := requests.CheckedItems(checkedItems)
	job := func(platformIDs ...string) float64 {
		who := f.business("IN")
		for _, id := range platformIDs {
			check(platforms.New(f.db).Set(r.ctx, who.ID, core.Platform{Name: id, ServedBy: id},
				func(*relay.Access) error { return nil }))
		}
		return who.post(masterPath, body, checkedItems, 0).recorded
	}
	inTurn(3, func() float64 { return job() }) // warms hub and database
	before := peak(f.hub)
	var added, without []float64
	for range rounds {
		least := job()
		without, added = append(without, least), append(added, job(pluginIDs...)-least)
	}
	found := f.count(`SELECT count(*) FROM platform_findings`)
	verify(found >= rounds*checkedItems/2, "the plugins found fault with %d items", found)
	r.add("plugins/menu check", added...).Noted(checkedItems, figures.Median(without))
	r.add("plugins/menu memory", peak(f.hub)-before)
}
