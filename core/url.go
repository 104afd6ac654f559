package core

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxURLLength bounds every URL that a caller may send, in bytes.
const MaxURLLength = 2048

// CheckURL returns what is wrong with a URL that the hub is to post to, or "" if it is valid. The text continues a
// sentence that begins with the field's name. The delivery guard decides whether the URL may be reached.
func CheckURL(s string) string {
	if wrong := CheckLink(s); wrong != "" {
		return wrong
	}
	u, _ := url.Parse(s) // CheckLink has parsed it
	port, err := strconv.Atoi(u.Port())
	switch {
	case u.User != nil:
		return "must not contain a user name or password: use headers"
	case u.Fragment != "":
		return "must not contain a fragment (#…)"
	case u.Port() != "" && (err != nil || port < 1 || port > 65535):
		return "must have a port from 1 to 65535"
	case !isHost(u.Hostname()):
		return "must have a host name with 1 to 63 characters between its dots"
	case strings.Contains(u.RawQuery, " "): // a path is escaped
		return "must not have a space after the question mark: write %20"
	}
	return ""
}

// isHost reports whether a host is an IP address or a valid host name (RFC 1035, 2.3.4).
func isHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if n := utf8.RuneCountInString(label); n < 1 || n > 63 {
			return false
		}
	}
	return utf8.RuneCountInString(name) <= 254
}

// CheckLink is CheckURL for a URL that the hub passes on and does not open itself. It may have a fragment, such as the
// page of a store on a platform, and a user name.
func CheckLink(s string) string {
	if len(s) > MaxURLLength {
		return "must be at most 2048 bytes long"
	}
	if strings.TrimSpace(s) != s {
		return "must not begin or end with a space"
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return "must be a full URL such as https://pos.example.com/hook"
	case !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http"):
		return "must begin with https:// or http://"
	}
	return ""
}
