// Package batch groups concurrent calls into one transaction of the database.
package batch

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

// Batcher batches concurrent calls into one transaction. Calls that arrive while a
// batch runs wait for the next one. A call never joins a batch that has already started.
type Batcher[Q, A any] struct {
	Run           func(ctx context.Context, requests []Q) []Result[A] // one result per request, in order
	MaxConcurrent int                                                 // batches that run at once
	MinBatch      int                                                 // waiting requests that start another batch
	MaxBatch      int                                                 // requests in a batch
	MaxWaiting    int                                                 // requests that no batch has taken yet

	mu      sync.Mutex
	queue   []*request[Q, A]
	running int
	closed  bool
	runners sync.WaitGroup
}

// batchTimeout bounds a batch.
const batchTimeout = 15 * time.Second

// The pauses after a batch of several requests. Callers that call again at once share the next batch. Without pauses,
// two halves of the callers take turns, in twice as many transactions. On an idle machine a pause takes 1 ms.
const (
	gatherPause  = 100 * time.Microsecond
	gatherPauses = 5
)

type request[Q, A any] struct {
	value    Q
	result   chan Result[A]
	taken    bool // into a batch
	canceled bool
}

// Result is the outcome of one request of a batch.
type Result[A any] struct {
	Value A
	Err   error
}

// Do adds a request and waits for its result. It returns Unavailable if the queue is full,
// or if the context ends before a batch takes the request. The request was then not run.
func (b *Batcher[Q, A]) Do(ctx context.Context, value Q) (A, error) {
	r := &request[Q, A]{value: value, result: make(chan Result[A], 1)}
	var none A
	if !b.enqueue(r) {
		return none, &core.Error{Code: core.Unavailable, Message: "the hub is busy: resend the request",
			RetryAfter: time.Second}
	}
	select {
	case done := <-r.result:
		return done.Value, done.Err
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.taken {
		return none, ctx.Err()
	}
	r.canceled = true
	return none, &core.Error{Code: core.Unavailable, Message: "the hub is busy: resend the request",
		RetryAfter: time.Second, Cause: ctx.Err()}
}

func (b *Batcher[Q, A]) enqueue(r *request[Q, A]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.queue) >= b.MaxWaiting {
		return false
	}
	b.queue = append(b.queue, r)
	if b.running == 0 || b.running < b.MaxConcurrent && len(b.queue) >= b.MinBatch {
		b.running++
		b.runners.Add(1)
		go b.run()
	}
	return true
}

// Waiting returns the number of requests that no batch has taken yet.
func (b *Batcher[Q, A]) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// run runs batches until no request waits.
func (b *Batcher[Q, A]) run() {
	defer b.runners.Done()
	for batch := b.take(); batch != nil; batch = b.take() {
		for i, result := range b.runBatch(batch) {
			batch[i].result <- result
		}
		if len(batch) > 1 {
			b.gather(len(batch))
		}
	}
}

// gather waits a moment for as many requests as were just answered, in addition to those that wait. It ends after a
// pause in which none arrived.
func (b *Batcher[Q, A]) gather(answered int) {
	waiting := b.Waiting()
	expected := min(b.MaxBatch, waiting+answered)
	for range gatherPauses {
		before := waiting
		time.Sleep(gatherPause)
		if waiting = b.Waiting(); waiting >= expected || waiting == before {
			return
		}
	}
}

// take returns the next batch. It returns nil, which ends the runner, if no request waits.
// It also returns nil if too few requests wait for an additional runner.
func (b *Batcher[Q, A]) take() (batch []*request[Q, A]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running > 1 && len(b.queue) < b.MinBatch { // another runner takes the requests
		b.running--
		return nil
	}
	taken := 0
	for ; taken < len(b.queue) && len(batch) < b.MaxBatch; taken++ {
		if r := b.queue[taken]; !r.canceled {
			r.taken = true
			batch = append(batch, r)
		}
	}
	if b.queue = b.queue[taken:]; len(b.queue) == 0 {
		b.queue = nil
	}
	if batch == nil {
		b.running--
	}
	return batch
}

func (b *Batcher[Q, A]) runBatch(batch []*request[Q, A]) (results []Result[A]) {
	defer func() {
		if p := recover(); p != nil { // nothing else recovers a panic in this goroutine
			results = FailAll[A](len(batch), fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	values := make([]Q, len(batch))
	for i, r := range batch {
		values[i] = r.value
	}
	return b.Run(ctx, values)
}

// FailAll returns the same error for each of n requests.
func FailAll[A any](n int, err error) []Result[A] {
	results := make([]Result[A], n)
	for i := range results {
		results[i].Err = err
	}
	return results
}

// SplitOnError runs requests in one transaction. If the database rejects it, each request
// is run alone, so that one bad request does not fail the others.
func SplitOnError[Q, A any](requests []Q, run func([]Q) ([]Result[A], error)) []Result[A] {
	results, err := run(requests)
	if err == nil {
		return results
	}
	var rejection pgdriver.Error
	if len(requests) == 1 || !errors.As(err, &rejection) {
		return FailAll[A](len(requests), err)
	}
	results = results[:0]
	for n := range requests {
		results = append(results, SplitOnError(requests[n:n+1], run)...)
	}
	return results
}

// Close rejects further requests and waits for the results of those already accepted.
func (b *Batcher[Q, A]) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.runners.Wait()
}
