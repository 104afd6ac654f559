package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumMatchesPublishedVectors(t *testing.T) {
	body := Request{Body: []byte("Hi There")} // RFC 2202 and RFC 4231, test case 1
	key := []byte(strings.Repeat("\x0b", 20))
	template, err := Parse("{body}")
	require.NoError(t, err)
	for want, scheme := range map[string]Scheme{
		"b617318655057264e28bc0b6fb378c8ef146be00":                         {Algorithm: SHA1, Encoding: Hex},
		"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7": {},
		"sDRMYdjbOFNcqK/OrwvxK4gdwgDJgz2nJuk3bC4yz/c=":                     {Algorithm: SHA256, Encoding: Base64},
		"87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4" +
			"be9d914eeb61f1702e696c203a126854": {Algorithm: SHA512, Encoding: Hex},
	} {
		scheme.Template = template
		require.Equal(t, want, scheme.Sum(key, body))
	}
}

func TestTemplateSignsEachPartAsSent(t *testing.T) {
	template, err := Parse("{method}\n{path}?{query}\n{timestamp}.{body}")
	require.NoError(t, err)
	require.True(t, template.Uses(Timestamp))
	var text strings.Builder
	request := Request{Method: "PUT", Path: "/v1/a%2Fb", Query: "x=1&y=%20", Timestamp: "1700000000",
		Body: []byte("{timestamp}")}
	template.writeTo(&text, request)
	const signed = "PUT\n/v1/a%2Fb?x=1&y=%20\n1700000000.{timestamp}"
	require.Equal(t, signed, text.String(), "placeholders in values stay as they are")

	mac := hmac.New(sha256.New, []byte("k"))
	mac.Write([]byte(signed))
	require.Equal(t, hex.EncodeToString(mac.Sum(nil)), Scheme{Template: template}.Sum([]byte("k"), request))
}
