package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestOversizedMemoryRequestIsRejectedImmediately(t *testing.T) {
	share := NewMemory(64 << 20).NewReservation(Large)
	require.Equal(t, core.TooLarge, core.CodeOf(share.GrowBytes(t.Context(), 64<<20)))
	require.Equal(t, core.TooLarge, core.CodeOf(share.GrowDecoded(t.Context(), 64<<20)))
	require.NoError(t, share.GrowBytes(t.Context(), share.ClampBytes(64<<20)), "the whole budget")
	require.NoError(t, share.GrowDecoded(t.Context(), share.ClampDecoded(64<<20)))
	share.Release()
}

func TestExhaustedBudgetIsUnavailableAfterAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(64 << 20)
		first, second := m.NewReservation(Large), m.NewReservation(Large)
		require.NoError(t, first.GrowBytes(t.Context(), first.ClampBytes(1<<30)))
		began := time.Now()
		err := second.GrowBytes(t.Context(), 1)
		var known *core.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, core.Unavailable, known.Code)
		require.Positive(t, known.RetryAfter)
		require.Equal(t, maxWait, time.Since(began))

		done := make(chan error)
		go func() { done <- second.GrowBytes(t.Context(), 1) }()
		synctest.Wait()
		first.Release()
		require.NoError(t, <-done, "a waiting request gets released memory")
		second.Release()
	})
}

func TestWaitersForMemoryAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(64 << 20)
		holder := m.NewReservation(Small)
		require.NoError(t, holder.GrowDecoded(t.Context(), holder.ClampDecoded(1<<30)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, maxWaiting)
		for range maxWaiting {
			go func() {
				share := m.NewReservation(Small)
				ended <- share.GrowDecoded(ctx, 1)
			}()
		}
		synctest.Wait()
		began := time.Now()
		share := m.NewReservation(Small)
		require.Equal(t, core.Unavailable, core.CodeOf(share.GrowDecoded(t.Context(), 1)))
		require.Zero(t, time.Since(began), "a request beyond the bound does not wait")
		cancel()
		for range maxWaiting {
			require.Error(t, <-ended)
		}
	})
}

func TestMemoryClassesHaveSeparateBudgets(t *testing.T) {
	m := NewMemory(64 << 20)
	for _, class := range []Class{Anonymous, Large} {
		share := m.NewReservation(class)
		require.NoError(t, share.GrowBytes(t.Context(), share.ClampBytes(1<<30)))
		require.NoError(t, share.GrowDecoded(t.Context(), share.ClampDecoded(1<<30)))
	}
	order := m.NewReservation(Small)
	require.NoError(t, order.GrowBytes(t.Context(), 1<<20))
	require.NoError(t, order.GrowDecoded(t.Context(), 1<<20))
}

// reserve reserves bytes of the class Small for each of several requests of a sender.
func reserve(t *testing.T, m *Memory, sender Sender, sizes ...int64) []*Reservation {
	t.Helper()
	var held []*Reservation
	for _, size := range sizes {
		r := m.ReservationOf(Small, sender)
		require.NoError(t, r.GrowBytes(t.Context(), size))
		held = append(held, &r)
	}
	return held
}

func TestSenderMayUseWholeClassAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a := NewMemory(64<<20), Sender{Business: 1}
		held := reserve(t, m, a, 1<<20, 1<<20, 1<<20, 1<<20)
		last := m.ReservationOf(Small, a)
		require.Equal(t, core.Unavailable, core.CodeOf(last.GrowBytes(t.Context(), 1<<20)))
		require.False(t, last.Contention()(), "only its own requests lack memory")

		done := make(chan error)
		go func() { done <- last.GrowBytes(t.Context(), 1<<20) }()
		synctest.Wait()
		held[0].Release()
		require.NoError(t, <-done)
		last.Release()
		for _, r := range held {
			r.Release()
		}
		for size := range int64(4) {
			require.NoError(t, last.GrowBytes(t.Context(), (size+1)<<20))
		}
		last.Release()
		require.Empty(t, m.budgets[Small].bytes.shares)
	})
}

func TestWaitingSenderGetsHalfOfAClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a, b := NewMemory(64<<20), Sender{Business: 1}, Sender{Business: 2}
		first := reserve(t, m, a, 1<<20, 1<<20, 1<<20, 1<<20)
		grow := func(sender Sender) (*Reservation, chan error) {
			r, done := m.ReservationOf(Small, sender), make(chan error, 1)
			go func() { done <- r.GrowBytes(t.Context(), 1<<20) }()
			synctest.Wait()
			return &r, done
		}
		_, refused := grow(b)
		_, further := grow(a)
		pool := first[0].budget.bytes
		pool.mu.Lock()
		require.Equal(t, 1, first[0].share.waitingHere, "it has more than half, and another waits")
		pool.mu.Unlock()
		require.Equal(t, core.Unavailable, core.CodeOf(<-refused))
		require.Equal(t, core.Unavailable, core.CodeOf(<-further))
		require.True(t, first[0].Contention()())
		second, waits := grow(b)
		first[0].Release()
		require.NoError(t, <-waits)
		require.False(t, second.Contention()())

		first[1].Release()
		_, further = grow(a)
		require.Equal(t, core.Unavailable, core.CodeOf(<-further), "it would have more than half")
		third := reserve(t, m, b, 1<<20)
		_, refused = grow(b)
		first[2].Release()
		require.NoError(t, <-refused, "no other sender lacks memory now")
		more, further := grow(a)
		require.Equal(t, core.Unavailable, core.CodeOf(<-further), "the class has no free memory")
		third[0].Release()
		require.NoError(t, more.GrowBytes(t.Context(), 1<<20))
		more.Release()

		time.Sleep(contention)
		reserve(t, m, a, 1<<20)
	})
}

func TestSenderWaitsForItsHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a, b := NewMemory(64<<20), Sender{Business: 1}, Sender{Business: 2}
		held := reserve(t, m, a, 2<<20, 2<<20)
		other := m.ReservationOf(Small, b)
		require.Error(t, other.GrowBytes(t.Context(), 1))
		last := m.ReservationOf(Small, a)
		done := make(chan error)
		go func() { done <- last.GrowBytes(t.Context(), 1<<20) }()
		synctest.Wait()
		held[0].ShrinkBytes(0)
		synctest.Wait()
		select {
		case <-done:
			require.Fail(t, "the rest is still half")
		default:
		}
		held[1].ShrinkBytes(1 << 20)
		require.NoError(t, <-done)
		require.NoError(t, other.GrowBytes(t.Context(), 2<<20))
		require.Equal(t, int64(2<<20), last.share.held)
		held[1].Release()
		last.ShrinkBytes(0)
		require.Zero(t, last.share.held)
	})
}

func TestUploadsLeaveMemoryToJobs(t *testing.T) {
	for _, total := range []int64{64 << 20, 512 << 20, 8 << 30} {
		m := NewMemory(total)
		upload, job := m.NewReservation(Large), m.NewReservation(Jobs)
		require.NoError(t, upload.GrowBytes(t.Context(), upload.ClampBytes(1<<40)))
		require.NoError(t, job.GrowBytes(t.Context(), job.ClampDecoded(1<<40)/6), "the largest body")
		require.NoError(t, job.GrowDecoded(t.Context(), job.ClampDecoded(1<<40)))
		require.Zero(t, m.budgets[Large].decoded.size-m.budgets[Large].decoded.used.Load())
	}
}

func TestMemoryPartsFitTheBudget(t *testing.T) {
	for _, total := range []int64{64 << 20, 512 << 20, 900 << 20, 8 << 30} {
		m, sum := NewMemory(total), int64(0)
		for _, u := range m.Usages() {
			require.Positive(t, u.Size)
			if u.Class != Responses { // these are in addition
				sum += u.Size
			}
		}
		require.LessOrEqual(t, sum, total)
		anonymous := m.budgets[Anonymous]
		require.LessOrEqual(t, anonymous.bytes.size+anonymous.decoded.size, int64(anonymousBytes+anonymousDecoded))
	}
}

func TestUsagesCountHeldBytesAndRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(64 << 20)
		share, refused := m.NewReservation(Small), m.NewReservation(Small)
		require.NoError(t, share.GrowBytes(t.Context(), share.ClampBytes(1<<30)))
		require.Error(t, refused.GrowBytes(t.Context(), 1))
		of := func(class Class, decoded bool) Usage {
			for _, u := range m.Usages() {
				if u.Class == class && u.Decoded == decoded {
					return u
				}
			}
			return Usage{}
		}
		require.Equal(t, Usage{Class: Small, Used: 4 << 20, Size: 4 << 20, Refused: 1}, of(Small, false))
		require.Zero(t, of(Small, true).Used)
		require.Zero(t, of(Large, false).Used)
		require.True(t, share.Contention()())
		time.Sleep(contention)
		require.False(t, share.Contention()())
		share.Release()
		require.Zero(t, of(Small, false).Used)
	})
}
