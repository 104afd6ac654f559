package aggregator

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/menu"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// fixedRegistry is a Registry with a fixed list of plugins.
type fixedRegistry []Plugin

func (fixedRegistry) Add(context.Context, []string) error              { return nil }
func (l fixedRegistry) List(context.Context) ([]Plugin, error)         { return l, nil }
func (fixedRegistry) InUse(context.Context, string) ([]Binding, error) { return nil, nil }

func TestNewPluginCannotReplaceExistingKeyValueGroups(t *testing.T) {
	group := func(on bool) *sdk.Description {
		keys := []*pb.VocabularyKey{{Name: "fat_mg", Rule: pb.ValueRule_VALUE_RULE_ANY_TEXT}}
		return &sdk.Description{Vocabulary: []*pb.VocabularyGroup{{Group: "NutritionalInfo", OnItem: on, OnOption: true,
			Keys: keys}}}
	}
	stored := func(id string, about *sdk.Description) []byte {
		about.Id = id
		encoded, err := proto.Marshal(about)
		require.NoError(t, err)
		return encoded
	}
	now := time.Now()
	known := fixedRegistry{
		{ID: "aaa", Enabled: true, KnownAt: now.Add(time.Hour), Description: stored("aaa", group(false))},
		{ID: "old", Enabled: true, KnownAt: now, Description: stored("old", group(true))},
		{ID: "off", KnownAt: now, Description: stored("off", &sdk.Description{Vocabulary: []*pb.VocabularyGroup{{
			Group: "Disabled", OnItem: true, Keys: []*pb.VocabularyKey{{Name: "any",
				Rule: pb.ValueRule_VALUE_RULE_ANY_TEXT}}}}})}}
	host, err := Open(t.Context(), Config{Dir: t.TempDir(), Registry: known, Observer: NoopObserver{},
		Clock: clocktest.New(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer host.Host.Close()
	for _, p := range known {
		host.Start(p.ID)
	}
	got := host.Vocabulary()
	want, err := menu.NewVocabulary(declarations("old", group(true))...)
	require.NoError(t, err)
	require.Equal(t, want, got)
	faults := func() int {
		return strings.Count(fmt.Sprint(host.Status()[0].Faults), "its key-value groups are ignored")
	}
	require.Equal(t, 1, faults())
	require.Same(t, got, host.Vocabulary(), "it is kept until a description changes")

	known[1].Description = stored("old", &sdk.Description{Version: "2.0.0"})
	host.readAt = time.Time{}
	require.NoError(t, host.applyDesired(t.Context()))
	want, err = menu.NewVocabulary(declarations("aaa", group(false))...)
	require.NoError(t, err)
	require.Equal(t, want, host.Vocabulary(), "an upgrade counts without a restart")
	require.Equal(t, 1, faults())
}
