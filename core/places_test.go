package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

func TestPlacesStayWithinTheirBoundsAndComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := core.Places{Now: 4, Most: rapid.IntRange(4, 64).Draw(r, "most")}
		for _, well := range rapid.SliceOf(rapid.Bool()).Draw(r, "answers") {
			before := p.Now
			p.Ended(well)
			require.True(r, p.Now >= 1 && p.Now <= p.Most)
			require.True(r, well == (p.Now > before) || before == p.Most || before == 1)
		}
		for range p.Most {
			p.Ended(true)
		}
		require.Equal(r, p.Most, p.Now)
		p.Ended(false)
		require.Equal(r, p.Most/2, p.Now)
	})
}
