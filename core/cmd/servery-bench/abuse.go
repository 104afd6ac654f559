package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/internal/hubtest"
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
}

// abuseNames are those of the figures.
func abuseNames() (names []string) {
	for _, kind := range hostileKinds() {
		names = append(names, kind.figure())
	}
	return names
}

// measureAbuse sends orders while hostile clients send 1,000 requests of each kind from other addresses. The floor is
// the same beside a process that uses as much processor time as that attack.
func measureAbuse(r *run) {
	f := r.openHub("abuse", abuseSettings...)
	a := &abuse{shop: f.shop(new(int)), attacker: hubtest.Business(r, f.db),
		span: pick(r.Quick, 12*time.Second, 4*time.Second)}
	idle, most, before := f.hub.resident(), 0.0, r.processorSeconds()
	a.takeOrders(0)
	a.quiet = r.processorSeconds() - before
	for _, kind := range hostileKinds() {
		if r.selected(kind.figure()) {
			a.restart()
			most = max(most, a.measure(kind))
		}
	}
	r.add(measured("abuse/memory", megabytes, most).
		noted("resident at most (VmHWM), of all kinds; %.0f MB before the first attack", idle))
}

// abuseSettings limit attackers by their address.
var abuseSettings = []string{"SERVERY_TRUSTED_PROXIES=::1/128"}

// restart gives each kind of attack a hub without the memory and the jobs of the one before.
func (a *abuse) restart() {
	a.hub.stop()
	a.hub = a.startHub(abuseSettings...)
	a.connect()
	a.place(a.orders, warmOrders)
}

// takeOrders sends orders at an even rate, and returns the 99th percentile of their times. It fails
// if the hub rejects more than the given number.
func (a *abuse) takeOrders(most int) (p99 float64, refused int) {
	a.orders.client.ReadTimeout = 5 * time.Second // after which an order counts as refused
	n := int(goodRate * a.span.Seconds())
	first := a.number(n)
	var failed atomic.Int64
	took := atRate(a.ctx, goodRate, n, func(i int) {
		if status, _, err := a.orders.try(orderBody(first + i)); err != nil || status != fasthttp.StatusOK {
			failed.Add(1)
		}
	})
	refused = int(failed.Load())
	verify(refused <= most, "%d orders were refused without an attack", refused)
	return percentile(took, 99), refused
}

// measure adds the figure of one kind of attack, and returns the hub's memory at most. The median of several rounds
// counts, because others use the machine too.
func (a *abuse) measure(kind hostileKind) (peak float64) {
	outcomes, busy, refused, orders := map[string]int{}, 0.0, 0, int(goodRate*a.span.Seconds())
	measure := func(r *run) {
		var attacks, controls []float64
		for range abuseRounds {
			one := a.attack(kind)
			burn := a.startChild("burn", "--busy", fmt.Sprintf("%fs", one.busy), "--for", a.span.String())
			control, _ := a.takeOrders(0)
			check(burn.wait())
			attacks, controls = append(attacks, one.p99), append(controls, control)
			refused, busy, peak = refused+one.refused, busy+one.busy, max(peak, one.peak)
			for outcome, n := range one.outcomes {
				outcomes[outcome] += n
			}
		}
		var listed []string
		for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
			listed = append(listed, fmt.Sprintf("%d %s", outcomes[outcome], outcome))
		}
		r.add(measured(kind.figure(), milliseconds, attacks...).against(controls).
			withTarget("<= 2x, none refused", refused == 0).
			noted("median p99 of %d rounds of %d orders, %d refused; attackers: %s; hub at most %.0f MB; "+
				"floor: beside a process that uses the %.1f s of the processors that the attack took", abuseRounds,
				orders, refused, strings.Join(listed, ", "), peak, busy))
	}
	a.add(a.bench.measure(a.ctx, row(measure, kind.figure()))...) // one that fails does not end the others
	return peak
}

// attacked is the result of one round of an attack.
type attacked struct {
	p99      float64 // of the orders meanwhile
	refused  int
	outcomes map[string]int
	busy     float64 // processor seconds of attackers, hub and database
	peak     float64 // megabytes of the hub
}

