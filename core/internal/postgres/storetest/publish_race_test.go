package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	publishing "github.com/servery-hub/servery/core/publish"
)

// racingPlugin publish concurrently. Each menu is a number that only increases.
type racingPlugin struct {
	t         *testing.T
	db        *postgres.DB
	mu        sync.Mutex
	content   map[string]int // as stored
	held      map[string]int // by the platform
	rendering map[string]bool
	sent      int
}

// Render renders the current content; sending it takes a moment.
func (r *racingPlugin) Render(_ context.Context, w publishing.Work) (publishing.Rendering, error) {
	name := w.StoreRef + "/" + w.Platform
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rendering[name] {
		r.t.Errorf("%s is rendered twice concurrently", name)
	}
	r.rendering[name] = true
	content := r.content[w.StoreRef]
	return publishing.Rendering{Content: []string{fmt.Sprint(content)},
		Send: func(context.Context) publishing.SendResult {
			for range rand.IntN(1000) { // let others run at a random moment
				runtime.Gosched()
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if content < r.held[name] {
				r.t.Errorf("%s: %d after %d", name, content, r.held[name])
			}
			r.held[name] = content
			r.rendering[name] = false
			r.sent++
			if rand.IntN(4) == 0 {
				return publishing.SendResult{State: publishing.Waiting, RetryAt: r.db.Clock().Now()}
			}
			return publishing.SendResult{State: publishing.Published}
		}}, nil
}

// Published implements publishing.Observer.
func (r *racingPlugin) Published(result publishing.Result, _ time.Duration) {
	if result.Unchanged {
		r.mu.Lock()
		r.rendering[result.StoreRef+"/"+result.Platform] = false
		r.mu.Unlock()
	}
}

func TestRacingWorkersPublishEachMenuInOrder(t *testing.T) {
	db := hubtest.Database(t, nil)
	publications.UseDebounce(db, publishing.Debounce{Quiet: time.Millisecond, Max: 5 * time.Millisecond})
	k := newMenuHarness(t, db, "US")
	for _, platform := range []string{"a", "b"} {
		pgtest.Exec(t, db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, ?, 'aggregator-a')`,
			k.business, platform)
	}
	stores := []string{"s1", "s2", "s3"}
	for _, ref := range stores {
		k.store(ref)
	}
	r := &racingPlugin{t: t, db: db, content: map[string]int{}, held: map[string]int{}, rendering: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 3 {
		e := publishing.NewEngine(publishing.Config{MaxRenderings: 4, Poll: 2 * time.Millisecond},
			publishing.Dependencies{Queue: publications.New(db), Renderer: r, Clock: db.Clock(), Observer: r,
				Busy: func() bool { return rand.IntN(2) == 0 }, Log: hubtest.Logger()})
		running.Go(func() { e.Run(ctx) })
	}
	for n := range 40 {
		ref := stores[n%3]
		r.mu.Lock()
		r.content[ref]++
		r.mu.Unlock()
		k.enqueue(core.StoreJob, "", fmt.Sprintf(`{"stores":[{"ref_id":%q,"address":"%d"}]}`, ref, n), false)
		require.NoError(t, k.runJobs())
	}
	eventually(t, "every platform holds the newest", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, ref := range stores {
			if r.held[ref+"/a"] != r.content[ref] || r.held[ref+"/b"] != r.content[ref] {
				return false
			}
		}
		return true
	})
	stop()
	running.Wait()
	require.Greater(t, r.sent, 6)
}
