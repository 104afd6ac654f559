package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
)

// rounds answers questions in company: those that come while a round is under
// way wait for the next one and share it. Whoever asks is answered by a round
// that began after the question, never by an earlier one.
type rounds[Q, A any] struct {
	ask     func(ctx context.Context, questions []Q) []verdict[A] // one for each, in order
	beside  int                                                   // rounds under way at most
	crowd   int                                                   // how many must wait for a round to begin beside another
	size    int                                                   // questions in a round at most
	waiting int                                                   // questions at most that are in no round yet

	mu      sync.Mutex
	queue   []*question[Q, A]
	running int
	closed  bool
	ending  sync.WaitGroup
}

// roundTime bounds a round.
const roundTime = 15 * time.Second

type question[Q, A any] struct {
	asked   Q
	answer  chan verdict[A]
	taken   bool // into a round
	givenUp bool
}

type verdict[A any] struct {
	answer A
	err    error
}

// put asks. It is Unavailable where the queue is full, or where the context ended
// before the question was taken into a round: then nothing came of it.
func (r *rounds[Q, A]) put(ctx context.Context, asked Q) (A, error) {
	q := &question[Q, A]{asked: asked, answer: make(chan verdict[A], 1)}
	var none A
	if !r.join(q) {
		return none, &core.Error{Code: core.Unavailable, Message: "the hub is busy; send the request again", RetryAfter: time.Second}
	}
	select {
	case v := <-q.answer:
		return v.answer, v.err
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.taken {
		return none, ctx.Err()
	}
	q.givenUp = true
	return none, &core.Error{Code: core.Unavailable, Message: "the hub is busy; send the request again", RetryAfter: time.Second, Cause: ctx.Err()}
}

func (r *rounds[Q, A]) join(q *question[Q, A]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.queue) >= r.waiting {
		return false
	}
	r.queue = append(r.queue, q)
	if r.running == 0 || r.running < r.beside && len(r.queue) >= r.crowd {
		r.running++
		r.ending.Add(1)
		go r.run()
	}
	return true
}

// depth is how many questions are in no round yet.
func (r *rounds[Q, A]) depth() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)
}

// run holds rounds until nobody waits.
func (r *rounds[Q, A]) run() {
	defer r.ending.Done()
	for round := r.take(); round != nil; round = r.take() {
		for i, v := range r.hold(round) {
			round[i].answer <- v
		}
	}
}

// take is the next round; nil, and the end of this runner, where nobody waits.
func (r *rounds[Q, A]) take() (round []*question[Q, A]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running > 1 && len(r.queue) < r.crowd { // the others take them
		r.running--
		return nil
	}
	taken := 0
	for ; taken < len(r.queue) && len(round) < r.size; taken++ {
		if q := r.queue[taken]; !q.givenUp {
			q.taken = true
			round = append(round, q)
		}
	}
	if r.queue = r.queue[taken:]; len(r.queue) == 0 {
		r.queue = nil
	}
	if round == nil {
		r.running--
	}
	return round
}

func (r *rounds[Q, A]) hold(round []*question[Q, A]) (verdicts []verdict[A]) {
	defer func() {
		if p := recover(); p != nil { // nobody else would catch it here
			verdicts = failed[A](len(round), fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), roundTime)
	defer cancel()
	questions := make([]Q, len(round))
	for i, q := range round {
		questions[i] = q.asked
	}
	return r.ask(ctx, questions)
}

// failed is the same failure for each of n questions.
func failed[A any](n int, err error) []verdict[A] {
	verdicts := make([]verdict[A], n)
	for i := range verdicts {
		verdicts[i].err = err
	}
	return verdicts
}

// apart answers questions all by one transaction; what the database refuses as a
// whole is tried one by one, so that none fails for another.
func apart[Q, A any](questions []Q, all func([]Q) ([]verdict[A], error)) []verdict[A] {
	verdicts, err := all(questions)
	if err == nil {
		return verdicts
	}
	var refusal pgdriver.Error
	if len(questions) == 1 || !errors.As(err, &refusal) {
		return failed[A](len(questions), err)
	}
	verdicts = verdicts[:0]
	for n := range questions {
		verdicts = append(verdicts, apart(questions[n:n+1], all)...)
	}
	return verdicts
}

// close takes no more questions and waits until those that were taken are answered.
func (r *rounds[Q, A]) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.ending.Wait()
}
