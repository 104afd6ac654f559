package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// viewHub has two businesses, and users of the first.
type viewHub struct {
	db                *postgres.DB
	store             consoleview.Store
	one, other        core.BusinessID
	support, viewer   int64
	ofOther, disabled int64
}

func newViewHub(t *testing.T) viewHub {
	t.Helper()
	db := hubtest.Database(t, clocktest.New())
	h := viewHub{db: db, store: consoleview.New(db), one: hubtest.Business(t, db).ID, other: hubtest.Business(t, db).ID}
	user := func(name string, role access.Role, business core.BusinessID) int64 {
		u, err := accessdb.New(db).CreateUser(t.Context(), access.User{Email: name + "@example.com", Role: role,
			Businesses: []core.BusinessID{business}, CreatedAt: db.Clock().Now()}, access.Change{Action: "user.create"})
		require.NoError(t, err)
		return u.ID
	}
	h.support, h.viewer = user("sue", access.Support, h.one), user("vera", access.Viewer, h.one)
	h.ofOther, h.disabled = user("otto", access.Support, h.other), user("dan", access.Support, h.one)
	pgtest.Exec(t, db, `UPDATE users SET disabled_at = now() WHERE id = ?`, h.disabled)
	return h
}

func (h viewHub) save(t *testing.T, user int64, name string, shared bool) (int64, error) {
	t.Helper()
	return h.store.SaveView(t.Context(), console.SavedView{Business: h.one, User: user, List: "orders", Name: name,
		Filters: "when=24h", Shared: shared}, access.Change{Business: h.one, Actor: "user:x", Action: "view.share"})
}

func (h viewHub) drop(t *testing.T, view console.SavedView) core.Code {
	t.Helper()
	view.List = "orders"
	return core.CodeOf(h.store.DeleteView(t.Context(), view,
		access.Change{Business: view.Business, Actor: "user:x", Action: "view.delete"}))
}

func (h viewHub) names(t *testing.T, business core.BusinessID, user int64, list string) (names []string) {
	t.Helper()
	found, err := h.store.SavedViews(t.Context(), business, user, list)
	require.NoError(t, err)
	for _, v := range found {
		require.Equal(t, []any{business, list, "when=24h"}, []any{v.Business, v.List, v.Filters})
		names = append(names, v.Name+" of "+v.Owner)
	}
	return names
}

func TestViewsAreVisibleToTheirUsersOnly(t *testing.T) {
	h := newViewHub(t)
	for name, shared := range map[string]bool{"b": false, "a": false, "ours": true} {
		_, err := h.save(t, h.support, name, shared)
		require.NoError(t, err)
	}
	_, err := h.save(t, h.viewer, "z", false)
	require.NoError(t, err)
	require.Equal(t, []string{"a of sue@example.com", "b of sue@example.com", "ours of sue@example.com"},
		h.names(t, h.one, h.support, "orders"))
	require.Equal(t, []string{"z of vera@example.com", "ours of sue@example.com"},
		h.names(t, h.one, h.viewer, "orders"))
	require.Empty(t, h.names(t, h.one, h.support, "jobs"))
	require.Empty(t, h.names(t, h.other, h.support, "orders"))
	require.Empty(t, h.names(t, h.other, h.ofOther, "orders"))
	require.Equal(t, 1, pgtest.AuditEntries(t, h.db, "view.share"))
}

func TestOnlyUsersOfTheBusinessChangeViews(t *testing.T) {
	h := newViewHub(t)
	for name, user := range map[string]int64{"other business": h.ofOther, "disabled": h.disabled, "unknown": 1 << 40} {
		_, err := h.save(t, user, "x", false)
		require.Equal(t, core.Forbidden, core.CodeOf(err), name)
	}
	_, err := h.save(t, h.viewer, "x", true)
	require.Equal(t, core.Forbidden, core.CodeOf(err), "a viewer shares")
	own, err := h.save(t, h.support, "own", false)
	require.NoError(t, err)
	shared, err := h.save(t, h.support, "shared", true)
	require.NoError(t, err)
	gone := core.NotFound
	require.Equal(t, gone, h.drop(t, console.SavedView{Business: h.one, User: h.viewer, ID: own}))
	require.Equal(t, gone, h.drop(t, console.SavedView{Business: h.one, User: h.support, ID: own, Shared: true}))
	require.Equal(t, gone, h.drop(t, console.SavedView{Business: h.one, User: h.support, ID: shared}))
	require.Equal(t, gone, h.drop(t, console.SavedView{Business: h.other, User: h.ofOther, ID: shared, Shared: true}))
	require.Equal(t, core.Forbidden,
		h.drop(t, console.SavedView{Business: h.one, User: h.viewer, ID: shared, Shared: true}))
	require.Zero(t, pgtest.AuditEntries(t, h.db, "view.delete"))
	require.Empty(t, h.drop(t, console.SavedView{Business: h.one, User: h.support, ID: own}))
	require.Empty(t, h.drop(t, console.SavedView{Business: h.one, User: h.support, ID: shared, Shared: true}))
	require.Equal(t, 1, pgtest.AuditEntries(t, h.db, "view.delete"))
	require.Empty(t, h.names(t, h.one, h.support, "orders"))
}

func TestViewsAreBounded(t *testing.T) {
	h := newViewHub(t)
	for _, name := range []string{"", "  ", strings.Repeat("é", console.MaxViewName+1), "a\x00b", "\xff"} {
		_, err := h.save(t, h.support, name, false)
		require.Equal(t, core.Invalid, core.CodeOf(err), "%q", name)
	}
	_, err := h.store.SaveView(t.Context(), console.SavedView{Business: h.one, User: h.support, List: "orders",
		Name: "long", Filters: strings.Repeat("x", console.MaxViewFilters+1)}, access.Change{})
	require.Equal(t, core.Invalid, core.CodeOf(err))
	var stored, full atomic.Int64
	var saves sync.WaitGroup
	for n := range console.MaxViews + 10 {
		saves.Go(func() {
			_, err := h.save(t, h.support, fmt.Sprint(strings.Repeat("é", console.MaxViewName-2), n+10), true)
			switch core.CodeOf(err) {
			case "":
				stored.Add(1)
			case core.Conflict:
				full.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	saves.Wait()
	require.EqualValues(t, []int64{console.MaxViews, 10}, []int64{stored.Load(), full.Load()})
	pgtest.Exec(t, h.db, `UPDATE users SET role = 'support' WHERE id = ?`, h.viewer)
	_, err = h.save(t, h.viewer, "one more", true)
	require.Equal(t, core.Conflict, core.CodeOf(err), "50 shared views")
	_, err = h.save(t, h.viewer, "mine", false)
	require.NoError(t, err)
	_, err = h.save(t, h.viewer, "mine", false)
	require.Equal(t, core.Conflict, core.CodeOf(err), "the name is taken")
	require.Len(t, h.names(t, h.one, h.viewer, "orders"), console.MaxViews+1)
}
