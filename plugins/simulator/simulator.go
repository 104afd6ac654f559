// Package simulator simulates the aggregators A, B and C and their customers over HTTP, to test a hub. It validates
// the hub's requests strictly by the formats in the plugins' READMEs. It injects faults, places orders and shows all
// traffic. One server simulates all three aggregators for many merchants.
package simulator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Config configures a simulator. Only Directory is required.
type Config struct {
	Directory     Directory
	Token         string        // bearer token of the admin API and the pages; "": none
	CallbackAfter time.Duration // delay of a customer's contact; default 1 s
	Faults        []Fault       // active from the start

	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Limits of the server.
const (
	maxBody      = 32 << 20
	maxMenus     = 64 << 20 // total bytes of stored menus
	maxAccounts  = 64
	maxCallbacks = 256 // waiting callbacks
)

// Simulator simulates the aggregators. It is an http.Handler. Close ends its background work.
type Simulator struct {
	config Config
	routes *http.ServeMux
	admin  *http.ServeMux
	faults faultSet
	menus  *menuCache
	client *http.Client

	running       context.Context // ends with Close
	end           context.CancelFunc
	callbacks     sync.WaitGroup
	callbackSlots chan struct{} // one slot for each waiting callback

	mu     sync.Mutex
	states map[accountKey]*accountState
}

type accountKey struct{ space, platform string }

// New returns a simulator, or an error for an invalid fault.
func New(config Config) (*Simulator, error) {
	if config.CallbackAfter == 0 {
		config.CallbackAfter = time.Second
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.After == nil {
		config.After = time.After
	}
	s := &Simulator{
		config: config, menus: newMenuCache(maxMenus), states: map[accountKey]*accountState{},
		callbackSlots: make(chan struct{}, maxCallbacks),
		faults:        faultSet{now: config.Now},
		client: &http.Client{
			Timeout:       15 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
				MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute},
		},
	}
	for _, f := range config.Faults {
		if _, err := s.faults.add(f); err != nil {
			return nil, err
		}
	}
	s.running, s.end = context.WithCancel(context.Background())
	s.mount()
	return s, nil
}

// Serve serves on the listener until the context ends. It then ends open requests within 5 s, and all background
// work.
func (s *Simulator) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	s.end()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if server.Shutdown(ending) != nil {
		_ = server.Close()
	}
	s.Close()
	return err
}

// Close ends requests that hang and callbacks that wait, and returns once none is
// under way.
func (s *Simulator) Close() {
	s.end()
	s.callbacks.Wait()
	s.client.CloseIdleConnections()
}

// mount makes the routes: an account's address is /SPACE/PLATFORM.
func (s *Simulator) mount() {
	s.routes, s.admin = http.NewServeMux(), http.NewServeMux()
	for _, pathAggregator := range aggregators {
		for _, t := range pathAggregator.routes {
			method, path, _ := strings.Cut(t.pattern, " ")
			s.routes.HandleFunc(method+" /{space}/{platform}"+path,
				func(w http.ResponseWriter, r *http.Request) { s.handle(w, r, pathAggregator, &t) })
		}
	}
	s.routes.HandleFunc("/{space}/{platform}/{rest...}",
		func(w http.ResponseWriter, r *http.Request) { s.handle(w, r, nil, nil) })
	s.routes.HandleFunc("GET /{$}", s.page)
	s.routes.HandleFunc("GET /{space}/{$}", s.page)
	s.mountAdmin()
}

// ServeHTTP handles requests from the hub, the admin API and the pages.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/admin/") {
		s.admin.ServeHTTP(w, r)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// accountState returns the state of an account that the directory has.
