package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// poster posts bodies as cheaply as possible, from as many connections as
// goroutines use it at once.
type poster struct {
	client        *fasthttp.HostClient
	uri           string
	authorization string
}

func newPoster(address, path, authorization string, connections int) *poster {
	return &poster{
		client: &fasthttp.HostClient{Addr: address, MaxConns: connections, ReadTimeout: 20 * time.Second, WriteTimeout: 20 * time.Second},
		uri:    "http://" + address + path, authorization: authorization,
	}
}

// post posts a body, which must be answered by 200.
func (p *poster) post(body []byte) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(p.uri)
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.SetContentType("application/json")
	if p.authorization != "" {
		request.Header.Set("Authorization", p.authorization)
	}
	request.SetBodyRaw(body)
	if err := p.client.Do(request, response); err != nil {
		return err
	}
	if response.StatusCode() != fasthttp.StatusOK {
		return fmt.Errorf("%s: %d: %s", p.uri, response.StatusCode(), response.Body())
	}
	return nil
}

func (p *poster) close() { p.client.CloseIdleConnections() }

// atRate begins n pieces of work at an even rate, from so many goroutines, and
// tells how many milliseconds after its time each had ended: one that had to wait
// for a goroutine has waited as well.
func atRate(ctx context.Context, rate float64, n, goroutines int, work func(i int) error) ([]float64, error) {
	due := make(chan int, n)
	took := make([]float64, n)
	began := time.Now()
	at := func(i int) time.Time { return began.Add(time.Duration(float64(i) / rate * float64(time.Second))) }
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		first   error
	)
	for range goroutines {
		running.Go(func() {
			for i := range due {
				if err := work(i); err != nil {
					mu.Lock()
					first = err
					mu.Unlock()
				}
				took[i] = inMilliseconds(time.Since(at(i)))
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		if wait := time.Until(at(i)); wait > 0 {
			time.Sleep(wait)
		}
		due <- i
	}
	close(due)
	running.Wait()
	if first == nil {
		first = ctx.Err()
	}
	return took, first
}
