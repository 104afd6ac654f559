package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Limits of the admin API.
const (
	maxAdminBody = 1 << 20
	maxPlaced    = 1000 // orders per request
)

// mountAdmin registers the routes of the admin API. Bodies and responses are JSON.
func (s *Simulator) mountAdmin() {
	for pattern, handle := range map[string]func(*http.Request) (any, error){
		"GET /admin/{$}":                                        s.getAccounts,
		"GET /admin/faults":                                     s.getFaults,
		"POST /admin/faults":                                    s.postFault,
		"DELETE /admin/faults":                                  s.deleteFaults,
		"DELETE /admin/faults/{id}":                             s.deleteFault,
		"GET /admin/{space}/{platform}/received":                s.getReceived,
		"GET /admin/{space}/{platform}/stores":                  s.getStores,
		"GET /admin/{space}/{platform}/stores/{store}/menu":     s.getMenu,
		"GET /admin/{space}/{platform}/orders":                  s.getOrders,
		"GET /admin/{space}/{platform}/orders/{order}":          s.getOrder,
		"POST /admin/{space}/{platform}/orders":                 s.postOrders,
		"POST /admin/{space}/{platform}/orders/{order}/cancel":  s.postCancel,
		"POST /admin/{space}/{platform}/orders/{order}/contact": s.postContact,
		"POST /admin/{space}/{platform}/messages/{kind}":        s.postMessage,
	} {
		s.admin.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serveAdmin(w, r, handle) })
	}
}

// badRequest is an error for an invalid admin request.
type badRequest string

// Error returns the message.
func (b badRequest) Error() string { return string(b) }