func (s *Simulator) accountState(ctx context.Context, space, platform string) (*accountState, Account, error) {
	account, err := s.config.Directory.Account(ctx, space, platform)
	if err == nil && aggregatorOf(account.Plugin) == nil {
		err = ErrNoAccount
	}
	if err != nil {
		return nil, account, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := accountKey{space, platform}
	at := s.states[key]
	if at == nil {
		if len(s.states) == maxAccounts {
			s.evictOldest()
		}
		at = newAccountState()
		s.states[key] = at
	}
	at.usedAt, at.account = s.config.Now(), account
	return at, account, nil
}

// evictOldest removes the account that was unused for longest. The caller holds mu.
func (s *Simulator) evictOldest() {
	var oldest accountKey
	for key, at := range s.states {
		if o := s.states[oldest]; o == nil || at.usedAt.Before(o.usedAt) {
			oldest = key
		}
	}
	delete(s.states, oldest)
}

// handle handles a request from the hub. pathAggregator is the aggregator of the path, or nil for none.
func (s *Simulator) handle(w http.ResponseWriter, r *http.Request, pathAggregator *aggregator, t *route) {
	at, account, err := s.accountState(r.Context(), r.PathValue("space"), r.PathValue("platform"))
	if err != nil {
		replyError(w, err)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		reply(w, http.StatusRequestEntityTooLarge,
			map[string]any{"message": "the body is larger than 32 MiB, or broke off"})
		return
	}
	aggregator := aggregatorOf(account.Plugin)
	entry := Received{At: s.config.Now(), Request: r.Method + " " + r.URL.EscapedPath(), Key: aggregator.key(r),
		Body: string(body[:min(len(body), maxRecordedText+1)])}
	if pathAggregator != aggregator { // the path of another aggregator
		t = nil
	}
	defer func() { at.record(entry) }()
	var call Call
	if t != nil {
		call = t.call
	}
	entry.Call = call
	fault, struck := s.faults.match(account, call)
	if struck {
		entry.Fault = fault.Kind
		if !s.injectFault(w, r, fault) {
			return
		}
	}
	v, content := s.validate(r, t, account, body)
	if struck && v.kind == resultAccepted {
		switch fault.Kind {
		case FaultFail:
			v = result{kind: resultFault, status: fault.Status, message: "configured to fail"}
		case FaultRefuse:
			v = result{kind: resultRejected, message: "configured to reject"}
		}
	}
	if v.kind == resultAccepted {
		v = s.apply(at, account, call, content, body)
	} else {
		entry.Problem = v.message
	}
	status, answer := aggregator.response(call, v)
	entry.Status = status
	if answer != nil {
		entry.Answer = string(marshal(answer))
	}
	reply(w, status, answer)
}

// apply applies an accepted request.
func (s *Simulator) apply(at *accountState, account Account, call Call, t update, body []byte) result {
	at.apply(call, t, len(body), s.config.Now())
	switch {
	case call == CallMenu:
		s.menus.put(menuKey{account.Space, account.Platform, t.store}, bytes.Clone(body))
	case call == CallItemState:
		return result{kind: resultAccepted, message: "taken", problems: s.unknownRefs(account, t)}
	case call == CallItemsOOS:
		return result{kind: resultAccepted, message: "the customer was informed",
			phone: maskedPhone(t.order), pin: pinOf(t.order)}
	case t.requestID != "":
		return s.sendContactLater(at, account, t)
	}
	return result{kind: resultAccepted, message: "taken"}
}

// validate checks a request's credentials and format.
func (s *Simulator) validate(r *http.Request, t *route, account Account, body []byte) (result, update) {
	aggregator := aggregatorOf(account.Plugin)
	if !aggregator.authorized(r, account.Secrets) {
		return result{kind: resultUnauthorized, message: "the credentials are wrong"}, update{}
	}
	if t == nil {
		message := aggregator.Plugin + " has no " + r.Method + " " + r.URL.Path
		return result{kind: resultNotFound, message: message}, update{}
	}
	if aggregator.key(r) == "" {
		return result{kind: resultMalformed, message: "the idempotency key is missing"}, update{}
	}
	content, err := t.parse(r, body)
	if err != nil {
		return result{kind: resultMalformed, message: err.Error()}, update{}
	}
	if named := r.PathValue("store"); named != "" && named != content.store {
		return result{kind: resultMalformed, message: "the store in the body is not the one in the path"}, update{}
	}
	return result{kind: resultAccepted, message: "taken"}, content
}

// injectFault applies a fault to a request. It returns false if there will be no response.
func (s *Simulator) injectFault(w http.ResponseWriter, r *http.Request, f Fault) bool {
	wait := (<-chan time.Time)(nil)
	switch f.Kind {
	case FaultReset:
		resetConnection(w)
		return false
	case FaultDelay:
		wait = s.config.After(time.Duration(f.DelayMS) * time.Millisecond)
	case FaultHang:
	default:
		return true
	}
	select {
	case <-wait:
		return true
	case <-r.Context().Done():
	case <-s.running.Done():
	}
	resetConnection(w)
	return false
}

// resetConnection resets the connection.
func resetConnection(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// unknownRefs returns the objects of an availability change that the store's menu does not have.
func (s *Simulator) unknownRefs(account Account, t update) (problems []problem) {
	body := s.menus.get(menuKey{account.Space, account.Platform, t.store})
	if body == nil {
		return nil
	}
	menu, err := aggregatorOf(account.Plugin).parseMenu(body, account)
	if err != nil {
		return nil
	}
	known := map[string]bool{}
	for _, ref := range menu.options {
		known["modifier "+ref] = true
	}
	for _, d := range menu.Items {
		known["product "+d.Ref] = true
		for _, c := range d.OptionGroups {
			for _, o := range c.Options {
				known["modifier "+o.Ref] = true
			}
		}
	}
	for kind, refs := range map[string][]string{"product": t.availability.items, "modifier": t.availability.options} {
		for _, ref := range refs {
			if !known[kind+" "+ref] {
				problems = append(problems, problem{kind, ref, "unknown", "the menu has none of that id"})
			}
		}
	}
	return problems
}

// replyError responds to a request whose account cannot be read.
func replyError(w http.ResponseWriter, err error) {
	if errors.Is(err, ErrNoAccount) {
		reply(w, http.StatusNotFound, map[string]any{"message": err.Error()})
		return
	}
	reply(w, http.StatusServiceUnavailable, map[string]any{"message": "the accounts cannot be read just now"})
}

func reply(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(body))
}
