package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// child is another process of this program, with another command. It prints a line when it is ready. Its commands end
// with their standard input.
type child struct {
	ready string // the line
	in    io.WriteCloser
	out   *bufio.Reader
	wait  func() error
	kill  func() error
}

// startChild starts a command of this program. It ends with the run, or with this process.
func (r *run) startChild(arguments ...string) *child {
	process := exec.CommandContext(r.ctx, must(os.Executable()), arguments...)
	process.Env, process.Stderr = withoutSettings(), os.Stderr
	c := &child{in: must(process.StdinPipe()), out: bufio.NewReaderSize(must(process.StdoutPipe()), 1<<20)}
	check(process.Start())
	c.wait, c.kill = sync.OnceValue(process.Wait), process.Process.Kill
	r.Cleanup(func() {
		_ = c.in.Close()
		_ = c.wait()
	})
	line, err := c.out.ReadString('\n')
	verify(err == nil, "%s did not start: %v", arguments[0], err)
	c.ready = strings.TrimSpace(line)
	return c
}

// untilStdinEnds prints that a child is ready, and returns a context that ends with standard input, or after a time.
func untilStdinEnds(ctx context.Context, limit time.Duration, ready any) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println(ready)
	return ctx, cancel
}

func (h *hub) status() (status procfs.ProcStatus, err error) {
	process, err := procfs.NewProc(h.process.Process.Pid)
	if err == nil {
		status, err = process.NewStatus()
	}
	return status, err
}

