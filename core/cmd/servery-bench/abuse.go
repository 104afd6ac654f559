package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// What well-behaved clients do meanwhile, and what ends an attack early.
const (
	goodRate        = 50.0 // orders a second
	hostileRequests = 1000
	enoughMemory    = 1536.0          // megabytes that the hub may have: the machine is not ours alone
	orderPatience   = 5 * time.Second // after which an order counts as refused
	abuseDatabase   = "abuse"
)

// abuseBench is a hub that one business sends orders to while others attack it.
type abuseBench struct {
	*orderBench
	of       *bench
	good     shop
	attacker tenant
	span     time.Duration
	quiet    time.Duration // processor time of a span without an attack
}

// measureAbuse takes orders of a business while hostile clients send 1,000 requests of
// each kind from other addresses, and then beside a process that uses as much of the
// processors as that attack did.
func measureAbuse(ctx context.Context, b *bench) ([]figure, error) {
	guarded := *b
	guarded.variables = []string{"SERVERY_TRUSTED_PROXIES=::1/128"} // attackers are limited by address
	o, err := openOrderBench(ctx, &guarded, abuseDatabase)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop(abuseDatabase, b.log)
	defer o.close()
	a := &abuseBench{orderBench: o, of: &guarded, span: pick(b, 20*time.Second, 6*time.Second)}
	if a.good, err = o.shop(ctx); err != nil {
		return nil, err
	}
	a.good.orders.client.ReadTimeout = orderPatience
	if a.attacker, err = newTenant(ctx, o.db); err != nil {
		return nil, err
	}
	idle, err := o.hub.memory("VmRSS")
	if err != nil {
		return nil, err
	}
	if err := a.withoutAttack(ctx); err != nil {
		return nil, err
	}
	var figures []figure
	most := 0.0
	for _, kind := range hostileKinds() {
		if !b.selected(measurement{names: []string{kind.figure()}}) {
			continue
		}
		if err := a.restart(ctx); err != nil {
			return figures, err
		}
		f, peak, err := a.against(ctx, kind)
		if err != nil {
			f = figure{Name: kind.figure(), Error: err.Error()}
		}
		figures, most = append(figures, f), max(most, peak)
	}
	memory := figure{Name: "abuse/memory", Unit: megabytes, Measured: most}
	note := fmt.Sprintf("resident at most (VmHWM), of all kinds; %.0f MB before the first attack", idle)
	return append(figures, memory.noted(note)), nil
}

// abuseNames are those of the figures.
func abuseNames() []string {
	var names []string
	for _, kind := range hostileKinds() {
		names = append(names, kind.figure())
	}
	return names
}

// restart has each kind of attack meet a hub of its own, where the last one was: what an
// attack leaves in memory, or undone, is not the next one's.
func (a *abuseBench) restart(ctx context.Context) error {
	at := strings.TrimPrefix(a.hub.base, "http://")
	address, err := a.of.pg.address(abuseDatabase)
	if err != nil {
		return err
	}
	a.good.orders.close()
	a.hub.stop()
	if a.hub, err = startHub(ctx, a.of, abuseDatabase, address, "SERVERY_LISTEN="+at); err != nil {
		return err
	}
	_, err = a.place(a.good.orders, warmOrders)
	return err
}

// withoutAttack measures what the orders alone cost.
func (a *abuseBench) withoutAttack(ctx context.Context) error {
	before, err := a.of.processorTime()
	if err != nil {
		return err
	}
	if _, refused := a.orders(ctx); refused > 0 {
		return fmt.Errorf("%d orders were refused without an attack", refused)
	}
	after, err := a.of.processorTime()
	a.quiet = after - before
	return err
}

// orders sends orders at an even rate and tells how long each took, and how many were refused.
func (a *abuseBench) orders(ctx context.Context) (took []float64, refused int) {
	n := int(goodRate * a.span.Seconds())
	from := a.sent
	a.sent += n
	var failed atomic.Int64
	took, _ = atRate(ctx, goodRate, n, orderConnections, func(i int) error {
		if a.good.orders.post(orderBody(a.bodies, from+i)) != nil {
			failed.Add(1)
		}
		return nil
	})
	return took, int(failed.Load())
}

// attacked is what came of one kind of attack.
type attacked struct {
	took    []float64 // of the orders meanwhile
	refused int
	answers map[string]int
	busy    time.Duration // processor time that the attack took, of attackers, hub and database
	peak    float64       // megabytes of the hub
}

