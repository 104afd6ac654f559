package sdk

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// maxNonceTolerance bounds how long a hub remembers nonces, in seconds.
const maxNonceTolerance = 3600

var hmacAlgorithms = map[pb.InboundScheme]signature.Algorithm{
	pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1:   signature.SHA1,
	pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256: signature.SHA256,
	pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA512: signature.SHA512,
}

// HMACAlgorithm returns the hash function of a scheme with an HMAC. It returns "" for the other schemes.
func HMACAlgorithm(scheme pb.InboundScheme) signature.Algorithm { return hmacAlgorithms[scheme] }

// SignedText returns the template of the text that an inbound request's HMAC covers.
func SignedText(in *pb.Inbound) string {
	switch {
	case in.GetSignedText() != "":
		return in.GetSignedText()
	case hasTimestamp(in):
		return "{timestamp}.{body}"
	}
	return "{body}"
}

func hasTimestamp(in *pb.Inbound) bool {
	return in.GetTimestampHeader() != "" || in.GetTimestampQuery() != "" || in.GetTimestampPart() != ""
}

// inbound checks the declaration of a kind of request.
func (c *validation) inbound(at string, in *pb.Inbound, d *Description) {
	needs := map[pb.InboundPurpose]string{pb.InboundPurpose_INBOUND_PURPOSE_ORDER: CapabilityOrderTranslate,
		pb.InboundPurpose_INBOUND_PURPOSE_MIXED:  CapabilityOrderTranslate,
		pb.InboundPurpose_INBOUND_PURPOSE_MENU:   CapabilityMenuServe,
		pb.InboundPurpose_INBOUND_PURPOSE_ACTION: CapabilityActionCallback}[in.GetPurpose()]
	c.check(kindPattern.MatchString(in.GetKind()),
		"%s: the kind must be lower-case letters, digits, hyphens and underscores", at)
	c.check(needs != "", "%s: purpose: is required", at)
	c.check(needs == "" || slices.Contains(d.GetCapabilities(), needs), "%s: needs the capability %s", at, needs)
	for field, name := range map[string]string{"header": in.GetHeader(), "timestamp_header": in.GetTimestampHeader(),
		"nonce_header": in.GetNonceHeader(), "order_id_header": in.GetOrderIdHeader()} {
		c.check(name == "" || httpguts.ValidHeaderFieldName(name), "%s: %s: %q is no header name", at, field, name)
	}
	c.check(in.GetStoreQuery() == "" || in.GetPurpose() == pb.InboundPurpose_INBOUND_PURPOSE_MENU,
		"%s: store_query: is of a menu", at)
	c.credential(at, in, d.GetSecrets())
	c.shared(at+": shared", in)
	if in.GetToken() != nil {
		c.token(at+": token", in.GetToken(), d)
	}
	if HMACAlgorithm(in.GetScheme()) != "" {
		c.signature(at, in)
		return
	}
	c.check(in.GetEncoding() == pb.InboundEncoding_INBOUND_ENCODING_UNSPECIFIED && !hasTimestamp(in) &&
		in.GetSignedText() == "" && in.GetNonceHeader() == "" && in.GetCredentialPart() == "",
		"%s: encoding, signed_text, parts, timestamp and nonce: are of an HMAC", at)
	c.check(in.GetToleranceSeconds() == 0, "%s: tolerance_seconds: needs a timestamp", at)
}

// credential checks where the credential of a request is, and what verifies it.
func (c *validation) credential(at string, in *pb.Inbound, secrets []*pb.Secret) {
	c.check(in.GetScheme() != pb.InboundScheme_INBOUND_SCHEME_UNSPECIFIED, "%s: scheme: is required", at)
	c.check((in.GetHeader() == "") != (in.GetQuery() == ""), "%s: header: is required, or query instead", at)
	token := in.GetScheme() == pb.InboundScheme_INBOUND_SCHEME_JWT
	named := func(s *pb.Secret) bool { return s.GetName() == in.GetSecret() }
	c.check(token || slices.ContainsFunc(secrets, named), "%s: secret %q: is not declared", at, in.GetSecret())
	c.check(!token || in.GetSecret() == "", "%s: secret: a key set verifies the token", at)
	c.check(token == (in.GetToken() != nil), "%s: token: is required by INBOUND_SCHEME_JWT, and only by it", at)
	free := HMACAlgorithm(in.GetScheme()) != "" || in.GetScheme() == pb.InboundScheme_INBOUND_SCHEME_EQUALS
	c.check(free || in.GetPrefix() == "", "%s: prefix: is given by the scheme", at)
	c.check(free || in.GetQuery() == "", "%s: query: the scheme needs a header", at)
}

