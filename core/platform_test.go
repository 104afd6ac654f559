package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesResolveAliasesAndKeepUnknownOnes(t *testing.T) {
	names := NewPlatformNames([]string{"a", "web"}, PlatformAlias{Alias: "zomato", Platform: "a", InEvents: true},
		PlatformAlias{Alias: "z", Platform: "a"}, PlatformAlias{Alias: "web", Platform: "a"})
	for name, want := range map[string]string{"a": "a", "zomato": "a", "z": "a", "web": "web", "mars": "mars"} {
		require.Equal(t, want, names.Resolve(name))
		require.Equal(t, name != "mars", names.Known(name))
	}
	require.Equal(t, "zomato", names.EventName("a"))
	require.Equal(t, "web", names.EventName("web"))
	require.True(t, names.HasEventAliases())
	require.False(t, PlatformNames{}.HasEventAliases())
	require.Equal(t, "mars", PlatformNames{}.Resolve("mars"))
}

func TestAliasesMustBePlainNames(t *testing.T) {
	for alias, wrong := range map[string]string{
		"zomato": "", "Tasty Eats №1": "", strings.Repeat("é", 255): "",
		"": "must have 1 to 255 characters", strings.Repeat("é", 256): "must have 1 to 255 characters",
		"a\x00b": "must have no control characters", "a\nb": "must have no control characters",
		"\xff": "must have no control characters", " a": "must not begin or end with a space",
		"default": `must not be "default": in tags and images that stands for every platform`,
	} {
		require.Equal(t, wrong, CheckAlias(alias), "%q", alias)
	}
}

func TestListsWithoutAliasesAreUnchanged(t *testing.T) {
	resolve := NewPlatformNames([]string{"web"}, PlatformAlias{Alias: "shop", Platform: "web"}).Resolve
	require.Nil(t, ResolveNames(nil, resolve))
	require.Equal(t, []string{}, ResolveNames([]string{}, resolve))
	require.Equal(t, []string{"web", "web", "x"}, ResolveNames([]string{"web", "web", "x"}, resolve))
	require.Equal(t, []string{"web", "x"}, ResolveNames([]string{"shop", "shop", "x"}, resolve))
	require.Equal(t, []string{"x", "web"}, ResolveNames([]string{"shop", "x", "web"}, resolve))
}