func (s *Simulator) serveAdmin(w http.ResponseWriter, r *http.Request, handle func(*http.Request) (any, error)) {
	if !s.checkToken(w, r) {
		return
	}
	if r.Method == http.MethodPost { // a cross-site form cannot send JSON
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
			reply(w, http.StatusUnsupportedMediaType,
				map[string]string{"message": "send JSON, with Content-Type: application/json"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxAdminBody)
	}
	answer, err := handle(r)
	var bad badRequest
	switch {
	case err == nil:
		reply(w, http.StatusOK, answer)
	case errors.As(err, &bad):
		reply(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
	case errors.Is(err, errNotSent):
		reply(w, http.StatusConflict, map[string]string{"message": err.Error()})
	default:
		replyError(w, err)
	}
}

// checkToken reports whether the request has the configured token. If not, it responds with 401.
func (s *Simulator) checkToken(w http.ResponseWriter, r *http.Request) bool {
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, basic := r.BasicAuth(); basic {
		given = password // from a browser
	}
	if s.config.Token == "" || secretsEqual(given, s.config.Token) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="simulator"`)
	reply(w, http.StatusUnauthorized,
		map[string]string{"message": "send the simulator's token: Authorization: Bearer TOKEN"})
	return false
}

func readBody[T any](r *http.Request) (T, error) {
	var into T
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&into); err != nil && !errors.Is(err, io.EOF) {
		return into, badRequest(err.Error())
	}
	return into, nil
}

// requestedAccount returns the account in the request's path.
func (s *Simulator) requestedAccount(r *http.Request) (*accountState, Account, error) {
	return s.accountState(r.Context(), r.PathValue("space"), r.PathValue("platform"))
}

// AccountView is a known account in the list.
type AccountView struct {
	Space    string `json:"space"`
	Platform string `json:"platform"`
	Plugin   string `json:"plugin"`
	Stores   int    `json:"stores"`
	Orders   int    `json:"orders"`
	Received int64  `json:"received"`
}

func (s *Simulator) accounts() []AccountView {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []AccountView{}
	for key, at := range s.states {
		at.mu.Lock()
		list = append(list, AccountView{key.space, key.platform, at.account.Plugin, len(at.stores), len(at.orders),
			at.lastID})
		at.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b AccountView) int {
		return strings.Compare(a.Space+"\x00"+a.Platform, b.Space+"\x00"+b.Platform)
	})
	return list
}

func (s *Simulator) getAccounts(*http.Request) (any, error) { return s.accounts(), nil }

func (s *Simulator) postFault(r *http.Request) (any, error) {
	f, err := readBody[Fault](r)
	if err == nil {
		if f, err = s.faults.add(f); err != nil {
			err = badRequest(err.Error())
		}
	}
	return f, err
}

func (s *Simulator) deleteFault(r *http.Request) (any, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || !s.faults.remove(func(f Fault) bool { return f.ID == id }) {
		return nil, badRequest("there is no such fault")
	}
	return s.faults.active(""), nil
}

// getFaults lists the active faults, or those that can affect a space.
func (s *Simulator) getFaults(r *http.Request) (any, error) {
	return s.faults.active(r.URL.Query().Get("space")), nil
}

// deleteFaults removes all faults, or those of one space.
func (s *Simulator) deleteFaults(r *http.Request) (any, error) {
	space := r.URL.Query().Get("space")
	s.faults.remove(func(f Fault) bool { return space == "" || f.Space == space })
	return s.faults.active(space), nil
}

// getReceived lists requests and messages, oldest first. The parameters after and call filter the list.
func (s *Simulator) getReceived(r *http.Request) (any, error) {
	at, _, err := s.requestedAccount(r)
	if err != nil {
		return nil, err
	}
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	call := Call(r.URL.Query().Get("call"))
	at.mu.Lock()
	defer at.mu.Unlock()
	list := []Received{}
	for _, e := range at.received {
		if e.ID > after && (call == "" || e.Call == call) {
			list = append(list, e)
		}
	}
	return list, nil
}

func (s *Simulator) getStores(r *http.Request) (any, error) {
	return s.Stores(r.Context(), r.PathValue("space"), r.PathValue("platform"))
}

// Stores returns the state of an account's stores.
func (s *Simulator) Stores(ctx context.Context, space, platform string) ([]Store, error) {
	at, _, err := s.accountState(ctx, space, platform)
	if err != nil {
		return nil, err
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	list := []Store{}
	for _, code := range at.codes {
		list = append(list, at.stores[code].clone())
	}
	return list, nil
}

func (s *Simulator) getMenu(r *http.Request) (any, error) {
	at, _, err := s.requestedAccount(r)
	if err != nil {
		return nil, err
	}
	code := at.find(r.PathValue("store")).Code
	menu := s.menus.get(menuKey{r.PathValue("space"), r.PathValue("platform"), code})
	if menu == nil {
		return nil, badRequest("no menu of that store is kept")
	}
	return json.RawMessage(menu), nil
}

// getOrders lists the latest 500 orders, oldest first.
func (s *Simulator) getOrders(r *http.Request) (any, error) {
	at, _, err := s.requestedAccount(r)
	if err != nil {
		return nil, err
	}
	return at.latestOrders(500), nil
}

func (s *Simulator) getOrder(r *http.Request) (any, error) {
	at, _, err := s.requestedAccount(r)
	if err != nil {
		return nil, err
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	o := at.orders[r.PathValue("order")]
	if o == nil {
		return nil, badRequest("there is no such order")
	}
	return o.clone(), nil
}

// orderRequest requests orders: a given basket, or random ones from the store's latest menu.
type orderRequest struct {
	Basket *Basket   `json:"basket"`
	Store  string    `json:"store"`
	Count  int       `json:"count"` // default 1
	First  int       `json:"first"` // number of the first order of the seed; default 0
	Seed   uint64    `json:"seed"`
	Spec   OrderSpec `json:"wish"`
}

func (s *Simulator) postOrders(r *http.Request) (any, error) {
	p, err := readBody[orderRequest](r)
	if err != nil {
		return nil, err
	}
	space, platform := r.PathValue("space"), r.PathValue("platform")
	if p.Basket != nil {
		out, err := s.Place(r.Context(), space, platform, *p.Basket)
		return []Sent{out}, err
	}
	if p.Count < 0 || p.Count > maxPlaced {
		return nil, badRequest("count must be from 1 to 1000")
	}
	placed := []Sent{}
	for n := range max(p.Count, 1) {
		request := BasketRequest{Store: p.Store, Spec: p.Spec, Seed: p.Seed, N: p.First + n}
		b, err := s.RandomBasket(r.Context(), space, platform, request)
		if err != nil {
			return nil, err
		}
		out, err := s.Place(r.Context(), space, platform, b)
		if err != nil {
			return nil, err
		}
		placed = append(placed, out)
	}
	return placed, nil
}

func (s *Simulator) postCancel(r *http.Request) (any, error) {
	return s.Cancel(r.Context(), r.PathValue("space"), r.PathValue("platform"), r.PathValue("order"))
}

// postContact sends a customer's contact, even if the hub has not requested it.
func (s *Simulator) postContact(r *http.Request) (any, error) {
	p, err := readBody[struct {
		RequestID   string `json:"request_id"`
		MaskedPhone string `json:"masked_phone"`
		Error       string `json:"error"`
	}](r)
	if err != nil {
		return nil, err
	}
	at, account, err := s.requestedAccount(r)
	if err != nil {
		return nil, err
	}
	aggregator, order := aggregatorOf(account.Plugin), r.PathValue("order")
	if aggregator.contactCallback == nil {
		return nil, badRequest(aggregator.Plugin + " has no contacts")
	}
	if p.MaskedPhone == "" {
		p.MaskedPhone = maskedPhone(order)
	}
	return s.send(r.Context(), at, account, aggregator.contactCallback(p.RequestID, order, p.MaskedPhone, p.Error)), nil
}

func (s *Simulator) postMessage(r *http.Request) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, badRequest(err.Error())
	}
	return s.Message(r.Context(), r.PathValue("space"), r.PathValue("platform"), r.PathValue("kind"), body)
}

// clone returns a copy that can be read without the lock.
func (o *Order) clone() Order {
	c := *o
	c.Steps = append([]Step{}, o.Steps...)
	return c
}

func (st *Store) clone() Store {
	c := *st
	c.DisabledItems, c.DisabledOptions = slices.Clone(st.DisabledItems), slices.Clone(st.DisabledOptions)
	return c
}

// latestOrders returns copies of the latest orders, oldest first.
func (s *accountState) latestOrders(most int) []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Order{}
	for _, id := range s.orderIDs[max(0, len(s.orderIDs)-most):] {
		list = append(list, s.orders[id].clone())
	}
	return list
}