// shared checks how the hub finds the business of a request at the shared URL. An installation has no settings, so it
// cannot verify a JSON Web Token.
func (c *validation) shared(at string, in *pb.Inbound) {
	shared := in.GetShared()
	if shared == nil {
		return
	}
	name := shared.GetStoreIdHeader()
	menu := in.GetPurpose() == pb.InboundPurpose_INBOUND_PURPOSE_MENU
	c.check(menu != (len(shared.GetStoreId()) > 0 || name != ""),
		"%s: store_id: is required, or store_id_header; a menu has neither", at)
	c.check(name == "" || httpguts.ValidHeaderFieldName(name), "%s: store_id_header: %q is no header name", at, name)
	for _, path := range shared.GetStoreId() {
		c.check(strings.HasPrefix(path, "/"), "%s: store_id: %q must begin with a slash", at, path)
	}
	c.check(in.GetScheme() != pb.InboundScheme_INBOUND_SCHEME_JWT, "%s: is not possible with a JSON Web Token", at)
	c.check(name == "" || HMACAlgorithm(in.GetScheme()) == "" || signsHeader(in, name),
		"%s: store_id_header: the signed_text must contain {header.%s}", at, name)
}

// signsHeader reports whether an HMAC covers a header. Otherwise a replayed request could name another store, of
// another business.
func signsHeader(in *pb.Inbound, name string) bool {
	text, err := signature.Parse(SignedText(in))
	return err != nil || slices.ContainsFunc(text, func(p signature.Part) bool {
		return p.Source == signature.Header && strings.EqualFold(p.Text, name)
	})
}

// token checks the description of a JSON Web Token.
func (c *validation) token(at string, token *pb.InboundToken, d *Description) {
	named := func(e *pb.Endpoint) bool { return e.GetName() == token.GetEndpoint() }
	c.check(slices.ContainsFunc(d.GetEndpoints(), named), "%s: endpoint %q: is not declared", at, token.GetEndpoint())
	parsed, err := url.Parse(token.GetPath())
	c.check(err == nil && strings.HasPrefix(token.GetPath(), "/") && parsed.Host == "" && parsed.RawQuery == "" &&
		parsed.Fragment == "", "%s: path %q: must begin with a slash, without a query", at, token.GetPath())
	c.check((token.GetIssuer() == "") != (token.GetIssuerSetting() == ""),
		"%s: issuer: is required, or issuer_setting instead", at)
	c.check((token.GetAudience() == "") != (token.GetAudienceSetting() == ""),
		"%s: audience: is required, or audience_setting instead", at)
}

// neededText returns what an HMAC must cover, and whether it does: the body, or the store whose menu is fetched.
func neededText(in *pb.Inbound, text signature.Template) (needed string, covered bool) {
	name := in.GetStoreQuery()
	switch {
	case in.GetPurpose() != pb.InboundPurpose_INBOUND_PURPOSE_MENU:
		return "{body}", text.Uses(signature.Body)
	case name == "":
		return "{path}", text.Uses(signature.Path)
	}
	return "{query." + name + "} or {query}", text.Uses(signature.Query) ||
		slices.Contains(text, signature.Part{Source: signature.Parameter, Text: name})
}

