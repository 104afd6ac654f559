package core

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func TestIntegersAcceptNumbersAndStrings(t *testing.T) {
	type reading struct {
		Whole   PositiveInt `json:"whole"`
		Integer *Integer    `json:"integer"`
	}
	for sent, wanted := range map[string]int64{
		"20": 20, `"20"`: 20, "20.0": 20, `"20.00"`: 20, "2e1": 20, "1795285693000.0": 1795285693000,
		`"1795285693000"`:     1795285693000,
		"9223372036854775807": 9223372036854775807, "0": 0, "0.0": 0,
	} {
		var got reading
		require.NoError(t, DecodeJSON([]byte(`{"whole":`+sent+`,"integer":`+sent+`}`), &got), sent)
		require.Equal(t, []int64{wanted, wanted}, []int64{int64(got.Whole), int64(*got.Integer)}, sent)
	}
	for sent, wanted := range map[string]bool{`null`: true, `""`: true, `"0"`: true, "-1": false, `"-1"`: false,
		"-1.0": false} {
		got := reading{}
		err := DecodeJSON([]byte(`{"whole":`+sent+`}`), &got)
		require.Equal(t, wanted, err == nil, "%s: %v", sent, err)
		require.Zero(t, got.Whole)
	}
	for _, sent := range []string{"1.5", `"1.5"`, "{}", "[]", "[1]", "true", `"x"`, `" 1"`, `"0x10"`, `"Inf"`, "1e400",
		"1e30", "9223372036854775808"} {
		require.ErrorContains(t, DecodeJSON([]byte(`{"whole":`+sent+`}`), &reading{}),
			"whole must be a positive whole number", sent)
		require.ErrorContains(t, DecodeJSON([]byte(`{"integer":`+sent+`}`), &reading{}),
			"integer must be a whole number", sent)
	}
	require.ErrorContains(t, DecodeJSON([]byte(`{"integer":""}`), &reading{}), "integer must be a whole number")
	for sent, code := range map[string]string{"-1": "range", `"-1"`: "range", "9223372036854775808": "range",
		"1.5": "type", `"x"`: "type", "[]": "type"} {
		var invalid *Error
		require.ErrorAs(t, DecodeJSON([]byte(`{"whole":`+sent+`}`), &reading{}), &invalid)
		require.Equal(t, code, invalid.Violations[0].Code, sent)
	}
	var got reading
	require.NoError(t, DecodeJSON([]byte(`{"integer":null}`), &got))
	require.Nil(t, got.Integer)
}

func TestIntegersMayHaveAZeroFraction(t *testing.T) {
	for sent, want := range map[string]int64{"250": 250, "250.0": 250, "2.5e2": 250, "1E1": 10, "-1.0": -1, "0.0": 0,
		"-9223372036854775808": -1 << 63} {
		var row sampleRow
		require.NoError(t, DecodeObjects([]jsontext.Value{jsontext.Value(`{"count":` + sent + `}`)},
			func(int) any { return &row })[0], sent)
		require.Equal(t, want, *row.Count, sent)
	}
}

func TestIdentifierIsAStringOrAnInteger(t *testing.T) {
	type reading struct {
		Refs []*Identifier `json:"refs"`
	}
	var got reading
	require.NoError(t, DecodeJSON([]byte(`{"refs":["a",null,17,"",-3,123456789012345678901]}`), &got))
	var texts []string
	for _, ref := range got.Refs {
		if ref != nil {
			texts = append(texts, string(*ref))
		}
	}
	require.Equal(t, []string{"a", "17", "", "-3", "123456789012345678901"}, texts)
	for _, sent := range []string{"1.5", "1e3", "{}", "[]", "true"} {
		require.ErrorContains(t, DecodeJSON([]byte(`{"refs":["a",`+sent+`]}`), &reading{}),
			"refs[1] must be a string or a whole number", sent)
	}
}

func TestObjectMayBeAnEmptyArray(t *testing.T) {
	type reading struct {
		Extra ObjectOrEmptyArray[struct {
			Minutes *Integer `json:"minutes"`
		}] `json:"extra"`
	}
	for sent, wrong := range map[string]string{
		"{}": "", "[]": "", "[ ]": "", "null": "", `{"minutes":"20"}`: "",
		"[1]": "extra must be an object", "[{}]": "extra must be an object", `"x"`: "extra must be an object",
		"1":                         "extra must be an object",
		`{"minutes":1.5}`:           "extra.minutes must be a whole number",
		`{"minutes":1,"minutes":2}`: "extra.minutes is given twice",
		"[":                         "not valid JSON",
	} {
		var got reading
		err := DecodeJSON([]byte(`{"extra":`+sent+`}`), &got)
		if wrong == "" {
			require.NoError(t, err, sent)
			require.Equal(t, sent == `{"minutes":"20"}`, got.Extra.Value.Minutes != nil, sent)
			continue
		}
		require.ErrorContains(t, err, wrong, sent)
	}
}