func megabytesOf(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// resident and peak are the hub's resident memory in megabytes, now and at most.
func (h *hub) resident() float64 { return megabytesOf(must(h.status()).VmRSS) }
func (h *hub) peak() float64     { return megabytesOf(must(h.status()).VmHWM) }

// forgetPeak begins another peak.
func (h *hub) forgetPeak() {
	check(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", h.process.Process.Pid), []byte("5"), 0))
}

// processorSeconds is the processor time of this process, of those below it, and of the database, with their ended
// children.
func (b *bench) processorSeconds() (total float64) {
	used, parents := map[int]float64{}, map[int]int{}
	for _, process := range must(procfs.AllProcs()) {
		if stat, err := process.Stat(); err == nil { // else it has ended
			used[process.PID] = stat.CPUTime() + float64(stat.CUTime+stat.CSTime)/100
			parents[process.PID] = stat.PPID
		}
	}
	ours := hubtest.ProcessesIn(b.scratch)
	ours[os.Getpid()] = ""
	for pid, seconds := range used {
		for _, is := ours[pid]; pid > 1 && !is; _, is = ours[pid] {
			pid = parents[pid]
		}
		if pid > 1 {
			total += seconds
		}
	}
	return total
}

// sinkCommand is the endpoint of deliveries, in a separate process. It records when each arrived. Its parent makes RPCs
// over standard input and output.
type sinkCommand struct{}

// Arrival is one request that the sink got.
type Arrival struct {
	ID       string // the webhook-id
	Path     string // of the URL, such as /hook
	At       int64  // when it had been read; nanoseconds of Unix time
	Answered int64
	Size     int    // of the body
	Head     string // the first bytes of the body
}

func (a Arrival) time() time.Time { return time.Unix(0, a.At) }

// Paths with special behaviour.
const (
	hangPath = "/hang" // never responds
	slowPath = "/slow" // responds after slowResponse
)

const slowResponse = 100 * time.Millisecond

// headBytes is how much of a body is kept, so that the reference of a callback is.
const headBytes = 64

// Sink is the state of the sink. Its exported methods are RPCs.
type Sink struct {
	ctx      context.Context
	mu       sync.Mutex
	came     *sync.Cond
	port     int
	arrivals []Arrival
	tries    map[string]int
	failures int // how many attempts of every delivery fail
}

// Run serves until standard input ends.
func (sinkCommand) Run(ctx context.Context) error {
	s := &Sink{ctx: ctx, tries: map[string]int{}}
	s.came = sync.NewCond(&s.mu)
	address, err := s.listen("127.0.0.1")
	if err != nil {
		return err
	}
	s.port = address.(*net.TCPAddr).Port
	rpcs := rpc.NewServer()
	if err := rpcs.Register(s); err != nil {
		return err
	}
	fmt.Printf("http://%s/hook\n", address)
	rpcs.ServeConn(stream{os.Stdin, os.Stdout})
	return nil
}

// listen serves at a host until the process ends.
func (s *Sink) listen(host string) (net.Addr, error) {
	listener, err := listen(s.ctx, fmt.Sprintf("%s:%d", host, s.port))
	if err != nil {
		return nil, err
	}
	server := fasthttp.Server{Handler: s.take, NoDefaultServerHeader: true, NoDefaultDate: true,
		NoDefaultContentType: true, MaxRequestBodySize: 64 << 20}
	go func() { _ = server.Serve(listener) }()
	return listener.Addr(), nil
}

// stream is standard input and output of the sink.
type stream struct {
	io.Reader
	io.WriteCloser
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// Spread listens on so many addresses of this machine besides.
func (s *Sink) Spread(addresses int, _ *int) error {
	for i := range addresses {
		if _, err := s.listen(spreadAddress(i)); err != nil {
			return err
		}
	}
	return nil
}

// spreadAddress is one of many addresses of this machine. Each is another host to a sender.
func spreadAddress(n int) string { return fmt.Sprintf("127.1.%d.%d", n/250, 1+n%250) }

// Reset forgets the arrivals, and sets how many attempts of each delivery fail.
func (s *Sink) Reset(failures int, _ *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals, s.tries, s.failures = make([]Arrival, 0, 1<<15), map[string]int{}, failures
	return nil
}

// Wanted is what Await waits for.
type Wanted struct {
	Suffix string // of the path
	N      int
	Wait   time.Duration
}

// Await waits for so many arrivals, and returns those that came.
func (s *Sink) Await(wanted Wanted, list *[]Arrival) error {
	over := false
	timer := time.AfterFunc(wanted.Wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		over = true
		s.came.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for seen := 0; ; s.came.Wait() {
		for ; seen < len(s.arrivals); seen++ {
			if strings.HasSuffix(s.arrivals[seen].Path, wanted.Suffix) {
				*list = append(*list, s.arrivals[seen])
			}
		}
		if over || len(*list) >= wanted.N {
			return nil
		}
	}
}

// take records a request and chooses the response.
func (s *Sink) take(request *fasthttp.RequestCtx) {
	body := request.Request.Body()
	came := Arrival{ID: string(request.Request.Header.Peek("Webhook-Id")), Path: string(request.Path()),
		At: time.Now().UnixNano(), Size: len(body), Head: string(body[:min(len(body), headBytes)])}
	if came.Path == slowPath {
		time.Sleep(slowResponse)
	}
	s.record(came, request)
	if came.Path == hangPath {
		<-s.ctx.Done()
	}
}

func (s *Sink) record(came Arrival, request *fasthttp.RequestCtx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures > 0 {
		if s.tries[came.ID]++; s.tries[came.ID] <= s.failures {
			request.SetStatusCode(fasthttp.StatusInternalServerError)
		}
	}
	came.Answered = time.Now().UnixNano()
	s.arrivals = append(s.arrivals, came)
	s.came.Broadcast()
}

// sink is the sink's process.
type sink struct {
	url    string
	client *rpc.Client
}

func (r *run) startSink() *sink {
	process := r.startChild("sink")
	return &sink{process.ready, rpc.NewClient(stream{process.out, process.in})}
}

// reset forgets the arrivals, and sets how many attempts of each delivery fail.
func (s *sink) reset(failures int) { check(s.client.Call("Sink.Reset", failures, nil)) }

// spread makes the sink listen on so many addresses besides.
func (s *sink) spread(addresses int) { check(s.client.Call("Sink.Spread", addresses, nil)) }

// arrivals returns those since the last reset whose path has the suffix.
func (s *sink) arrivals(suffix string) (list []Arrival) {
	check(s.client.Call("Sink.Await", Wanted{Suffix: suffix}, &list))
	return list
}

// await waits until there are so many arrivals, and returns them.
func (s *sink) await(suffix string, n int, wait time.Duration) (list []Arrival) {
	check(s.client.Call("Sink.Await", Wanted{suffix, n, wait}, &list))
	verify(len(list) >= n, "only %d of %d requests%s arrived within %v", len(list), n, suffix, wait)
	return list
}

// byID groups arrivals by delivery.
func byID(list []Arrival) map[string][]Arrival {
	ids := make(map[string][]Arrival, len(list))
	for _, a := range list {
		ids[a.ID] = append(ids[a.ID], a)
	}
	return ids
}

// rate is how many a second arrived since an instant.
func rate(list []Arrival, since time.Time) float64 {
	last := int64(0)
	for _, a := range list {
		last = max(last, a.At)
	}
	return float64(len(list)) / time.Unix(0, last).Sub(since).Seconds()
}

// at is the URL of a path of the sink, with another host of this machine unless that is "".
func (s *sink) at(host, path string) string {
	u := must(url.Parse(s.url))
	if host != "" {
		u.Host = net.JoinHostPort(host, u.Port())
	}
	u.Path = path
	return u.String()
}
