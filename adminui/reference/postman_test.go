package reference

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

func TestPostmanCollectionMatchesGoldenFile(t *testing.T) {
	source, err := os.ReadFile("testdata/small.openapi.json")
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(source, &d))
	got, err := postmanCollection(&d, "https://hub.example.com")
	require.NoError(t, err)
	const golden = "testdata/small.postman.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	expected, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(expected), string(got), "UPDATE_GOLDEN=1 rewrites it")
}
