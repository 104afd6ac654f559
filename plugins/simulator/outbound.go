package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Sent is the result of a message to the hub.
type Sent struct {
	ID       string  `json:"id"`                 // the aggregator's order id
	HubOrder int64   `json:"order_id,omitempty"` // the hub's order id
	Status   int     `json:"status"`             // of the hub's response; 0: none
	Message  string  `json:"message"`
	TookMS   float64 `json:"took_ms"`
	Twice    bool    `json:"twice,omitempty"` // sent twice because of a fault
}

// maxResponse is the maximum part of the hub's response that is read, in bytes.
const maxResponse = 64 << 10

// errNotSent is returned for a message that cannot be sent.
var errNotSent = errors.New("not sent")

// Place places an order in the aggregator's format. It returns ErrNoAccount for an unknown account.
func (s *Simulator) Place(ctx context.Context, space, platform string, b Basket) (Sent, error) {
	at, account, err := s.accountState(ctx, space, platform)
	if err != nil {
		return Sent{}, err
	}
	m, err := aggregatorOf(account.Plugin).newOrder(b, account)
	if err != nil {
		return Sent{}, badRequest(err.Error())
	}
	out := s.send(ctx, at, account, m)
	at.mu.Lock()
	defer at.mu.Unlock()
	now := s.config.Now()
	o := at.order(m.id, now)
	if o.PlacedElsewhere && o.Steps == nil {
		o.PlacedAt = now
	}
	o.PlacedElsewhere, o.Store, o.Answer = false, b.Store, out.Message
	if out.HubOrder != 0 {
		o.HubOrder = out.HubOrder
	}
	return out, nil
}

// BasketRequest selects a random order: the N-th of a seed, from the latest menu of a store.
type BasketRequest struct {
	Store string // the merchant's or the aggregator's id
	Spec  OrderSpec
	Seed  uint64
	N     int
}

// RandomBasket returns a random order of an account.
func (s *Simulator) RandomBasket(ctx context.Context, space, platform string, r BasketRequest) (Basket, error) {
	menu, open, err := s.Menu(ctx, space, platform, r.Store)
	if err == nil && !open {
		err = fmt.Errorf("%w: store %q is closed", errNotSent, r.Store)
	}
	if err != nil {
		return Basket{}, err
	}
	b, err := menu.RandomBasket(r.Spec, r.Seed, r.N)
	if err != nil {
		err = fmt.Errorf("%w: %w", errNotSent, err)
	}
	return b, err
}

// Menu returns the menu of a store as customers see it, and whether the store accepts orders. The store is identified
// as in BasketRequest.
func (s *Simulator) Menu(ctx context.Context, space, platform, store string) (menu Menu, open bool, err error) {
	at, account, err := s.accountState(ctx, space, platform)
	if err != nil {
		return menu, false, err
	}
	state := at.find(store)
	open = state.Open && !state.Unlisted
	body := s.menus.get(menuKey{space, platform, state.Code})
	if body == nil {
		return menu, open, fmt.Errorf("%w: store %q has no menu", errNotSent, store)
	}
	if menu, err = aggregatorOf(account.Plugin).parseMenu(body, account); err != nil {
		return menu, open, err
	}
	disabled := func(o Option) bool { return slices.Contains(state.DisabledOptions, o.Ref) }
	for i := range menu.Items {
		item := &menu.Items[i]
		item.OutOfStock = item.OutOfStock || slices.Contains(state.DisabledItems, item.Ref)
		for g := range item.OptionGroups { // items share the options of a group
			group := &item.OptionGroups[g]
			group.Options = slices.DeleteFunc(slices.Clone(group.Options), disabled)
		}
	}
	return menu, open, nil
}

// Cancel notifies the hub that the customer has cancelled an order.
func (s *Simulator) Cancel(ctx context.Context, space, platform, id string) (Sent, error) {
	at, account, err := s.accountState(ctx, space, platform)
	if err != nil {
		return Sent{}, err
	}
	return s.send(ctx, at, account, aggregatorOf(account.Plugin).cancelOrder(id)), nil
}

