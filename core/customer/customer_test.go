package customer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/customer"
)

func TestPhoneNumbersNormalizeToInternationalForm(t *testing.T) {
	for _, c := range []struct{ country, sent, want string }{
		{"IN", "+91 98765 43210", "919876543210"},
		{"IN", "098765-43210", "919876543210"},
		{"IN", "9876543210", "919876543210"},
		{"IN", "919876543210", "919876543210"},
		{"IN", "9198765432", "919198765432"},
		{"IN", "00919876543210", "919876543210"},
		{"IN", "+44 (0)20 7946 0958", "442079460958"},
		{"IN", "०९८७६५४३२१०", "919876543210"},
		{"US", "(415) 555-0142", "14155550142"},
		{"US", "1-415-555-0142 ext. 12", "14155550142x12"},
		{"US", "011 44 20 7946 0958", "442079460958"},
		{"GB", "020 7946 0958", "442079460958"},
		{"GB", "44 20 7946 0958", "442079460958"},
		{"AE", "050 123 4567", "971501234567"},
		{"AE", "+971501234567,98", "971501234567x98"},
		{"AE", "٠٥٠١٢٣٤٥٦٧", "971501234567"},
		{"DE", "0151 23456789", "4915123456789"},
		{"DE", "0049 (0) 151 23456789", "4915123456789"},
		{"FR", "+33 1 23 45 67 89", "33123456789"},
		{"FR", "01 23 45 67 89", "n123456789"},
		{"US", "999-999-9999", ""}, {"DE", "00000000", ""}, {"DE", "12345", ""},
		{"US", "12", ""}, {"US", "", ""}, {"IN", "+1234567890123456", ""}, {"IN", "12+3456789", ""},
	} {
		require.Equal(t, c.want, customer.NormalizePhone(c.country, c.sent), "%s %q", c.country, c.sent)
	}
}

func TestFormsOfOneNumberNormalizeAlike(t *testing.T) {
	plans := map[string]struct {
		code, prefix, trunk string
		digits              int
	}{"IN": {"91", "00", "0", 10}, "GB": {"44", "00", "0", 10}, "US": {"1", "011", "", 10},
		"AE": {"971", "00", "0", 9}, "DE": {"49", "00", "0", 11}}
	rapid.Check(t, func(t *rapid.T) {
		country := rapid.SampledFrom([]string{"IN", "GB", "US", "AE", "DE"}).Draw(t, "country")
		plan := plans[country]
		national := rapid.StringMatching(fmt.Sprintf("[2-9][0-9]{%d}", plan.digits-1)).Draw(t, "number")
		want := plan.code + national
		for _, form := range []string{"+" + want, plan.prefix + want, plan.trunk + national, national, want,
			"+" + plan.code + " " + national[:3] + "-" + national[3:]} {
			require.Equal(t, want, customer.NormalizePhone(country, form), form)
		}
	})
}

func TestNormalizationIsIdempotent(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("aAbßçÉñüÅøŁİzZ'-. 日本कि0123456789+@")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		text := letters.Draw(t, "text")
		name := customer.NormalizeName(text)
		require.Equal(t, name, customer.NormalizeName(name))
		email := customer.NormalizeEmail(text)
		require.Equal(t, email, customer.NormalizeEmail(email))
		country := rapid.SampledFrom([]string{"IN", "GB", "US", "AE", "DE", "FR"}).Draw(t, "country")
		if phone := customer.NormalizePhone(country, text); phone != "" && phone[0] != 'n' {
			require.Equal(t, phone, customer.NormalizePhone(country, "+"+phone))
		}
	})
}

func TestNamesMatchWithoutCaseAndAccents(t *testing.T) {
	for _, c := range [][2]string{{"José Ñandú", "jose nandu"}, {"  O'Brien,  Seán ", "o brien sean"},
		{"STRASSE", "strasse"}, {"Straße", "strasse"}, {"", ""}, {"किरण", "किरण"}} {
		require.Equal(t, c[1], customer.NormalizeName(c[0]))
	}
}