// against measures one kind of attack.
func (a *abuseBench) against(ctx context.Context, kind hostileKind) (figure, float64, error) {
	under, err := a.attack(ctx, kind)
	if err != nil {
		return figure{}, under.peak, err
	}
	burn, err := startBeside(ctx, nil, "burn", "--busy", under.busy.String(), "--for", a.span.String())
	if err != nil {
		return figure{}, under.peak, err
	}
	control, others := a.orders(ctx)
	if err := burn.end(nil); err != nil {
		return figure{}, under.peak, err
	}
	if others > 0 {
		return figure{}, under.peak, fmt.Errorf("%d orders were refused beside a busy process, without an attack", others)
	}
	p99 := medianFigure(kind.figure(), milliseconds, []float64{percentile(under.took, 99)})
	p99 = p99.against([]float64{percentile(control, 99)})
	return p99.judged("<= 2x, none refused", *p99.Ratio <= 2 && under.refused == 0).noted(fmt.Sprintf(
		"p99 of %d orders, %d refused; attackers: %s; hub at most %.0f MB; floor: beside a process that uses "+
			"the %.1f s of the processors that the attack took",
		len(under.took), under.refused, inWords(under.answers), under.peak, under.busy.Seconds())), under.peak, nil
}

// attack sends orders during an attack.
func (a *abuseBench) attack(ctx context.Context, kind hostileKind) (under attacked, err error) {
	if err := a.hub.forgetPeak(); err != nil {
		return under, err
	}
	attackers, err := startBeside(ctx, []string{"BENCH_ATTACKER=" + a.attacker.authorization}, "attack",
		"--kind", kind.name, "--address", strings.TrimPrefix(a.hub.base, "http://"),
		"--count", fmt.Sprint(hostileRequests), "--for", a.span.String())
	if err != nil {
		return under, err
	}
	before, err := a.of.processorTime()
	if err != nil {
		return under, errors.Join(err, attackers.end(nil))
	}
	watching, stop := context.WithCancel(ctx)
	tooMuch := make(chan bool, 1)
	go func() { tooMuch <- a.watchMemory(watching, attackers) }()
	under.took, under.refused = a.orders(ctx)
	var report attackReport
	err = attackers.end(&report)
	stop()
	if <-tooMuch {
		return under, fmt.Errorf("the hub took more than %.0f MB: the attack was ended; %d of %d orders were refused",
			enoughMemory, under.refused, len(under.took))
	}
	if err != nil {
		return under, err
	}
	after, err := a.of.processorTime()
	if err != nil {
		return under, err
	}
	under.answers, under.busy = report.Answers, max(after-before-a.quiet, 0)
	if under.peak, err = a.hub.memory("VmHWM"); err != nil {
		err = fmt.Errorf("the hub did not outlive the attack: %w", err)
	}
	return under, err
}

// watchMemory ends an attack that has the hub take too much memory.
func (a *abuseBench) watchMemory(ctx context.Context, attackers *beside) bool {
	for pause(ctx, 50*time.Millisecond) == nil {
		if used, err := a.hub.memory("VmRSS"); err == nil && used > enoughMemory {
			_ = attackers.process.Process.Kill()
			return true
		}
	}
	return false
}

// inWords lists answers, the most frequent first.
func inWords(answers map[string]int) string {
	type answer struct {
		text string
		n    int
	}
	var list []answer
	for text, n := range answers {
		list = append(list, answer{text, n})
	}
	slices.SortFunc(list, func(a, b answer) int { return b.n - a.n })
	words := make([]string, len(list))
	for i, one := range list {
		words[i] = fmt.Sprintf("%d %s", one.n, one.text)
	}
	return strings.Join(words, ", ")
}

// beside is this program, run once more beside a measurement.
type beside struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// startBeside runs a command of this program and waits until it is ready.
func startBeside(ctx context.Context, variables []string, arguments ...string) (*beside, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &beside{process: exec.CommandContext(ctx, self, arguments...)}
	p.process.Env, p.process.Stderr = append(os.Environ(), variables...), os.Stderr
	if p.in, err = p.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.process.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", arguments[0], err)
	}
	if _, err := p.out.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("%s did not start: %w", arguments[0], p.end(nil))
	}
	return p, nil
}

// end waits for the process and reads its report, where there is one to read.
func (p *beside) end(report any) error {
	var err error
	if report != nil {
		err = json.NewDecoder(p.out).Decode(report)
	}
	ended := p.process.Wait()
	_ = p.in.Close()
	if err == nil {
		err = ended
	}
	return err
}
