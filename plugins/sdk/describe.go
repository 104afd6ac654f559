package sdk

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

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
	c.check(!slices.Contains(d.GetCapabilities(), CapabilityOrderPreparing) ||
		slices.Contains(d.GetCapabilities(), CapabilityOrderStatus), "capabilities: %s needs %s",
		CapabilityOrderPreparing, CapabilityOrderStatus)
	for i, group := range d.GetVocabulary() {
		c.vocabulary(fmt.Sprintf("vocabulary[%d] (group %q)", i, group.GetGroup()), group)
	}
	c.schema(settingsField, d.GetSettingsSchema())
	c.actions(d.GetActions(), d.GetCapabilities())
	c.secrets(d.GetSecrets())
	c.endpoints(d.GetEndpoints())
	c.transports(d)
	c.credentials(d)
	for i, inbound := range d.GetInbound() {
		at := fmt.Sprintf("inbound[%d] (kind %q)", i, inbound.GetKind())
		same := func(other *pb.Inbound) bool { return other.GetKind() == inbound.GetKind() }
		c.check(!slices.ContainsFunc(d.GetInbound()[:i], same), "%s: the kind must be unique", at)
		c.inbound(at, inbound, d)
	}
	c.polls(d)
	return c.err()
}

// Bounds of the errors of a validation, and of their texts in bytes. A result of some megabytes can have millions, or
// one name that all of them repeat.
const (
	maxErrors    = 100
	maxErrorPart = 256
	maxErrorText = 2 << 10
)

// validation collects errors.
type validation struct {
	list []error
	more int // errors that are not in the list
}

func (c *validation) check(ok bool, format string, args ...any) {
	switch {
	case ok:
	case len(c.list) < maxErrors:
		for i, arg := range args {
			if text, isText := arg.(string); isText {
				args[i] = Truncate(text, maxErrorPart)
			}
		}
		c.list = append(c.list, errors.New(Truncate(fmt.Sprintf(format, args...), maxErrorText)))
	default:
		c.more++
	}
}

// Truncate shortens a text to a number of bytes, between characters.
func Truncate(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func (c *validation) err() error {
	if c.more == 0 {
		return errors.Join(c.list...)
	}
	return errors.Join(append(slices.Clone(c.list), fmt.Errorf("and %d more errors", c.more))...)
}

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

// schema checks that a JSON Schema is valid and accepts its examples.
func (c *validation) schema(field string, schema []byte) {
	_, err := newSchemaChecker(field, schema)
	c.check(err == nil, "%v", err)
}

func (c *validation) actions(list []*pb.ActionOffer, capabilities []string) {
	names := map[string]bool{}
	for i, action := range list {
		c.check(namePattern.MatchString(action.GetName()),
			"actions[%d]: name %q: must be lower-case letters, digits and underscores", i, action.GetName())
		c.check(!names[action.GetName()], "actions[%d]: name %q: must be unique", i, action.GetName())
		names[action.GetName()] = true
		c.check(!action.GetByCallback() || slices.Contains(capabilities, CapabilityActionCallback),
			"actions[%d] (name %q): by_callback needs the capability %s", i, action.GetName(), CapabilityActionCallback)
		at := fmt.Sprintf("actions[%d] (name %q): %s", i, action.GetName(), parametersField)
		c.check(len(action.GetParametersSchema()) <= MaxParametersSchema, "%s: must have at most %d bytes", at,
			MaxParametersSchema)
		c.schema(at, action.GetParametersSchema())
	}
	c.check(len(list) == 0 || slices.Contains(capabilities, CapabilityActionPlan), "actions: need the capability %s",
		CapabilityActionPlan)
}

func (c *validation) secrets(list []*pb.Secret) {
	var names []string
	for i, secret := range list {
		c.check(namePattern.MatchString(secret.GetName()) &&
			!slices.Contains(names, secret.GetName()),
			"secrets[%d]: name %q: must be lower-case letters, digits and underscores, and unique", i, secret.GetName())
		names = append(names, secret.GetName())
	}
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
