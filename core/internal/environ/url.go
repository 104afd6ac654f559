package environ

import "net/url"

// IsURL reports whether a text is an HTTP URL.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && (u.Scheme == "https" || u.Scheme == "http")
}
