package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// arrayOf decodes an array of n empty objects with a limit of 10.
func arrayOf(n int) (core.Array, error) {
	body := fmt.Sprintf(`{"stores":[%s]}`, strings.TrimSuffix(strings.Repeat("{},", n), ","))
	sent := struct {
		Stores core.Array `json:"stores"`
	}{core.Array{Limit: 10}}
	err := core.DecodeJSON([]byte(body), &sent)
	return sent.Stores, err
}

func TestArrayStoresItsLimitAndCountsTheRest(t *testing.T) {
	for _, n := range []int{0, 10, 11, 40} {
		array, err := arrayOf(n)
		require.NoError(t, err)
		require.Equal(t, n, array.Count)
		require.Len(t, array.Elements(make([]byte, 200)), min(n, 10))
	}
}

func TestOversizedArrayIsRejectedBeforeItsEnd(t *testing.T) {
	array, err := arrayOf(1000)
	require.EqualError(t, err, "stores must have at most 10 objects, not more than 40")
	require.Equal(t, core.Invalid, core.CodeOf(err))
	require.Equal(t, 40, array.Count)
}

func TestBodyCutBeforeAnArrayIsInvalid(t *testing.T) {
	for _, body := range []string{`{"stores":`, `{"stores"`, `{"stores":}`} {
		sent := struct {
			Stores core.Array `json:"stores"`
		}{core.Array{Limit: 10}}
		require.ErrorContains(t, core.DecodeJSON([]byte(body), &sent), "the body is not valid JSON", body)
	}
}