// signature checks what an HMAC covers. A timestamp or nonce that it does not cover would prove nothing.
func (c *validation) signature(at string, in *pb.Inbound) {
	text, err := signature.Parse(SignedText(in))
	if err != nil {
		c.check(false, "%s: signed_text: %v", at, err)
		return
	}
	needed, covered := neededText(in, text)
	c.check(covered, "%s: signed_text: must contain %s", at, needed)
	c.check(text.Uses(signature.Timestamp) == hasTimestamp(in),
		"%s: signed_text: must contain {timestamp} exactly if timestamp_header, timestamp_query or timestamp_part "+
			"is set", at)
	nonce := in.GetNonceHeader() != ""
	c.check(text.Uses(signature.Nonce) == nonce,
		"%s: signed_text: must contain {nonce} exactly if there is a nonce_header", at)
	c.check(!nonce || hasTimestamp(in), "%s: nonce_header: needs a timestamp", at)
	c.check(isNonceDelimited(text),
		"%s: signed_text: {nonce} needs a character that no nonce has before and after it, such as a dot", at)
	sources := 0
	for _, source := range []string{in.GetTimestampHeader(), in.GetTimestampQuery(), in.GetTimestampPart()} {
		if source != "" {
			sources++
		}
	}
	c.check(sources <= 1, "%s: timestamp_header, timestamp_query and timestamp_part: at most one is allowed", at)
	c.check(in.GetCredentialPart() == "" || in.GetHeader() != "", "%s: credential_part: needs a header", at)
	c.check(in.GetTimestampPart() == "" || in.GetCredentialPart() != "", "%s: timestamp_part: needs a credential_part",
		at)
	c.check(!strings.ContainsAny(in.GetCredentialPart()+in.GetTimestampPart(), ",= "),
		"%s: credential_part and timestamp_part: must be names of parts", at)
	_, known := pb.InboundTimestamp_name[int32(in.GetTimestampFormat())]
	c.check(known && (hasTimestamp(in) ||
		in.GetTimestampFormat() == pb.InboundTimestamp_INBOUND_TIMESTAMP_UNSPECIFIED),
		"%s: timestamp_format: must be a known one, of a timestamp", at)
	c.check(hasTimestamp(in) || in.GetToleranceSeconds() == 0, "%s: tolerance_seconds: needs a timestamp", at)
	c.check(!nonce || in.GetToleranceSeconds() <= maxNonceTolerance,
		"%s: tolerance_seconds: must be at most %d with a nonce", at, maxNonceTolerance)
}

// nonceCharacters are the characters that the hub accepts in a nonce.
const nonceCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// isNonceDelimited reports whether each nonce in a signed text has clear borders. Otherwise a replay could move
// characters between the nonce and another part under the same signature.
func isNonceDelimited(text signature.Template) bool {
	for i, part := range text {
		if part.Source != signature.Nonce {
			continue
		}
		if i > 0 && (text[i-1].Source != signature.Literal ||
			strings.LastIndexAny(text[i-1].Text, nonceCharacters) == len(text[i-1].Text)-1) {
			return false
		}
		if i < len(text)-1 && (text[i+1].Source != signature.Literal ||
			strings.IndexAny(text[i+1].Text, nonceCharacters) == 0) {
			return false
		}
	}
	return true
}

// DescribeInbound describes for people how a kind of request is authenticated.
func DescribeInbound(in *pb.Inbound) string {
	place := "header " + in.GetHeader()
	if in.GetQuery() != "" {
		place = "query parameter " + in.GetQuery()
	}
	what := "secret"
	switch scheme := in.GetScheme(); {
	case HMACAlgorithm(scheme) != "":
		what = fmt.Sprintf("HMAC-%s of %q", strings.ToUpper(string(HMACAlgorithm(scheme))), SignedText(in))
		if in.GetCredentialPart() != "" {
			place += ", part " + in.GetCredentialPart()
		}
		if in.GetNonceHeader() != "" {
			place += ", once for each " + in.GetNonceHeader()
		}
	case scheme == pb.InboundScheme_INBOUND_SCHEME_JWT:
		what = "JSON Web Token by the key set of endpoint " + in.GetToken().GetEndpoint()
	case scheme == pb.InboundScheme_INBOUND_SCHEME_BEARER:
		what = "Bearer secret"
	case scheme == pb.InboundScheme_INBOUND_SCHEME_BASIC:
		what = "Basic name:password"
	}
	return what + " in " + place
}
