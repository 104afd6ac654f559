package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestInboundSchemeRejectsUnusedFields(t *testing.T) {
	for _, c := range []struct {
		name    string
		scheme  pb.InboundScheme
		change  func(*pb.Inbound)
		refused string
	}{
		{"an HMAC in base64 behind a prefix", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, func(i *pb.Inbound) {
			i.Prefix, i.Encoding = "sha256=", pb.InboundEncoding_INBOUND_ENCODING_BASE64
		}, ""},
		{"an HMAC with a timestamp", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, func(i *pb.Inbound) {
			i.TimestampHeader, i.ToleranceSeconds = "x-time", 60
		}, ""},
		{"a secret behind a prefix", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Prefix = "Token " }, ""},
		{"basic", pb.InboundScheme_INBOUND_SCHEME_BASIC, func(*pb.Inbound) {}, ""},
		{"basic behind a prefix", pb.InboundScheme_INBOUND_SCHEME_BASIC, func(i *pb.Inbound) { i.Prefix = "x" },
			"prefix: is given by the scheme"},
		{"an encoded secret", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) {
				i.Encoding =
					pb.InboundEncoding_INBOUND_ENCODING_HEX
			}, "encoding and timestamp_header: are of an HMAC"},
		{"a secret with a timestamp", pb.InboundScheme_INBOUND_SCHEME_BEARER,
			func(i *pb.Inbound) { i.TimestampHeader = "x-time" }, "encoding and timestamp_header: are of an HMAC"},
		{"a tolerance of nothing", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256,
			func(i *pb.Inbound) { i.ToleranceSeconds = 60 }, "tolerance_seconds: needs a timestamp_header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &pb.Inbound{Kind: "orders", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER, Scheme: c.scheme,
				Header: "authorization", Secret: "key"}
			c.change(in)
			err := CheckDescription(&Description{
				Id: "x", Version: "1.0.0", Protocol: Protocol, DisplayName: "X",
				Capabilities: []string{CapabilityOrderTranslate},
				Secrets:      []*pb.Secret{{Name: "key"}}, Inbound: []*pb.Inbound{in},
			})
			if c.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.refused)
			}
		})
	}
}
