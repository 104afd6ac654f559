package menu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chain sends options that each nest the next option group under the one with its number, followed by more options. It
// returns the messages of those that fail.
func chain(h *memoryDB, numbers []int, more ...string) (messages []string) {
	options := make([]string, len(numbers))
	for i, n := range numbers {
		options[i] =
			fmt.Sprintf(`{"ref_id":"o%d","title":"o","price":0,"opt_grp_ref_ids":["g%d"],"nested_opt_grps":["g%d"]}`, n,
				n, n+1)
	}
	_, plan := h.send(MasterLocation, `{"options":[`+strings.Join(append(options, more...), ",")+`]}`)
	for _, outcome := range plan.Outcomes[Options][:len(numbers)] {
		if outcome.Message != "" {
			messages = append(messages, outcome.Message)
		}
	}
	return messages
}

func TestSearchForCyclesIsBounded(t *testing.T) {
	const length = 2000
	var upwards, downwards, odd, even []int
	groups := []string{`{"ref_id":"g0","title":"g"}`}
	for n := range length {
		groups = append(groups, fmt.Sprintf(`{"ref_id":"g%d","title":"g"}`, n+1))
		downwards = append(downwards, n)
		if n%2 == 0 {
			even = append(even, n)
		} else {
			odd = append(odd, n)
		}
	}
	upwards = slices.Clone(downwards)
	slices.Reverse(upwards)
	slices.Reverse(odd)
	send := func() *memoryDB {
		h := newMemoryDB(t, fakeVocabulary(t), "IN")
		h.send(MasterLocation, `{"option_groups":[`+strings.Join(groups, ",")+`]}`)
		return h
	}
	require.Empty(t, chain(send(), upwards))
	h := send()
	require.Empty(t, chain(h, downwards))
	_, plan := h.send(MasterLocation,
		fmt.Sprintf(`{"options":[{"ref_id":"z","title":"z","price":0,"opt_grp_ref_ids":["g%d"],`+
			`"nested_opt_grps":["g0"]}]}`, length))
	require.Regexp(t,
		`^nested_opt_grps makes a cycle of option groups: "g2000" > "g0" > "g1" \(by option "o0"\) > .* > … > .* > `+
			`"g2000" \(by option "o1999"\)$`, message(plan, Options, 0))
	require.Less(t, len(message(plan, Options, 0)), 1000)

	h = send()
	require.Empty(t, chain(h, even))
	require.Empty(t, chain(h, odd))

	h = send()
	require.Empty(t, chain(h, even))
	const loop = `{"ref_id":"z","title":"z","price":0,"opt_grp_ref_ids":["g0"],"nested_opt_grps":["g0"]}`
	left := chain(h, odd, loop) // each search for a cycle visits all groups below
	require.NotEmpty(t, left)
	for _, message := range left {
		require.Equal(t,
			"nested_opt_grps cannot be checked, because the option groups lead to too many others: send the option "+
				"in another request", message)
	}
	for again := len(left); again > 0; again = len(left) {
		left = chain(h, odd, loop)
		require.Less(t, len(left), again)
	}
}
