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
	share := NewMemory(64 << 20).Ask(Large)
	require.Equal(t, core.TooLarge, core.CodeOf(share.Bytes(t.Context(), 64<<20)))
	require.Equal(t, core.TooLarge, core.CodeOf(share.Decoded(t.Context(), 64<<20)))
	require.NoError(t, share.Bytes(t.Context(), share.AtMostBytes(64<<20)), "all that there is")
	require.NoError(t, share.Decoded(t.Context(), share.AtMostDecoded(64<<20)))
	share.Release()
}

func TestExhaustedBudgetIsUnavailableAfterAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(64 << 20)
		first, second := m.Ask(Large), m.Ask(Large)
		require.NoError(t, first.Bytes(t.Context(), first.AtMostBytes(1<<30)))
		began := time.Now()
		err := second.Bytes(t.Context(), 1)
		var known *core.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, core.Unavailable, known.Code)
		require.Positive(t, known.RetryAfter)
		require.Equal(t, longestFor, time.Since(began))

		done := make(chan error)
		go func() { done <- second.Bytes(t.Context(), 1) }()
		synctest.Wait()
		first.Release()
		require.NoError(t, <-done, "who waits gets what is released")
		second.Release()
	})
}

func TestWaitersForMemoryAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(64 << 20)
		holder := m.Ask(Small)
		require.NoError(t, holder.Decoded(t.Context(), holder.AtMostDecoded(1<<30)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, maxWaiting)
		for range maxWaiting {
			go func() {
				share := m.Ask(Small)
				ended <- share.Decoded(ctx, 1)
			}()
		}
		synctest.Wait()
		began := time.Now()
		share := m.Ask(Small)
		require.Equal(t, core.Unavailable, core.CodeOf(share.Decoded(t.Context(), 1)))
		require.Zero(t, time.Since(began), "one more does not wait")
		cancel()
		for range maxWaiting {
			require.Error(t, <-ended)
		}
	})
}

func TestMemoryClassesHaveSeparateBudgets(t *testing.T) {
	m := NewMemory(64 << 20)
	for _, class := range []Class{Open, Large} {
		share := m.Ask(class)
		require.NoError(t, share.Bytes(t.Context(), share.AtMostBytes(1<<30)))
		require.NoError(t, share.Decoded(t.Context(), share.AtMostDecoded(1<<30)))
	}
	order := m.Ask(Small)
	require.NoError(t, order.Bytes(t.Context(), 1<<20))
	require.NoError(t, order.Decoded(t.Context(), 1<<20))
}

func TestMemoryPartsFitTheBudget(t *testing.T) {
	for _, total := range []int64{64 << 20, 512 << 20, 900 << 20, 8 << 30} {
		m, sum := NewMemory(total), int64(0)
		for _, p := range m.parts {
			require.Positive(t, p.bytes.size)
			sum += p.bytes.size + p.decoded.size
		}
		require.LessOrEqual(t, sum, total)
		require.LessOrEqual(t, m.parts[Open].bytes.size+m.parts[Open].decoded.size, int64(openBytes+openDecoded))
	}
}

func TestUsagesShowWhatIsHeldAndRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(64 << 20)
		share, refused := m.Ask(Small), m.Ask(Small)
		require.NoError(t, share.Bytes(t.Context(), share.AtMostBytes(1<<30)))
		require.Error(t, refused.Bytes(t.Context(), 1))
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
		share.Release()
		require.Zero(t, of(Small, false).Used)
	})
}
