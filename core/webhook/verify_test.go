package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestVerifyAcceptsOnlyValidSignatures(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	known, other, body := NewSecret(), NewSecret(), []byte(`{"reference":"r"}`)
	id := core.NewID(now)
	for name, row := range map[string]struct {
		secret string
		at     time.Duration
		change func(*Signature)
		reason string
	}{
		"good":               {known, 0, nil, ""},
		"five minutes old":   {known, -Tolerance, nil, ""},
		"five minutes ahead": {known, Tolerance, nil, ""},
		"several signatures": {known, 0,
			func(s *Signature) { s.Signatures = "v1,AAAA v1a,BBBB  " + s.Signatures + " v1,CCCC" }, ""},
		"too old":           {known, -Tolerance - time.Second, nil, "more than 5 minutes off"},
		"from the future":   {known, Tolerance + time.Second, nil, "more than 5 minutes off"},
		"another secret":    {other, 0, nil, "no known secret"},
		"another id":        {known, 0, func(s *Signature) { s.ID = core.NewID(now).String() }, "no known secret"},
		"an id in capitals": {known, 0, func(s *Signature) { s.ID = strings.ToUpper(s.ID) }, "no known secret"},
		"another second": {known, 0, func(s *Signature) { s.Timestamp = strconv.FormatInt(now.Unix()+1, 10) },
			"no known secret"},
		"a second rewritten": {known, 0, func(s *Signature) { s.Timestamp = "+" + s.Timestamp }, "no known secret"},
		"another version": {known, 0, func(s *Signature) { s.Signatures = "v2" + s.Signatures[2:] },
			"no known secret"},
		"a clipped signature": {known, 0, func(s *Signature) { s.Signatures = s.Signatures[:20] }, "no known secret"},
		"a time that is none": {known, 0, func(s *Signature) { s.Timestamp = "noon" }, "not a number of seconds"},
		"a time out of range": {known, 0, func(s *Signature) { s.Timestamp = "9223372036854775807" },
			"more than 5 minutes off"},
		"no signature": {known, 0, func(s *Signature) { s.Signatures = "" }, "not signed"},
		"no id":        {known, 0, func(s *Signature) { s.ID = "" }, "not signed"},
		"no time":      {known, 0, func(s *Signature) { s.Timestamp = "" }, "not signed"},
	} {
		at := now.Add(row.at)
		signed, err := Sign(row.secret, id, at, body)
		require.NoError(t, err)
		s := Signature{id.String(), strconv.FormatInt(at.Unix(), 10), signed}
		if row.change != nil {
			row.change(&s)
		}
		which, err := Verify([]string{"whsec_!", NewSecret(), known}, s, body, now)
		if row.reason == "" {
			require.NoError(t, err, name)
			require.Equal(t, 2, which, name)
			_, err = Verify([]string{known}, s, append(body, ' '), now)
			require.ErrorContains(t, err, "no known secret", name)
			continue
		}
		require.ErrorContains(t, err, row.reason, name)
		require.Equal(t, row.reason == "not signed", err == ErrUnsigned, name)
	}
}

func TestVerifyAgreesWithTheStandardLibrary(t *testing.T) {
	secret, now, body := NewSecret(), time.Now(), []byte(`{"ü":1}`)
	signer, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	signed, err := signer.Sign("msg_anything", now, body)
	require.NoError(t, err)
	header := http.Header{}
	header.Set("webhook-id", "msg_anything")
	header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("webhook-signature", signed)
	_, err = Verify([]string{secret}, SignatureOf(header), body, now)
	require.NoError(t, err)
}

func TestCheckSecretRejectsInvalidSecrets(t *testing.T) {
	require.NoError(t, CheckSecret(NewSecret()))
	for _, wrong := range []string{
		"", "whsec_", "WHSEC_" + NewSecret()[6:], NewSecret()[6:], NewSecret()[:20], "whsec_not base64",
		"whsec_aHVzaA==",
		"whsec_" + strings.Repeat("AAAA", 30),
	} {
		err := CheckSecret(wrong)
		require.Error(t, err, wrong)
		if len(wrong) > len(secretPrefix) {
			require.NotContains(t, err.Error(), wrong[len(secretPrefix):])
		}
	}
}
