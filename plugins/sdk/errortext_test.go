package sdk

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// allocated returns the bytes that a function allocates.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestErrorsWithLongNamesAreBounded(t *testing.T) {
	long := strings.Repeat("\x01", 1<<20)
	step := &Step{Name: long, Endpoint: "api", Method: "GET", Path: "/", Headers: map[string]string{}}
	for i := range 200 {
		step.Headers[fmt.Sprint("a ", i)] = "x"
	}
	group := &pb.VocabularyGroup{Group: long, OnItem: true}
	for range maxStepMembers {
		step.Parts = append(step.Parts, &pb.Part{})
		step.Take = append(step.Take, &Take{})
		group.Keys = append(group.Keys, &pb.VocabularyKey{})
	}
	offer := &pb.ActionOffer{Name: "delay", ParametersSchema: []byte(`{"properties":{"` + strings.Repeat("a", 60<<10) +
		`":{"required":[` + strings.Repeat("1,", 1000) + `1]}}}`)}
	for name, check := range map[string]func() error{
		"a plan": func() error {
			return CheckDecision(withCredentials(), &Decision{Outcome: &pb.Decision_Plan{Plan: Steps(step)}})
		},
		"a vocabulary": func() error {
			return CheckDescription(&Description{Vocabulary: []*pb.VocabularyGroup{group}})
		},
		"a schema": func() error { return CheckDescription(&Description{Actions: []*pb.ActionOffer{offer}}) },
	} {
		var err error
		used := allocated(func() { err = check() })
		require.Error(t, err, name)
		require.Less(t, len(err.Error()), 2*maxErrors*maxErrorText, name)
		require.Less(t, used, uint64(40<<20), name)
	}
}

func TestTruncateCutsBetweenCharacters(t *testing.T) {
	require.Equal(t, "Größe", Truncate("Größe", len("Größe")))
	require.Equal(t, "Gr…", Truncate("Größe", 3))
}
