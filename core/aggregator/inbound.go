package aggregator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// Read interprets an aggregator's request (relay.Reader). The kinds order and action stand for the plugin's own kinds
// with that purpose.
func (h *Host) Read(ctx context.Context, in relay.InboundRequest) (relay.Message, error) {
	plugin, subject, err := h.subject(ctx, in.Business, in.Platform)
	if err != nil {
		return relay.Message{}, err
	}
	about := h.inbound(plugin.ID(), in.Kind)
	subject.About = fmt.Sprintf("request %q of the aggregator", in.Kind)
	request := requestForPlugin(about, in)
	var message relay.Message
	switch about.GetPurpose() {
	case pb.InboundPurpose_INBOUND_PURPOSE_ORDER, pb.InboundPurpose_INBOUND_PURPOSE_MIXED:
		message, err = translate(ctx, plugin, subject, request)
	case pb.InboundPurpose_INBOUND_PURPOSE_ACTION:
		message, err = interpretCallback(ctx, plugin, subject, request)
	default:
		return relay.Message{}, core.Errorf(core.NotFound, "the plugin of platform %s has no callback of the kind %q",
			in.Platform, in.Kind)
	}
	return message, h.withSettingsError(ctx, plugin, subject, err)
}

func requestForPlugin(about *pb.Inbound, in relay.InboundRequest) *sdk.InboundRequest {
	return &sdk.InboundRequest{Kind: about.GetKind(), Query: in.Query, Headers: headersForPlugin(in.Headers),
		Body: in.Body, ReceivedAt: in.ReceivedAt.UnixMilli()}
}

// headersForPlugin replaces what is not UTF-8, such as Latin-1. HTTP allows it, but a message to a plugin does not.
func headersForPlugin(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		out[strings.ToValidUTF8(name, "\uFFFD")] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return out
}

// translate has a plugin say what a request means.
func translate(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject,
	request *sdk.InboundRequest) (message relay.Message, err error) {
	translation, err := plugin.Translate(ctx, subject, request)
	if err != nil {
		return relay.Message{}, err
	}
	if translation.GetFetch() != nil {
		message.Fetch, err = fetchOf(translation)
	} else {
		message, err = messageOf(ctx, plugin, subject, request, translation.Translation)
	}
	if message.Reply == nil {
		message.Reply = replyOf(translation.GetReply())
	}
	return message, err
}

// messageOf returns the meaning of a translated request. If that is the outcome of an action, the plugin interprets it.
func messageOf(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject,
	request *sdk.InboundRequest, translation *sdk.Translation) (message relay.Message, err error) {
	switch {
	case translation.GetCallback() != nil:
		message, err = interpretCallback(ctx, plugin, subject, request)
	case translation.GetCancellation() != nil:
		cancellation := translation.GetCancellation()
		message.Cancellation = &relay.Cancellation{PlatformOrderID: cancellation.GetPlatformOrderId(),
			Reason: cancellation.GetReason()}
	case translation.GetCourier() != nil:
		message.FollowUp = courierOf(subject.Platform, translation.GetCourier())
	case translation.GetOrderUpdate() != nil:
		message.FollowUp, err = updateOf(subject.Platform, translation.GetOrderUpdate())
	case translation.GetRelease() != nil:
		message.FollowUp = &order.FollowUp{Platform: subject.Platform,
			PlatformOrderID: translation.GetRelease().GetPlatformOrderId(), Release: &order.Release{}}
	case translation.GetOutcome() != nil:
		message.Report = reportOf(translation.GetOutcome())
	case translation.GetStoreReport() != nil || translation.GetMenuRequest() != nil:
		message.Store = aboutStore(translation, request.GetReceivedAt())
	case translation.GetOrder() != nil:
		message.Order, err = orderBody(subject.Platform, translation.GetOrder())
	default:
		message.Ignored = pluginhost.PublicReason(translation.GetIgnored())
	}
	return message, err
}

func interpretCallback(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject,
	request *sdk.InboundRequest) (relay.Message, error) {
	answer, err := plugin.InterpretCallback(ctx, subject, request)
	if err != nil {
		return relay.Message{IsCallback: true}, err
	}
	outcome, err := actionOutcome(subject.Platform, answer)
	return relay.Message{IsCallback: true, Outcome: &outcome, Reply: replyOf(answer.GetReply())}, err
}

