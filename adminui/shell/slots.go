package shell

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
)

// Slots bounds the pages that read the database at once. One user holds at most half of them.
type Slots struct {
	all   chan struct{}
	mu    sync.Mutex
	users map[int64]*userSlots
}

type userSlots struct {
	held  chan struct{}
	pages int // that hold one or wait for one
}

// NewSlots returns n slots.
func NewSlots(n int) *Slots {
	return &Slots{all: make(chan struct{}, n), users: map[int64]*userSlots{}}
}

// take waits for a slot of a user. The returned function releases it; it is nil if the context ended first.
func (s *Slots) take(ctx context.Context, user int64) (release func()) {
	s.mu.Lock()
	own := s.users[user]
	if own == nil {
		own = &userSlots{held: make(chan struct{}, max(1, cap(s.all)/2))}
		s.users[user] = own
	}
	own.pages++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.pages--; own.pages == 0 {
			delete(s.users, user)
		}
	}
	select {
	case own.held <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil
	}
	select {
	case s.all <- struct{}{}:
		return func() { <-s.all; <-own.held; leave() }
	case <-ctx.Done():
		<-own.held
		leave()
		return nil
	}
}

// takeSecond takes another slot for a page that holds one. It returns nil if none is free.
func (s *Slots) takeSecond(user int64) (release func()) {
	s.mu.Lock()
	own := s.users[user]
	s.mu.Unlock()
	if own == nil {
		return nil
	}
	select {
	case own.held <- struct{}{}:
	default:
		return nil
	}
	select {
	case s.all <- struct{}{}:
		return func() { <-s.all; <-own.held }
	default:
		<-own.held
		return nil
	}
}

// Both runs two reads of a page at the same time if a second slot is free, and else one after the other. The first
// error ends both.
func (v *PageContext) Both(ctx context.Context, first, second func(ctx context.Context) error) error {
	release := func() {}
	if slots := v.shell.Slots; slots != nil {
		release = slots.takeSecond(v.User.ID)
	}
	if release == nil {
		if err := first(ctx); err != nil {
			return err
		}
		return second(ctx)
	}
	defer release()
	reads, ctx := errgroup.WithContext(ctx)
	for _, read := range []func(context.Context) error{first, second} {
		reads.Go(func() (err error) {
			defer func() { // nothing else recovers a panic in this goroutine
				if p := recover(); p != nil {
					err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				}
			}()
			return read(ctx)
		})
	}
	return reads.Wait()
}

// withSlot bounds the pages that read the database at once, so that they leave connections for the API. A page that
// gets no slot before its deadline is busy.
func (s *Shell) withSlot(r Route) Handler {
	if s.Slots == nil || r.noSlot {
		return r.Handle
	}
	return func(c *fiber.Ctx, v *PageContext) error {
		release := s.Slots.take(c.UserContext(), v.User.ID)
		if release == nil {
			return &core.Error{Code: core.Unavailable, Message: text.Busy, RetryAfter: busyPause}
		}
		defer release()
		return r.Handle(c, v)
	}
}
