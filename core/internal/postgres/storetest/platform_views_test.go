package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
)

func TestRequestedMenuIsPublishedOnceMore(t *testing.T) {
	p := newPublishHarness(t)
	views := availability.New(p.db)
	request := func(store, platform string) bool {
		t.Helper()
		listed, err := views.RepublishMenu(t.Context(), p.business, store, platform)
		require.NoError(t, err)
		return listed
	}
	require.Equal(t, []string{"s1/b"}, p.marked(func() {
		require.True(t, request("s1", "b"))
		require.True(t, request("s1", "b"), "it is already queued")
	}))
	require.True(t, request("s1", "b"))
	p.settleAll()
	require.False(t, request("s1", "nowhere"))
	_, err := views.RepublishMenu(t.Context(), p.business, "s9", "b")
	require.Equal(t, core.NotFound, core.CodeOf(err))
	_, err = views.RepublishMenu(t.Context(), hubtest.Business(t, p.db).ID, "s1", "b")
	require.Equal(t, core.NotFound, core.CodeOf(err))
}