func TestSearchFindsWhatOrdersAreIndexedBy(t *testing.T) {
	x := customer.Index{Key: customer.NewKey(), Country: "IN"}
	hashes := x.Hashes("Asha Kumar Rao", "Asha@Example.com", "098765 43210")
	require.Len(t, hashes, 4)
	for _, text := range []string{"+919876543210", "9876543210", "asha@example.COM", "ASHA KUMAR RAO", "rao"} {
		found, err := x.Search(text)
		require.NoError(t, err)
		require.Contains(t, hashes, found.Hash, text)
		parsed, err := customer.ParseSubject(found.String())
		require.NoError(t, err)
		require.Equal(t, found, parsed)
		require.NotContains(t, strings.ToLower(found.Object()), "rao")
	}
	extended := x.Hashes("", "", "+91 98765 43210 x12")
	require.NotContains(t, hashes, extended[0], "aggregators share numbers among customers")
	found, err := x.Search("098765 43210 ext. 12")
	require.NoError(t, err)
	require.Equal(t, customer.Subject{Kind: customer.Phone, Hash: extended[0]}, found)
	for _, text := range []string{"", "  ", "12", "+", "@", strings.Repeat("a", 400)} {
		_, err := x.Search(text)
		require.Equal(t, core.Invalid, core.CodeOf(err), text)
	}
	require.Len(t, x.Hashes("Asha", "", ""), 1, "the last word is the name")
	require.Empty(t, customer.Index{}.Hashes("Asha", "a@b.example", "9876543210"), "no key, no hash")
	other := customer.Index{Key: customer.NewKey(), Country: "IN"}
	require.NotEqual(t, hashes, other.Hashes("Asha Kumar Rao", "Asha@Example.com", "098765 43210"))
	require.Equal(t, "{}", x.Array("", "", ""))
}

func TestUnreadableSubjectsAreNotFound(t *testing.T) {
	for _, text := range []string{"", "phone", "phone-", "phone-1", "order-x", "order-01", "store-1",
		"name-00000000000000zz", "PHONE-0000000000000001"} {
		_, err := customer.ParseSubject(text)
		require.Equal(t, core.NotFound, core.CodeOf(err), text)
	}
}

func TestScrubKeepsAmountsItemsIdsAndStates(t *testing.T) {
	scrubbed := string(customer.Scrub([]byte(`{"customer":{"name":"Maya","email":"m@x.example","phone":"+1415",
		"address":{"line_1":"1390 Mission","latitude":37.7762,"longitude":-122.4}},
		"order":{"details":{"id":50012,"instructions":"Ring Maya","coupon":"MAYA10","order_total":17.19,
		"state":"Placed",
		"ext_platforms":[{"id":"880","name":"web"}],"flags":[{"path":"items[0]","code":"differs","message":"Maya"}]},
		"items":[{"id":7,"merchant_id":"I-1","title":"Latte","instructions":"for Maya","price":4.50,"tags":["hot"]}],
		"store":{"id":1,"name":"Market","address":"900 Market"},"next_states":["Acknowledged"]}}`)))
	require.JSONEq(t, `{"customer":{"name":"","email":"","phone":"",
		"address":{"line_1":"","latitude":null,"longitude":null}},
		"order":{"details":{"id":50012,"instructions":"","coupon":"","order_total":17.19,"state":"Placed",
		"ext_platforms":[{"id":"880","name":"web"}],"flags":[{"path":"items[0]","code":"differs","message":""}]},
		"items":[{"id":7,"merchant_id":"I-1","title":"Latte","instructions":"","price":4.50,"tags":["hot"]}],
		"store":{"id":1,"name":"Market","address":"900 Market"},"next_states":["Acknowledged"]}}`, scrubbed)
	require.Contains(t, scrubbed, "4.50", "amounts keep their digits")
	for _, text := range []string{"", "Maya", `["Maya"]`, `{"customer":`} {
		require.Equal(t, "{}", string(customer.Scrub([]byte(text))))
	}
}

func TestScrubRemovesEveryTextThatIsNotKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching("[a-z_]{1,12}").Draw(t, "key")
		scrubbed := string(customer.Scrub([]byte(
			`{"` + key + `_note":["CANARY",{"x":"CANARY"}],"customer":[{"n":5551234}]}`)))
		require.NotContains(t, scrubbed, "CANARY")
		require.NotContains(t, scrubbed, "5551234")
	})
}

func TestQuotesAreContactsAndFullNames(t *testing.T) {
	quoted := customer.QuotesOf([][]byte{
		[]byte(`{"customer":{"name":"Guest","email":"m@x.example","address":{"line_1":"Floor 1"}}}`),
		[]byte(`{"customer":{"name":"Maya L.","phone":"unknown"}}`), []byte(`{`)})
	require.Equal(t, customer.Quotes{
		Any:     `(?<![[:alnum:]])(?:Maya L\.|Maya\+L\.|m@x\.example|m%40x\.example)(?![[:alnum:]])`,
		Contact: `(?<![[:alnum:]])(?:m@x\.example|m%40x\.example)(?![[:alnum:]])`,
	}, quoted)
	require.Zero(t, customer.QuotesOf([][]byte{[]byte(`{"customer":{"name":"Order"}}`)}))
}

func TestRetentionIsOffOrDays(t *testing.T) {
	for text, want := range map[string]customer.Retention{"off": 0, "0": 0, "90": 90, " 3650 ": 3650} {
		got, err := customer.ParseRetention(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "-1", "3651", "90d"} {
		_, err := customer.ParseRetention(text)
		require.Equal(t, core.Invalid, core.CodeOf(err), text)
	}
	require.Equal(t, "off", customer.Retention(0).String())
}
