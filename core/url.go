package core

import (
	"net/url"
	"strings"
)

// MaxURLLength bounds every address that a caller may give, in bytes.
const MaxURLLength = 2048

// CheckURL tells what is wrong with an address that the hub shall post to, as
// the end of a sentence that begins with the field's name; "" when nothing is.
// Whether the address may be reached is the delivery guard's to say.
func CheckURL(s string) string {
	if len(s) > MaxURLLength {
		return "must be at most 2048 bytes long"
	}
	if strings.TrimSpace(s) != s {
		return "must not begin or end with a blank"
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return "must be a full address such as https://pos.example.com/hook"
	case !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http"):
		return "must begin with https:// or http://"
	case u.User != nil:
		return "must not carry a user name or password; use headers"
	case u.Fragment != "":
		return "must not carry a fragment (#…)"
	}
	return ""
}
