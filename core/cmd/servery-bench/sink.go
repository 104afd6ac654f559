package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// child is another process of this program, with another command. It prints a line when it is ready.
type child struct {
	*hubtest.Process
	ready string // the line
	in    io.WriteCloser
	out   *bufio.Reader
}

// startChild starts a command of this program. It ends with the run, or with this process, which closes its input.
func (r *run) startChild(arguments ...string) *child {
	c := &child{Process: hubtest.NewProcess(must(os.Executable()), nil, arguments...)}
	output, written, err := os.Pipe()
	check(err)
	c.in, c.out = must(c.Cmd.StdinPipe()), bufio.NewReaderSize(output, 1<<20)
	c.Cmd.Stdout, c.Cmd.Stderr = written, os.Stderr
	c.Start(r)
	_ = written.Close()
	context.AfterFunc(r.ctx, c.Kill)
	c.ready, err = c.out.ReadString('\n')
	verify(err == nil, "%s did not start: %v", arguments[0], err)
	c.ready = strings.TrimSpace(c.ready)
	return c
}

// sinkCommand is the endpoint of deliveries, in a separate process. It records when each arrived. Its parent makes RPCs
// over standard input and output.
type sinkCommand struct{}

// Arrival is one request that the sink got.
type Arrival struct {
	ID           string // the webhook-id
	Path         string // of the URL, such as /hook
	At, Answered time.Time
	Size         int    // of the body
	Head         string // the first bytes of the body
}

const (
	hangPath     = "/hang" // never responds
	slowPath     = "/slow" // responds after slowResponse
	slowResponse = 100 * time.Millisecond
	headBytes    = 64 // of a body that are kept: they contain the reference of a callback
)

// Sink is the state of the sink. Its exported methods are RPCs.
type Sink struct {
	ctx      context.Context
	mu       sync.Mutex
	came     chan struct{} // closed at the next arrival
	arrivals []Arrival
	tries    map[string]int
	failures int // how many attempts of every delivery fail
}

// Run serves until standard input ends.
func (sinkCommand) Run(ctx context.Context) error {
	s := &Sink{ctx: ctx, tries: map[string]int{}, came: make(chan struct{})}
	address := s.listen("127.0.0.1:0")
	for i := range spreadAddresses {
		s.listen(fmt.Sprintf("%s:%d", spreadAddress(i), address.(*net.TCPAddr).Port))
	}
	rpcs := rpc.NewServer()
	check(rpcs.Register(s))
	fmt.Printf("http://%s/hook\n", address)
	rpcs.ServeConn(stream{os.Stdin, os.Stdout})
	return nil
}

// listen serves on a host and port until the process ends.
func (s *Sink) listen(address string) net.Addr {
	listener := must((&net.ListenConfig{}).Listen(s.ctx, "tcp", address))
	server := fasthttp.Server{Handler: s.take, NoDefaultServerHeader: true, NoDefaultDate: true,
		NoDefaultContentType: true, MaxRequestBodySize: 64 << 20}
	go func() { _ = server.Serve(listener) }()
	return listener.Addr()
}

// stream is standard input and output of the sink.
type stream struct {
	io.Reader
	io.WriteCloser
}

// spreadAddresses is how many addresses of this machine the sink has besides its own.
const spreadAddresses = 1000

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
	over := time.After(wanted.Wait)
	for seen := 0; ; {
		s.mu.Lock()
		for ; seen < len(s.arrivals); seen++ {
			if strings.HasSuffix(s.arrivals[seen].Path, wanted.Suffix) {
				*list = append(*list, s.arrivals[seen])
			}
		}
		came := s.came
		s.mu.Unlock()
		if len(*list) >= wanted.N {
			return nil
		}
		select {
		case <-came:
		case <-over:
			return nil
		}
	}
}

// take records a request and chooses the response.
func (s *Sink) take(request *fasthttp.RequestCtx) {
	body := request.Request.Body()
	came := Arrival{ID: string(request.Request.Header.Peek("Webhook-Id")), Path: string(request.Path()),
		At: time.Now(), Size: len(body), Head: string(body[:min(len(body), headBytes)])}
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
	came.Answered = time.Now()
	s.arrivals = append(s.arrivals, came)
	close(s.came)
	s.came = make(chan struct{})
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

// arrivals returns those since the last reset whose path has the suffix.
func (s *sink) arrivals(suffix string) []Arrival { return s.await(suffix, 0, 0) }

// await waits until there are so many arrivals, and returns them.
func (s *sink) await(suffix string, n int, wait time.Duration) (list []Arrival) {
	check(s.client.Call("Sink.Await", Wanted{suffix, n, wait}, &list))
	verify(len(list) >= n, "only %d of %d requests%s arrived within %v", len(list), n, suffix, wait)
	return list
}

// awaitEach is await of n deliveries to the URL of the sink. None may arrive twice.
func (s *sink) awaitEach(n int, wait time.Duration) []Arrival {
	list := s.await("/hook", n, wait)
	distinct := len(byID(list))
	verify(distinct == n, "%d deliveries reached the sink, not %d", distinct, n)
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
	return float64(len(list)) / lastOf(list).Sub(since).Seconds()
}

func lastOf(list []Arrival) time.Time {
	return slices.MaxFunc(list, func(a, b Arrival) int { return a.At.Compare(b.At) }).At
}

// at is the URL of a path of the sink, with another host of this machine unless that is "".
func (s *sink) at(host, path string) string {
	own := must(url.Parse(s.url))
	return "http://" + net.JoinHostPort(cmp.Or(host, own.Hostname()), own.Port()) + path
}
