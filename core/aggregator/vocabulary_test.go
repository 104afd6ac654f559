package aggregator

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	now := time.Now()
	known := fixedRegistry{{ID: "aaa", Enabled: true, KnownAt: now.Add(time.Hour)},
		{ID: "old", Enabled: true, KnownAt: now}}
	host, err := Open(t.Context(), Config{Dir: t.TempDir(), Registry: known, Observer: NoopObserver{},
		Clock: clocktest.New(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer host.Host.Close()
	for _, p := range known {
		host.desired[p.ID], host.storedDescriptions[p.ID] = p, group(p.ID == "old")
		host.Start(p.ID)
	}
	got, err := host.Vocabulary()
	require.NoError(t, err)
	want, err := menu.NewVocabulary(declarations("old", group(true))...)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Contains(t, fmt.Sprint(host.Status()[0].Faults), "its key-value groups are ignored")
}
