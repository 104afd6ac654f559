package aggregator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

func TestHeadersForPluginsAreUTF8(t *testing.T) {
	headers := map[string]string{"user-agent": "M\xfcnchen POS", "x-caf\xe9": "é"}
	request := requestForPlugin(&pb.Inbound{Kind: "orders"}, relay.InboundRequest{Headers: headers})
	response := responseForPlugin(relay.Response{Headers: headers, Earlier: []relay.Response{{Headers: headers}}})
	for _, message := range []proto.Message{request, response} {
		_, err := proto.Marshal(message)
		require.NoError(t, err)
	}
	require.Equal(t, map[string]string{"user-agent": "M\uFFFDnchen POS", "x-caf\uFFFD": "é"}, request.GetHeaders())
	require.Equal(t, "M\xfcnchen POS", headers["user-agent"], "what is recorded stays as it came")
}

func TestDeclaredSignatureIsTheOneVerified(t *testing.T) {
	proof, err := withSignature(relay.CallbackVerification{Header: "x-sign", Secret: "key"}, &pb.Inbound{
		Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1, Encoding: pb.InboundEncoding_INBOUND_ENCODING_BASE64,
		CredentialPart: "v1", TimestampPart: "t", NonceHeader: "X-Nonce", ToleranceSeconds: 60,
		TimestampFormat: pb.InboundTimestamp_INBOUND_TIMESTAMP_MILLISECONDS,
		SignedText:      "{timestamp}{header.Host}{query.a}{nonce}:{body}"}, "p")
	require.NoError(t, err)
	require.Equal(t, relay.CallbackVerification{Scheme: relay.SchemeHMAC, Header: "x-sign", Secret: "key",
		Part: "v1", Nonce: "x-nonce", Tolerance: time.Minute,
		Timestamp: relay.Timestamp{Header: "x-sign", Part: "t", Format: relay.Milliseconds},
		Signature: signature.Scheme{Algorithm: signature.SHA1, Encoding: signature.Base64, Template: signature.Template{
			{Source: signature.Timestamp}, {Source: signature.Header, Text: "Host"},
			{Source: signature.Parameter, Text: "a"}, {Source: signature.Nonce},
			{Source: signature.Literal, Text: ":"}, {Source: signature.Body}}}}, proof)

	proof, err = withSignature(relay.CallbackVerification{}, &pb.Inbound{TimestampHeader: "X-Time",
		Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256}, "p")
	require.NoError(t, err)
	require.Equal(t, signature.Template{{Source: signature.Timestamp}, {Source: signature.Literal, Text: "."},
		{Source: signature.Body}}, proof.Signature.Template, "as before there was a signed_text")
	require.Equal(t, relay.Timestamp{Header: "x-time", Format: relay.Seconds}, proof.Timestamp)
	require.Equal(t, defaultTolerance, proof.Tolerance)

	for _, unknown := range []*pb.Inbound{{Scheme: 99},
		{Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, SignedText: "{body}{later}"},
		{Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, TimestampFormat: 99}} {
		_, err := withSignature(relay.CallbackVerification{}, unknown, "p")
		require.Equal(t, core.Unavailable, core.CodeOf(err), "of a later version of the protocol")
	}
}
