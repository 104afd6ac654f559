package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hostile"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
)

const (
	goodRate        = 50   // orders of well-behaved clients a second
	hostileRequests = 1000 // of a kind, in each round
	abuseRounds     = 3
	enoughMemory    = 1536.0 // megabytes of the hub at which an attack is ended: the machine has other users
)

// abuse is a shop that gets orders while its hub is attacked.
type abuse struct {
	*shop
	attacker hubtest.Tenant
	span     time.Duration
	quiet    float64 // processor seconds of a span without an attack
	peak     float64 // megabytes of the hub at most
}

// measureAbuse sends orders while hostile clients send 1,000 requests of each kind from other addresses. The floor is
// the same beside a process that uses as much processor time as that attack.
func measureAbuse(r *run) {
	f := r.openHub(abuseSettings...)
	a := &abuse{shop: f.shop(), attacker: hubtest.Business(r, f.db), span: pick(r.Quick, 12*time.Second, 4*time.Second)}
	idle, before := resident(f.hub), processorSeconds()
	a.takeOrders(0)
	a.quiet = processorSeconds() - before
	for _, kind := range hostile.Kinds() {
		if !r.selected(figures.Figure{Name: abuseFigure(kind)}) {
			continue
		}
		if err := attempt(func() { a.measure(kind) }); err != nil { // the others are measured
			r.add(abuseFigure(kind)).Error = err.Error()
		}
	}
	r.add("abuse/memory", a.peak).Noted(idle)
}

func abuseFigure(kind hostile.Kind) string { return "abuse/" + kind.Name }

// abuseSettings limit attackers by their address.
var abuseSettings = []string{"SERVERY_TRUSTED_PROXIES", "::1/128"}

// processorSeconds is the processor time that the machine has used.
func processorSeconds() float64 {
	used := must(must(procfs.NewDefaultFS()).Stat()).CPUTotal
	return used.User + used.Nice + used.System + used.IRQ + used.SoftIRQ
}

// takeOrders sends orders at an even rate, and returns the 99th percentile of their times. It fails
// if the hub rejects more than the given number.
func (a *abuse) takeOrders(most int) (p99 float64, refused int) {
	a.orders.client.ReadTimeout = 5 * time.Second // after which an order counts as refused
	n := int(goodRate * a.span.Seconds())
	var failed atomic.Int64
	body := a.next(n)
	took := a.atRate(goodRate, n, func(i int) {
		if a.orders.send(fasthttp.MethodPost, "", body(i)) != nil {
			failed.Add(1)
		}
	})
	refused = int(failed.Load())
	verify(refused <= most, "%d orders were refused without an attack", refused)
	return figures.Percentile(took, 99), refused
}

// underAttack is the result of the rounds of an attack.
type underAttack struct {
	p99s     []float64 // of the orders meanwhile
	refused  int
	outcomes map[string]int
	busy     float64 // processor seconds of attackers, hub and database
}

// measure adds the figure of one kind of attack. It gives the attack a hub without the memory and the jobs of the one
// before. The median of several rounds counts, because others use the machine too.
func (a *abuse) measure(kind hostile.Kind) {
	a.stopHub(a.hub)
	a.hub = a.startHub(abuseSettings...)
	a.connect()
	a.place(a.orders, warmOrders)
	all, controls := underAttack{outcomes: map[string]int{}}, []float64(nil)
	for range abuseRounds {
		burn := a.startChild("burn", "--busy", fmt.Sprintf("%fs", a.attack(kind, &all)), "--for", a.span.String())
		control, _ := a.takeOrders(0)
		verify(burn.Wait() == 0, "using the processors failed")
		controls = append(controls, control)
	}
	peak := peak(a.hub)
	a.peak = max(a.peak, peak)
	outcomes := strings.TrimPrefix(fmt.Sprint(all.outcomes), "map")
	a.add(abuseFigure(kind), all.p99s...).Against(controls).Provided(all.refused == 0).
		Noted(abuseRounds, int(goodRate*a.span.Seconds()), all.refused, outcomes, peak, all.busy)
}

// attack takes orders during a round of an attack, and returns how many processor seconds the attack took.
func (a *abuse) attack(kind hostile.Kind, all *underAttack) (busy float64) {
	attackers := a.startChild("attack", "--kind", kind.Name, "--address", strings.TrimPrefix(a.hub.URL, "http://"),
		"--count", fmt.Sprint(hostileRequests), "--for", a.span.String(), "--authorization", a.attacker.Authorization)
	before := processorSeconds()
	watching, stop := context.WithCancel(a.ctx)
	defer stop()
	go func() {
		_ = attempt(func() { limitMemory(watching, a.hub, attackers) }) // fails if the hub has ended
	}()
	p99, refused := a.takeOrders(math.MaxInt)
	outcomes := map[string]int{}
	verify(json.NewDecoder(attackers.out).Decode(&outcomes) == nil && attackers.Wait() == 0,
		"the attack ended early, with the hub at %.0f MB at most (%.0f MB end it); %d orders were refused",
		peak(a.hub), enoughMemory, refused)
	for outcome, n := range outcomes {
		all.outcomes[outcome] += n
	}
	busy = max(processorSeconds()-before-a.quiet, 0)
	all.p99s, all.refused, all.busy = append(all.p99s, p99), all.refused+refused, all.busy+busy
	return busy
}

// limitMemory ends an attack that makes the hub take too much memory.
func limitMemory(ctx context.Context, h *hubtest.Hub, attackers *child) {
	for postgres.Pause(ctx, 50*time.Millisecond) == nil {
		if resident(h) > enoughMemory {
			attackers.Kill()
		}
	}
}

// attackCommand is the process of hostile clients. It prints a line once it starts, and at the end the number of each
// outcome as JSON.
type attackCommand struct {
	Kind, Address, Authorization string
	Count                        int
	For                          time.Duration
}

// Run sends the requests over the first four fifths of its time.
func (c *attackCommand) Run(ctx context.Context) error {
	kinds := hostile.Kinds()
	kind := kinds[slices.IndexFunc(kinds, func(k hostile.Kind) bool { return k.Name == c.Kind })]
	requests := kind.Requests(c.Authorization)
	runtime.GC() // frees the parts that the requests were built from
	ctx, stop := context.WithTimeout(ctx, c.For)
	defer stop()
	fmt.Println("ready")
	return json.NewEncoder(os.Stdout).Encode(kind.Attack(ctx, c.Address, requests, c.Count, c.For*4/5))
}

// burnCommand is a process that uses as much of the processors as an attack did.
type burnCommand struct{ Busy, For time.Duration }

// Run spreads the work evenly over its time.
func (c *burnCommand) Run(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, c.For)
	defer stop()
	fmt.Println("ready")
	const slice = 10 * time.Millisecond
	share := min(float64(c.Busy)/float64(c.For)/float64(runtime.NumCPU()), 1)
	var running sync.WaitGroup
	for range runtime.NumCPU() {
		running.Go(func() {
			runtime.LockOSThread()
			for ctx.Err() == nil {
				began := time.Now()
				for time.Since(began) < time.Duration(share*float64(slice)) {
				}
				_ = postgres.Pause(ctx, slice-time.Since(began))
			}
		})
	}
	running.Wait()
	return nil
}