// Message sends a body unchanged to a kind of the hub's callback, with the account's credentials.
func (s *Simulator) Message(ctx context.Context, space, platform, kind string, body []byte) (Sent, error) {
	at, account, err := s.accountState(ctx, space, platform)
	if err != nil {
		return Sent{}, err
	}
	return s.send(ctx, at, account, message{call: CallCallback, kind: kind, body: body}), nil
}

// sendContactLater sends a customer's contact by a callback after a while, or returns it at once if too many
// callbacks wait.
func (s *Simulator) sendContactLater(at *accountState, account Account, t update) result {
	aggregator, phone := aggregatorOf(account.Plugin), maskedPhone(t.order)
	select {
	case s.callbackSlots <- struct{}{}:
	default:
		return result{kind: resultAccepted, message: "here it is", phone: phone}
	}
	s.callbacks.Go(func() {
		defer func() { <-s.callbackSlots }()
		m, wait := aggregator.contactCallback(t.requestID, t.order, phone, ""), s.config.CallbackAfter
		for range 6 { // retry like a real aggregator
			select {
			case <-s.running.Done():
				return
			case <-s.config.After(wait):
			}
			out := s.send(s.running, at, account, m)
			if out.Status != 0 && out.Status < 500 && out.Status != http.StatusTooManyRequests &&
				out.Status != http.StatusNotFound {
				return // 404: the hub may not have recorded our response yet
			}
			wait = max(time.Second, 2*wait)
		}
	})
	return result{kind: resultPending, message: "it is being looked up"}
}

// maskedPhone returns the masked number of an order's customer.
func maskedPhone(order string) string {
	sum := fnv.New32a()
	sum.Write([]byte(order))
	return fmt.Sprintf("+1510556%04d", sum.Sum32()%10_000)
}

// pinOf returns the PIN for the masked number of an order.
func pinOf(order string) string {
	phone := maskedPhone(order)
	return phone[len(phone)-4:]
}

// send sends a message, or sends it twice if a fault says so.
func (s *Simulator) send(ctx context.Context, at *accountState, account Account, m message) Sent {
	fault, twice := s.faults.match(account, m.call)
	out := s.post(ctx, at, account, m, "")
	if twice {
		s.post(ctx, at, account, m, fault.Kind)
	}
	out.Twice = twice
	return out
}

func (s *Simulator) post(ctx context.Context, at *accountState, account Account, m message, fault string) Sent {
	address := strings.Replace(account.Callback, "{kind}", url.PathEscape(m.kind), 1)
	entry := Received{At: s.config.Now(), Call: m.call, Sent: true, Request: "POST " + address, Body: string(m.body),
		Fault: fault}
	defer func() { at.record(entry) }()
	out := Sent{ID: m.id}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(m.body))
	if err != nil {
		entry.Problem, out.Message = err.Error(), err.Error()
		return out
	}
	request.Header.Set("Content-Type", "application/json")
	aggregatorOf(account.Plugin).sign(request.Header, m.body, account.Secrets)
	begun := time.Now()
	response, err := s.client.Do(request)
	var answer []byte
	if err == nil {
		defer response.Body.Close()
		answer, err = io.ReadAll(io.LimitReader(response.Body, maxResponse))
		out.Status, entry.Status = response.StatusCode, response.StatusCode
	}
	out.TookMS = float64(time.Since(begun).Microseconds()) / 1000
	if err != nil {
		out.Status, entry.Status = 0, 0
		entry.Problem, out.Message = err.Error(), "the hub did not answer: "+err.Error()
		return out
	}
	entry.Answer = string(answer)
	var read struct {
		Message string `json:"message"`
		OrderID int64  `json:"order_id"`
	}
	_ = json.Unmarshal(answer, &read) // any other format has no message
	out.Message, out.HubOrder = read.Message, read.OrderID
	return out
}
