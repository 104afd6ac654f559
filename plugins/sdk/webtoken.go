package sdk

import (
	"cmp"
	"encoding/json"
	"slices"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Bounds of the lifetime of a JSON Web Token, in seconds.
const (
	minTokenLifetime     = 30
	maxTokenLifetime     = 3600
	defaultTokenLifetime = 300
	maxTokenMembers      = 20 // claims, and further members of the header
)

// WebToken declares a JSON Web Token that the hub signs by HS256 for each request. The key is the name of a declared
// secret.
func WebToken(name, key string, claims ...*pb.JsonWebTokenClaim) *Credential {
	return &Credential{Name: name, Kind: &pb.Credential_Jwt{Jwt: &JsonWebToken{Secret: key, Claims: claims}}}
}

// Claim returns a claim with a fixed value.
func Claim(name, value string) *pb.JsonWebTokenClaim {
	return &pb.JsonWebTokenClaim{Name: name, Value: value}
}

// SecretClaim returns a claim whose value is a declared secret.
func SecretClaim(name, secret string) *pb.JsonWebTokenClaim {
	return &pb.JsonWebTokenClaim{Name: name, Secret: secret}
}

// WebTokenHeader returns the header of a JSON Web Token.
func WebTokenHeader(t *JsonWebToken) string { return cmp.Or(t.GetHeader(), defaultTokenHeader) }

// WebTokenTemplate returns the template of that header.
func WebTokenTemplate(t *JsonWebToken) string { return cmp.Or(t.GetTemplate(), defaultTokenTemplate) }

// WebTokenLifetime returns the lifetime in seconds.
func WebTokenLifetime(t *JsonWebToken) int {
	return int(cmp.Or(t.GetLifetimeSeconds(), defaultTokenLifetime))
}

func (c *validation) webToken(at string, d *Description, t *JsonWebToken) {
	c.secretName(at+": secret", d, t.GetSecret(), true)
	_, known := pb.JsonWebTokenKey_name[int32(t.GetKeyEncoding())]
	c.check(known, "%s: key_encoding %d: is not known", at, t.GetKeyEncoding())
	c.check(WebTokenLifetime(t) >= minTokenLifetime && WebTokenLifetime(t) <= maxTokenLifetime,
		"%s: lifetime_seconds: must be from %d to %d", at, minTokenLifetime, maxTokenLifetime)
	c.template(at+": template", WebTokenTemplate(t), TokenPlaceholder)
	c.check(len(t.GetClaims()) <= maxTokenMembers && len(t.GetParameters()) <= maxTokenMembers,
		"%s: has more than %d claims or parameters", at, maxTokenMembers)
	var names []string
	for _, claim := range t.GetClaims() {
		name := claim.GetName()
		c.check(name != "" && !slices.Contains(names, name) && !slices.Contains([]string{"iat", "exp", "nbf"}, name),
			"%s: claim %q: must be unique, and not a time that the hub sets", at, name)
		names = append(names, name)
		c.secretName(at+": claim "+name, d, claim.GetSecret(), false)
		c.claimSource(at, d, claim)
	}
	for name := range t.GetParameters() {
		c.check(name != "" && !slices.Contains([]string{"alg", "typ", "crit"}, name),
			"%s: parameter %q: is set by the hub", at, name)
	}
}

// claimSource checks where the value of a claim comes from.
func (c *validation) claimSource(at string, d *Description, claim *pb.JsonWebTokenClaim) {
	sources := 0
	for _, source := range []string{claim.GetValue(), claim.GetSecret(), claim.GetSetting()} {
		if source != "" {
			sources++
		}
	}
	c.check(sources == 1, "%s: claim %q: needs one of value, secret and setting", at, claim.GetName())
	if claim.GetSetting() == "" {
		return
	}
	var schema struct {
		Properties map[string]struct{ Type any } `json:"properties"`
	}
	_ = json.Unmarshal(d.GetSettingsSchema(), &schema) // another rule checks the schema
	c.check(schema.Properties[claim.GetSetting()].Type == "string",
		"%s: claim %q: the setting %q must be a string of the settings_schema", at, claim.GetName(), claim.GetSetting())
}
