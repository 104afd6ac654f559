package sdk

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	pb "github.com/servery-hub/servery/plugins/proto"
)

var (
	idPattern      = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	namePattern    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	kindPattern    = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	versionPattern = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
		`(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	hostPattern = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
)

// IsID reports whether a text is a valid plugin id.
func IsID(id string) bool { return idPattern.MatchString(id) && len(id) <= 64 }

// CheckDescription returns an error that lists everything wrong with a description.
func CheckDescription(d *Description) error {
	c := &validation{}
	c.check(IsID(d.GetId()), "id %q: must be lower-case letters, digits and hyphens, at most 64", d.GetId())
	c.check(versionPattern.MatchString(d.GetVersion()), "version %q: must be a semantic version, such as 1.0.0",
		d.GetVersion())
	c.check(d.GetProtocol() == Protocol, "protocol %d: must be %d", d.GetProtocol(), Protocol)
	c.check(d.GetDisplayName() != "", "display_name: is required")
	c.capabilities(d.GetCapabilities())
	for i, group := range d.GetVocabulary() {
		c.vocabulary(fmt.Sprintf("vocabulary[%d] (group %q)", i, group.GetGroup()), group)
	}
	for i, action := range d.GetActions() {
		c.check(namePattern.MatchString(action.GetName()),
			"actions[%d]: name %q: must be lower-case letters, digits and underscores", i, action.GetName())
	}
	c.check(len(d.GetActions()) == 0 ||
		slices.Contains(d.GetCapabilities(), CapabilityActionPlan), "actions: need the capability %s",
		CapabilityActionPlan)
	secrets := c.secrets(d.GetSecrets())
	c.endpoints(d.GetEndpoints())
	for i, inbound := range d.GetInbound() {
		c.inbound(fmt.Sprintf("inbound[%d] (kind %q)", i, inbound.GetKind()), inbound, secrets, d.GetCapabilities())
	}
	return c.err()
}

// validation collects errors.
type validation struct{ list []error }

func (c *validation) check(ok bool, format string, args ...any) {
	if !ok {
		c.list = append(c.list, fmt.Errorf(format, args...))
	}
}

func (c *validation) err() error { return errors.Join(c.list...) }

func (c *validation) capabilities(list []string) {
	for _, name := range list {
		c.check(knownCapability(name), "capabilities: %q is not known to protocol %d", name, Protocol)
	}
	c.check(slices.IsSorted(list) &&
		len(slices.Compact(slices.Clone(list))) == len(list), "capabilities: must be sorted, each once")
}

func (c *validation) vocabulary(at string, group *pb.VocabularyGroup) {
	c.check(group.GetGroup() != "" && len(group.GetKeys()) > 0 &&
		(group.GetOnItem() || group.GetOnOption()), "%s: needs a name, keys and a target", at)
	for _, key := range group.GetKeys() {
		oneOf := key.GetRule() == pb.ValueRule_VALUE_RULE_ONE_OF
		complete := key.GetName() != "" && key.GetRule() != pb.ValueRule_VALUE_RULE_UNSPECIFIED &&
			oneOf == (len(key.GetAllowed()) > 0)
		c.check(complete, "%s: key %q: needs a name and a rule, and allowed values exactly for one of them", at,
			key.GetName())
	}
}

func (c *validation) secrets(list []*pb.Secret) []string {
	var names []string
	for i, secret := range list {
		c.check(namePattern.MatchString(secret.GetName()) &&
			!slices.Contains(names, secret.GetName()),
			"secrets[%d]: name %q: must be lower-case letters, digits and underscores, and unique", i, secret.GetName())
		names = append(names, secret.GetName())
	}
	return names
}

func (c *validation) endpoints(list []*pb.Endpoint) {
	var names []string
	for i, endpoint := range list {
		at := fmt.Sprintf("endpoints[%d] (name %q)", i, endpoint.GetName())
		c.check(namePattern.MatchString(endpoint.GetName()) &&
			!slices.Contains(names, endpoint.GetName()),
			"%s: the name must be lower-case letters, digits and underscores, and unique", at)
		c.check(len(endpoint.GetHosts()) > 0, "%s: hosts: at least one is required", at)
		for _, host := range endpoint.GetHosts() {
			c.check(hostPattern.MatchString(host), "%s: hosts: %q must be a host name in lower case, or *. and one", at,
				host)
		}
		names = append(names, endpoint.GetName())
	}
}

func (c *validation) inbound(at string, in *pb.Inbound, secrets, capabilities []string) {
	needs := map[pb.InboundPurpose]string{pb.InboundPurpose_INBOUND_PURPOSE_ORDER: CapabilityOrderTranslate,
		pb.InboundPurpose_INBOUND_PURPOSE_ACTION: CapabilityActionCallback}[in.GetPurpose()]
	c.check(kindPattern.MatchString(in.GetKind()),
		"%s: the kind must be lower-case letters, digits, hyphens and underscores", at)
	c.check(needs != "", "%s: purpose: is required", at)
	c.check(needs == "" || slices.Contains(capabilities, needs), "%s: needs the capability %s", at, needs)
	c.check(in.GetScheme() != pb.InboundScheme_INBOUND_SCHEME_UNSPECIFIED &&
		in.GetHeader() != "", "%s: scheme and header: are required", at)
	c.check(slices.Contains(secrets, in.GetSecret()), "%s: secret %q: is not declared", at, in.GetSecret())
	hmac := in.GetScheme() == pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256
	c.check(hmac || in.GetEncoding() == pb.InboundEncoding_INBOUND_ENCODING_UNSPECIFIED &&
		in.GetTimestampHeader() == "",
		"%s: encoding and timestamp_header: are of an HMAC", at)
	c.check(in.GetTimestampHeader() != "" ||
		in.GetToleranceSeconds() == 0, "%s: tolerance_seconds: needs a timestamp_header", at)
	c.check(hmac || in.GetScheme() == pb.InboundScheme_INBOUND_SCHEME_EQUALS ||
		in.GetPrefix() == "", "%s: prefix: is given by the scheme", at)
}
