package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

type sampleBody struct {
	Rows []jsontext.Value `json:"rows"`
	URL  *string          `json:"url"`
}

type sampleRow struct {
	RefID *string  `json:"ref_id"`
	Count *int64   `json:"count"`
	Price *Amount  `json:"price"`
	Names []string `json:"names"`
	Flag  *bool    `json:"flag"`
	Slots []struct {
		Day *string `json:"day"`
	} `json:"slots"`
	ByName map[string][]string `json:"by_name"`
}

func decodeSample(body string) error {
	var b sampleBody
	if err := DecodeJSON([]byte(body), &b); err != nil {
		return err
	}
	var v Violations
	rows := make([]sampleRow, len(b.Rows))
	for i, failure := range DecodeObjects(b.Rows, func(i int) any { return &rows[i] }) {
		if failure != nil {
			v.AddFailure(Object{Array: "rows", Index: i}, b.Rows[i], failure)
		}
	}
	return v.Err()
}

func TestDecodeErrorsNameTheFieldPath(t *testing.T) {
	deep := strings.Repeat("[", 20000)
	for name, row := range map[string]struct{ body, message, path, code string }{
		"nothing":          {``, `not valid JSON`, "", "syntax"},
		"cut short":        {`{"rows":[{"ref_id":"a"`, `not valid JSON`, "rows[0]", "syntax"},
		"array cut short":  {`[`, `not valid JSON`, "", "syntax"},
		"value cut short":  {`{"url":[`, `not valid JSON`, "url", "syntax"},
		"text after":       {`{} x`, `not valid JSON`, "", "syntax"},
		"not an object":    {`[1]`, `the body must be an object`, "", "type"},
		"array as string":  {`{"rows":"x"}`, `rows must be an array`, "rows", "type"},
		"row not object":   {`{"rows":[1]}`, `rows[0]: must be an object`, "rows[0]", "type"},
		"null row":         {`{"rows":[null]}`, `rows[0]: must be an object`, "rows[0]", "type"},
		"number as string": {`{"rows":[{"ref_id":5}]}`, `rows[0]: ref_id must be a string`, "rows[0].ref_id", "type"},
		"string as number": {`{"rows":[{"count":"5"}]}`, `rows[0]: count must be a whole number`, "rows[0].count",
			"type"},
		"half a count": {`{"rows":[{"count":5.5}]}`, `rows[0]: count must be a whole number`, "rows[0].count", "type"},
		"huge count": {`{"rows":[{"count":99999999999999999999}]}`, `rows[0]: count must be a whole number`,
			"rows[0].count", "type"},
		"member of digits": {`{"rows":[{"by_name":{"7":["a"],"0":["b",1]}}]}`, `rows[0]: by_name.0[1] must be a string`,
			"rows[0].by_name.0[1]", "type"},
		"digits twice":    {`{"rows":[{"0":{"1":0,"1":0}}]}`, `rows[0].0.1 is given twice`, "rows[0].0.1", "duplicate"},
		"price as string": {`{"rows":[{"price":"5"}]}`, `rows[0]: price must be a number`, "rows[0].price", "type"},
		"price bomb":      {`{"rows":[{"price":1e999999999}]}`, `at most 15 digits`, "rows[0].price", "range"},
		"flag as number":  {`{"rows":[{"flag":1}]}`, `rows[0]: flag must be true or false`, "rows[0].flag", "type"},
		"names of numbers": {`{"rows":[{"names":["a",2]}]}`, `rows[0]: names[1] must be a string`, "rows[0].names[1]",
			"type"},
		"nested": {`{"rows":[{"slots":[{},{"day":3}]}]}`, `rows[0]: slots[1].day must be a string`,
			"rows[0].slots[1].day", "type"},
		"name twice": {`{"rows":[{"ref_id":"a","ref_id":"b"}]}`, `rows[0].ref_id is given twice`, "rows[0].ref_id",
			"duplicate"},
		"unknown twice": {`{"rows":[{"zz":1,"zz":2}]}`, `rows[0].zz is given twice`, "rows[0].zz", "duplicate"},
		"invalid UTF-8": {"{\"rows\":[{\"ref_id\":\"\xff\"}]}",
			`at rows[0].ref_id: the body is not valid JSON: invalid UTF-8`, "rows[0].ref_id", "syntax"},
		"lone surrogate": {`{"rows":[{"ref_id":"\ud800"}]}`, `not valid JSON`, "rows[0].ref_id", "syntax"},
		"NUL": {`{"rows":[{"ref_id":"a\u0000b"}]}`, `rows[0].ref_id must not contain the NUL`,
			"rows[0].ref_id", "nul"},
		"raw NUL":      {"{\"rows\":[{\"ref_id\":\"a\x00b\"}]}", `not valid JSON`, "rows[0].ref_id", "syntax"},
		"nesting bomb": {`{"zz":` + deep, `not valid JSON`, "zz" + strings.Repeat("[0]", 133) + "…", "syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			err := decodeSample(row.body)
			require.Error(t, err)
			require.Equal(t, Invalid, CodeOf(err))
			require.Contains(t, err.Error(), row.message)
			violation := err.(*Error).Violations[0]
			require.Equal(t, row.path, violation.Path)
			require.Equal(t, row.code, violation.Code)
		})
	}
}

func TestDecodeAcceptsBodiesOfRealClients(t *testing.T) {
	for _, body := range []string{
		`{}`, `{"rows":null}`, `{"rows":[{}],"unknown":{"a":[1,2]}}`,
		`{"rows":[{"ref_id":null,"count":null,"price":null,"names":null}]}`,
		`{"rows":[{"ref_id":"back\\u0000slash"}]}`,
		`{"rows":[{"price":19.990000000000002,"names":[]}]}`,
	} {
		require.NoError(t, decodeSample(body), body)
	}
}

func TestViolationsAreBounded(t *testing.T) {
	body := `{"rows":[` + strings.TrimSuffix(strings.Repeat(`{"count":"x"},`, 2500), ",") + `]}`
	err := decodeSample(body)
	require.Len(t, err.(*Error).Violations, MaxViolations)
	require.Contains(t, err.Error(), "rows[0]: count must be a whole number, not \"x\" (and 2499 more)")
}

func TestAmountKeepsEveryDigit(t *testing.T) {
	for _, s := range []string{"0", "0.1", "12.50", "1e3", "-4", "19.990000000000002",
		"123456789012345.123456789012345678"} {
		a, err := ParseAmount(s)
		require.NoError(t, err, s)
		b, err := ParseAmount(fmt.Sprint(a))
		require.NoError(t, err, s)
		require.True(t, a.Equal(b.Decimal), s)
	}
}

func TestAmountIsRoundedToEighteenDecimals(t *testing.T) {
	for sent, read := range map[string]string{
		"5.551115123125783e-17": "0.000000000000000056", "-0.00012780000000000402": "-0.000127800000000004",
		"1.00000000000000000049":                                    "1",
		"0.1000000000000000055511151231257827021181583404541015625": "0.100000000000000006", "1e-400": "0",
		"-5e-19": "-0.000000000000000001",
	} {
		a, err := ParseAmount(sent)
		require.NoError(t, err, sent)
		require.Equal(t, read, a.String())
	}
	for _, sent := range []string{"999999999999999.9999999999999999999", "1e15", "1e999", strings.Repeat("1", 101)} {
		_, err := ParseAmount(sent)
		require.ErrorContains(t, err, "at most 15 digits before the decimal point", sent)
	}
}
