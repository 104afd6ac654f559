package menu

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

func TestEncodeWritesWhatTheStructSays(t *testing.T) {
	h := newHub(t, fakeVocabulary(t), "IN")
	h.send("S1", whole)
	for _, m := range []EffectiveMenu{{}, Effective("S1", h.menu("S1"), tasty, nil)} {
		want, err := json.Marshal(m, json.Deterministic(true))
		require.NoError(t, err)
		got, err := m.Encode()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}