func replyOf(r *sdk.InboundReply) *relay.Reply {
	if r == nil {
		return nil
	}
	return &relay.Reply{Status: int(r.GetStatus()), Headers: r.GetHeaders(), Body: r.GetBody(),
		OrderIDMark: r.GetOrderIdMark()}
}

// HasOrder reports whether a request contains an order, and returns the order's id (relay.Reader).
func (h *Host) HasOrder(in relay.InboundRequest) (orderID string, ok bool) {
	about := h.inbound(in.Plugin, in.Kind)
	orderID = order.OrderIDAt(about.GetOrderId(), in.Headers["content-type"], in.Body)
	if header := about.GetOrderIdHeader(); orderID == "" && header != "" {
		orderID = order.CleanID(in.Headers[strings.ToLower(header)])
	}
	switch about.GetPurpose() {
	case pb.InboundPurpose_INBOUND_PURPOSE_ORDER:
		ok = true
	case pb.InboundPurpose_INBOUND_PURPOSE_MIXED:
		ok = orderID != ""
	}
	return orderID, ok
}

// inbound returns a plugin's declaration of a kind of request, or nil if it handles none.
func (h *Host) inbound(id, kind string) *pb.Inbound {
	byName := map[string][]pb.InboundPurpose{
		"order":  {pb.InboundPurpose_INBOUND_PURPOSE_ORDER, pb.InboundPurpose_INBOUND_PURPOSE_MIXED},
		"action": {pb.InboundPurpose_INBOUND_PURPOSE_ACTION, pb.InboundPurpose_INBOUND_PURPOSE_MIXED}}
	list := h.description(id).GetInbound()
	at := slices.IndexFunc(list, func(i *pb.Inbound) bool { return i.GetKind() == kind })
	for _, purpose := range byName[kind] {
		if at < 0 {
			at = slices.IndexFunc(list, func(i *pb.Inbound) bool { return i.GetPurpose() == purpose })
		}
	}
	if at < 0 {
		return nil
	}
	return list[at]
}

// defaultTolerance is the greatest difference between a signed request's timestamp and the hub's clock.
const defaultTolerance = 300 * time.Second

// Verification returns how a plugin wants a kind of request to be authenticated (relay.Verifications).
func (h *Host) Verification(plugin, kind string) (relay.CallbackVerification, error) {
	if plugin != core.ServedByMerchant && h.description(plugin) == nil {
		return relay.CallbackVerification{},
			core.Errorf(core.Unavailable, "the callbacks of plugin %s are not known yet", plugin)
	}
	about := h.inbound(plugin, kind)
	if about == nil {
		return relay.CallbackVerification{},
			core.Errorf(core.NotFound, "plugin %s has no callback of the kind %q", plugin, kind)
	}
	proof := relay.CallbackVerification{Scheme: relay.SchemeToken, Header: strings.ToLower(about.GetHeader()),
		Query: about.GetQuery(), Prefix: about.GetPrefix(), Secret: about.GetSecret()}
	if about.GetShared() != nil {
		proof.StoreID = func(k relay.InboundCallback) string {
			return cmp.Or(sharedStore(about.GetShared(), k), menuStore(about, k.Query, k.Store))
		}
	}
	switch about.GetScheme() {
	case pb.InboundScheme_INBOUND_SCHEME_EQUALS:
	case pb.InboundScheme_INBOUND_SCHEME_BEARER:
		proof.Prefix = "Bearer "
	case pb.InboundScheme_INBOUND_SCHEME_BASIC:
		proof.Scheme, proof.Prefix = relay.SchemeBasic, "Basic "
	case pb.InboundScheme_INBOUND_SCHEME_JWT:
		proof.Scheme, proof.Prefix = relay.SchemeJWT, "Bearer "
		proof.Token = tokenRule(about.GetToken(), h.description(plugin))
	default:
		return withSignature(proof, about, plugin)
	}
	return proof, nil
}

