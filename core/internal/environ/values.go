package environ

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// URL is an HTTP URL, or "".
type URL string

// UnmarshalText checks the URL.
func (u *URL) UnmarshalText(text []byte) error {
	if *u = URL(text); len(text) > 0 && !IsURL(string(text)) {
		return errors.New("must be a URL such as https://example.com") // the value may contain a password
	}
	return nil
}

// IsURL reports whether a text is an HTTP URL.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// BaseURL is the URL of a hub, or "". Its pages use absolute paths, so the URL has no path.
type BaseURL string

// UnmarshalText checks the URL and removes a slash at its end.
func (u *BaseURL) UnmarshalText(text []byte) error {
	*u = BaseURL(strings.TrimSuffix(string(text), "/"))
	parsed, err := url.Parse(string(*u))
	if len(text) == 0 ||
		err == nil && IsURL(string(*u)) && strings.EqualFold(string(*u), parsed.Scheme+"://"+parsed.Host) {
		return nil
	}
	return errors.New("must be a URL such as https://hub.example.com, without a path")
}

// Network is a range of IP addresses.
type Network struct{ netip.Prefix }

// UnmarshalText reads CIDR notation, between blanks.
func (n *Network) UnmarshalText(text []byte) (err error) {
	if n.Prefix, err = netip.ParsePrefix(strings.TrimSpace(string(text))); err != nil {
		return fmt.Errorf("must be CIDR ranges such as 10.1.0.0/16, not %.80q", text)
	}
	n.Prefix = n.Masked()
	return nil
}

// Prefixes returns the ranges.
func Prefixes(networks []Network) (ranges []netip.Prefix) {
	for _, n := range networks {
		ranges = append(ranges, n.Prefix)
	}
	return ranges
}
