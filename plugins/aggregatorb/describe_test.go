package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestAdditionalInfoNumbersAreWhole(t *testing.T) {
	description, err := plugin{}.Describe(t.Context())
	require.NoError(t, err)
	for _, group := range description.GetVocabulary() {
		for _, key := range group.GetKeys() {
			if key.GetName() == "accompaniments" || key.GetName() == "quantity" {
				require.Equal(t, pb.ValueRule_VALUE_RULE_WHOLE_NUMBER, key.GetRule(), key.GetName())
			}
		}
	}
}
