package webhook

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// 40 events with large bodies go to three endpoints each. Two bodies may be in memory at a time.
func TestLargeBodiesInMemoryAreBounded(t *testing.T) {
	const size = 2 * LargeBody
	l := newFakeQueue(120, func(i int) int64 { return int64(i) + 1 })
	for i := range l.waiting {
		l.waiting[i].EventID = core.ID{byte(i / 3)}
		l.waiting[i].Body = make([]byte, size)
	}
	var mu sync.Mutex
	flying, most := map[*byte]int{}, 0
	runEngine(t, l, Config{Bodies: 2 * size, Poll: time.Hour}, func(ctx context.Context, d Delivery) Attempt {
		mu.Lock()
		flying[&d.Body[0]]++
		most = max(most, len(flying))
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			if flying[&d.Body[0]]--; flying[&d.Body[0]] == 0 {
				delete(flying, &d.Body[0])
			}
		}()
		return accepted(ctx, d)
	})
	select {
	case <-l.allFinished:
	case <-time.After(20 * time.Second):
		t.Fatal("deliveries without capacity never resume")
	}
	require.LessOrEqual(t, most, 2)
}

func TestLargeBodiesWithoutCapacityDoNotBlockOthers(t *testing.T) {
	l := newFakeQueue(60, func(i int) int64 { return int64(i) + 1 })
	l.expected = 50
	for i := range 10 { // the large ones are first
		l.waiting[i].EventID = core.ID{byte(i)}
		l.waiting[i].Body = make([]byte, 2*LargeBody)
	}
	runEngine(t, l, Config{Bodies: LargeBody, Poll: time.Hour, StopWithin: time.Millisecond},
		func(ctx context.Context, d Delivery) Attempt {
			if len(d.Body) > LargeBody {
				<-ctx.Done()
				return Attempt{Error: "cut off"}
			}
			return accepted(ctx, d)
		})
	select {
	case <-l.allFinished:
	case <-time.After(20 * time.Second):
		t.Fatal("small deliveries wait for large ones")
	}
}