// attack takes orders during an attack.
func (a *abuse) attack(kind hostileKind) (under attacked) {
	a.hub.forgetPeak()
	attackers := a.startChild("attack", "--kind", kind.name, "--address", a.hub.host(), "--count",
		fmt.Sprint(hostileRequests), "--for", a.span.String(), "--authorization", a.attacker.Authorization)
	before := a.processorSeconds()
	watching, stop := context.WithCancel(a.ctx)
	defer stop()
	go a.hub.limitMemory(watching, attackers)
	under.p99, under.refused = a.takeOrders(math.MaxInt)
	verify(json.NewDecoder(attackers.out).Decode(&under.outcomes) == nil && attackers.wait() == nil,
		"the attack ended early, with the hub at %.0f MB at most (%.0f MB end it); %d orders were refused",
		a.hub.peak(), enoughMemory, under.refused)
	under.busy, under.peak = max(a.processorSeconds()-before-a.quiet, 0), a.hub.peak()
	return under
}

// limitMemory ends an attack that makes the hub take too much memory.
func (h *hub) limitMemory(ctx context.Context, attackers *child) {
	for pause(ctx, 50*time.Millisecond) == nil {
		if status, err := h.status(); err == nil && megabytesOf(status.VmRSS) > enoughMemory {
			_ = attackers.kill()
		}
	}
}

// attackCommand is the process of hostile clients. It prints a line once it is ready, and at the end the number of each
// outcome as JSON.
type attackCommand struct {
	Kind, Address, Authorization string
	Count                        int
	For                          time.Duration
}

// Run sends the requests at an even rate from 16 addresses.
func (c *attackCommand) Run(ctx context.Context) error {
	kinds := hostileKinds()
	kind := kinds[slices.IndexFunc(kinds, func(k hostileKind) bool { return k.name == c.Kind })]
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	n := min(c.Count*max(kind.factor, 1), int(min(limit.Cur, 1<<20))-100)
	requests := kind.requests(c.Authorization)
	runtime.GC() // frees the parts that the requests were built from
	ctx, stop := untilStdinEnds(ctx, c.For, "ready")
	defer stop()
	var (
		mu       sync.Mutex
		running  sync.WaitGroup
		outcomes = map[string]int{}
	)
	began := time.Now()
	for i := range n {
		if pause(ctx, time.Until(began.Add(c.For*4/5*time.Duration(i)/time.Duration(n)))) != nil {
			break
		}
		running.Go(func() {
			outcome := attackOnce(ctx, c.Address, byte(2+i%16), requests[i%len(requests)], kind.manner)
			mu.Lock()
			defer mu.Unlock()
			outcomes[outcome]++
		})
	}
	running.Wait()
	return json.NewEncoder(os.Stdout).Encode(outcomes)
}

// attackOnce makes one hostile request from 127.0.0.FROM, and returns its outcome: the status, or how the connection
// ended.
func attackOnce(ctx context.Context, address string, from byte, request []byte, how manner) string {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}, Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp4", address)
	if err != nil {
		return "not connected"
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if how == sips {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	_, err = conn.Write(request)
	if err != nil && (how == holds || how == drips) { // for others, the response may have arrived already
		return ended(err)
	}
	for how == drips || how == sips {
		if pause(ctx, 500*time.Millisecond) != nil {
			return "held"
		}
		more, err := []byte(" "), error(nil)
		if how == sips { // what has arrived can be read after the end, which writing shows
			_, err = conn.Read(more)
			more = []byte("\n")
		}
		if err == nil {
			_, err = conn.Write(more)
		}
		if err != nil {
			return ended(err)
		}
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(conn, head); err != nil {
		return ended(err)
	}
	return strings.TrimPrefix(string(head), "HTTP/1.1 ")
}

// ended is how a connection ended: "held" is one that the hub has not closed.
func ended(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "held"
	}
	return "closed"
}

// burnCommand is a process that uses as much of the processors as an attack did.
type burnCommand struct{ Busy, For time.Duration }

// Run spreads the work evenly over its time.
func (c *burnCommand) Run(ctx context.Context) error {
	ctx, stop := untilStdinEnds(ctx, c.For, "ready")
	defer stop()
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
				_ = pause(ctx, slice-time.Since(began))
			}
		})
	}
	running.Wait()
	return nil
}

// hostileKind is one kind of hostile request.
type hostileKind struct {
	name     string
	manner   manner
	factor   int                                 // multiple of the number of requests of the other kinds; 0 means 1
	requests func(authorization string) [][]byte // sent in this order, repeatedly
}

func (k hostileKind) figure() string { return "abuse/" + k.name }

