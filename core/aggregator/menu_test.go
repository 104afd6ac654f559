package aggregator

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func TestPluginsReceiveTranslatedNamesAndTitles(t *testing.T) {
	list, err :=
		localNames(jsontext.Value(`[{"language":"he","name":"a"},{"language":"hi","title":"b","description":"c"},` +
			`{"language":"id"}]`))
	require.NoError(t, err)
	require.Len(t, list, 3)
	for i, want := range [][]string{{"he", "a", ""}, {"hi", "b", "c"}, {"id", "", ""}} {
		require.Equal(t, want, []string{list[i].Language, list[i].Name, list[i].Description})
	}
}