// sharedStore returns the aggregator's id of the store in a request at the shared URL, or "".
func sharedStore(shared *pb.SharedInbound, k relay.InboundCallback) string {
	for _, path := range shared.GetStoreId() {
		if id := order.OrderIDAt(path, k.Headers["content-type"], k.Body); id != "" {
			return id
		}
	}
	return order.CleanID(k.Headers[strings.ToLower(shared.GetStoreIdHeader())])
}

func tokenRule(token *pb.InboundToken, about *sdk.Description) relay.TokenRule {
	rule := relay.TokenRule{Endpoint: token.GetEndpoint(), Path: token.GetPath(), Issuer: token.GetIssuer(),
		IssuerSetting: token.GetIssuerSetting(), Audience: token.GetAudience(),
		AudienceSetting: token.GetAudienceSetting()}
	for _, e := range about.GetEndpoints() {
		if e.GetName() == rule.Endpoint {
			rule.Hosts = e.GetHosts()
		}
	}
	return rule
}

// timestampFormats are the formats of timestamps; by default they are seconds.
var timestampFormats = map[pb.InboundTimestamp]relay.TimestampFormat{
	pb.InboundTimestamp_INBOUND_TIMESTAMP_UNSPECIFIED:  relay.Seconds,
	pb.InboundTimestamp_INBOUND_TIMESTAMP_SECONDS:      relay.Seconds,
	pb.InboundTimestamp_INBOUND_TIMESTAMP_MILLISECONDS: relay.Milliseconds,
	pb.InboundTimestamp_INBOUND_TIMESTAMP_RFC3339:      relay.RFC3339,
}

// withSignature completes the verification of a request with an HMAC. It returns Unavailable for what this hub does
// not know.
func withSignature(proof relay.CallbackVerification, about *pb.Inbound,
	plugin string) (relay.CallbackVerification, error) {
	template, err := signature.Parse(sdk.SignedText(about))
	format, known := timestampFormats[about.GetTimestampFormat()]
	algorithm := sdk.HMACAlgorithm(about.GetScheme())
	if err != nil || algorithm == "" || !known {
		return proof, core.Errorf(core.Unavailable, "plugin %s requires an unknown callback verification", plugin)
	}
	proof.Scheme = relay.SchemeHMAC
	proof.Signature = signature.Scheme{Template: template, Algorithm: algorithm, Encoding: signature.Hex}
	if about.GetEncoding() == pb.InboundEncoding_INBOUND_ENCODING_BASE64 {
		proof.Signature.Encoding = signature.Base64
	}
	proof.Timestamp = relay.Timestamp{Header: strings.ToLower(about.GetTimestampHeader()),
		Query: about.GetTimestampQuery(), Format: format}
	if proof.Part = about.GetCredentialPart(); about.GetTimestampPart() != "" {
		proof.Timestamp.Header, proof.Timestamp.Part = proof.Header, about.GetTimestampPart()
	}
	proof.Nonce = strings.ToLower(about.GetNonceHeader())
	proof.Tolerance = time.Duration(about.GetToleranceSeconds()) * time.Second
	if proof.Tolerance == 0 {
		proof.Tolerance = defaultTolerance
	}
	return proof, nil
}

// orderBody returns a translated order in the form of the channel API. It leaves out what the aggregator did not
// send.
func orderBody(platform string, o *sdk.NewOrder) ([]byte, error) {
	text, err := sdk.ToJSON(o)
	if err != nil {
		return nil, err
	}
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil {
		return nil, fmt.Errorf("checking the translated order: %w", err)
	}
	plainNumbers(members)
	members["platform"] = platform
	return json.Marshal(members)
}

// wholeNumbers are the fields of an order that are 64-bit integers.
var wholeNumbers = []string{"quantity", "delivery_datetime", "prepare_for"}

// plainNumbers converts an order's numbers from strings. The JSON of protocol buffers has 64-bit integers as strings,
// and the protocol has decimals as strings.
func plainNumbers(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			plainNumbers(element)
		}
	case map[string]any:
		for name, element := range value {
			if text, ok := element.(string); ok && (sdk.IsDecimal(name) || slices.Contains(wholeNumbers, name)) {
				value[name] = json.Number(text)
			}
			plainNumbers(element)
		}
	}
}