// manner is how a hostile client behaves after its request.
type manner int

const (
	awaits manner = iota // reads the response
	holds                // does nothing more: its body lacks a byte, or it sent none
	drips                // sends a byte now and then
	sips                 // reads a byte now and then
)

const (
	bombSize  = 60 << 20 // unpacked
	plainSize = 1 << 20
)

// hostileKinds are in the order in which they are measured.
func hostileKinds() []hostileKind {
	bomb := func(encoding string, pack func(dst, src []byte) []byte) hostileKind {
		return hostileKind{name: "bomb " + encoding, requests: func(key string) [][]byte {
			form := "--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n" + strings.Repeat("a", bombSize) +
				"\r\n--b--\r\n"
			return [][]byte{
				rawPost("/console/sign-in/", "", "multipart/form-data; boundary=b", encoding, pack(nil, []byte(form))),
				rawPost(storesPath, key, "application/json", encoding, pack(nil, wideJSON(bombSize))),
			}
		}}
	}
	stores := func(key string, body []byte) []byte { return rawPost(storesPath, key, "application/json", "", body) }
	const get = "GET %s HTTP/1.1\r\nHost: hub\r\n%s\r\n"
	return []hostileKind{
		bomb("gzip", fasthttp.AppendGzipBytes),
		bomb("deflate", fasthttp.AppendDeflateBytes),
		bomb("br", fasthttp.AppendBrotliBytes),
		{name: "deep JSON", requests: func(key string) [][]byte { return [][]byte{stores(key, deepJSON(plainSize))} }},
		{name: "wide JSON", requests: func(key string) [][]byte { return [][]byte{stores(key, wideJSON(plainSize))} }},
		{name: "slow read", manner: sips, requests: func(key string) [][]byte {
			known := fmt.Sprintf(get, "/external/api/v1/events/catalogue/", "Authorization: "+key+"\r\n")
			return [][]byte{fmt.Appendf(nil, get, "/openapi.json", ""), []byte(strings.Repeat(known, 20))}
		}},
		{name: "slow write", manner: drips, requests: func(key string) [][]byte {
			whole := stores(key, wideJSON(plainSize))
			return [][]byte{[]byte("POST " + ordersPath + " HTTP/1.1\r\nHost: hub\r\nX-Slow: "), whole[:len(whole)/2]}
		}},
		{name: "half bodies", manner: holds, requests: func(string) [][]byte {
			const path = "/channel/api/v1/aggregator-a/callback/order/"
			whole := rawPost(path, "", "application/json", "", wideJSON(plainSize))
			return [][]byte{whole[:len(whole)-1]}
		}},
		{name: "huge headers", requests: func(string) [][]byte {
			return [][]byte{fmt.Appendf(nil, get, "/healthz", "X-Huge: "+strings.Repeat("x", plainSize)+"\r\n"),
				fmt.Appendf(nil, get, "/healthz", strings.Repeat("X-Many: x\r\n", plainSize/11))}
		}},
		{name: "connections", manner: holds, factor: 10, requests: func(string) [][]byte { return [][]byte{nil} }},
		{name: "formula cells", requests: func(key string) (all [][]byte) {
			for i, cell := range []string{"=1+1", ";=1+1", "＝1+1", "\t=1+1", "+1", "-1", "@SUM(1)",
				`=HYPERLINK("http://127.0.0.1/")`} {
				all = append(all, stores(key, encode(object{"stores": []object{
					{"ref_id": fmt.Sprintf("F-%d", i), "name": cell, "city": cell, "active": true}}})))
			}
			return all
		}},
	}
}

// rawPost is a request as it goes over the wire.
func rawPost(path, authorization, media, encoding string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"+
		"Content-Type: %s\r\nContent-Length: %d\r\n", path, media, len(body))
	if authorization != "" {
		head += "Authorization: " + authorization + "\r\n"
	}
	if encoding != "" {
		head += "Content-Encoding: " + encoding + "\r\n"
	}
	return append([]byte(head+"\r\n"), body...)
}

// wideJSON is as many empty stores as fit.
func wideJSON(size int) []byte {
	const before, after = `{"stores":[`, `{}]}`
	return []byte(before + strings.Repeat("{},", (size-len(before)-len(after))/3) + after)
}

// deepJSON is a list of a list of a list.
func deepJSON(size int) []byte {
	return []byte(`{"stores":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + "}")
}
