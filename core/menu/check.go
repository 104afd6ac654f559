package menu

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/servery-hub/servery/core"
)

// Bounds of texts and lists, in characters and elements.
const (
	maxRefID       = 255
	maxName        = 255 // platform names and codes
	maxTitle       = 1000
	maxDescription = 20000
	maxElements    = 20000 // references in one list
	maxParts       = 500   // translations, images, platform prices
)

// step is one element of a list inside an object, such as images[2].
type step struct {
	list  string
	index int
}

// checker checks one object and records its violations. It keeps the path inside the object as steps and formats it
// only if there is a violation.
type checker struct {
	at    core.Object
	v     *core.Violations
	rules *Rules
	steps []step

	warnings []Warning // about the current object
	rounded  int       // the prices that were rounded, of all objects
	example  string    // of one
}

func (c *checker) fail(field, code, rule string) { c.v.Add(c.at, c.path(field), code, rule) }

// path returns the path of a field within the object.
func (c *checker) path(field string) string {
	var path strings.Builder
	for _, s := range c.steps {
		path.WriteString(s.list + "[" + strconv.Itoa(s.index) + "].")
	}
	return path.String() + field
}

// enter moves into an element of a list, and leave moves out again.
func (c *checker) enter(list string, index int) { c.steps = append(c.steps, step{list, index}) }
func (c *checker) leave()                       { c.steps = c.steps[:len(c.steps)-1] }

// refIDField checks the identifier of an object.
func (c *checker) refIDField(refID *string) {
	if refID == nil {
		c.fail("ref_id", "required", "is required")
		return
	}
	c.text("ref_id", refID, 1, maxRefID)
}

// text checks the length of a text. With shortest 1 it also rejects a blank one.
func (c *checker) text(field string, s *string, shortest, longest int) {
	if code, rule := core.CheckText(s, shortest, longest); rule != "" {
		c.fail(field, code, rule)
	}
}

// wholeNumber checks the range of a whole number.
func (c *checker) wholeNumber(field string, n *int64, least, most int64) {
	if n != nil && (*n < least || *n > most) {
		c.fail(field, "range", fmt.Sprintf("must be a whole number from %d to %d, not %d", least, most, *n))
	}
}

func (c *checker) notNegative(field string, a *core.Amount) {
	if a != nil && a.IsNegative() {
		c.fail(field, "range", "must not be negative, but is "+a.String())
	}
}

// required checks that a field was sent.
func (c *checker) required(field string, sent bool) {
	if !sent {
		c.fail(field, "required", "is required")
	}
}

// atMost checks the length of a list before any loop over it.
func (c *checker) atMost(field string, length, most int) bool {
	if length > most {
		c.fail(field, "length", fmt.Sprintf("must have at most %d elements, not %d", most, length))
	}
	return length <= most
}

// refs checks a list of references or names. It accepts blank ones.
func (c *checker) refs(field string, list []string) {
	if !c.atMost(field, len(list), maxElements) {
		return
	}
	for i := range list {
		if s := &list[i]; len(*s) > maxRefID {
			c.text(fmt.Sprintf("%s[%d]", field, i), s, 0, maxRefID)
		}
	}
}

// oneOf checks that each word in a list is known and occurs once.
func (c *checker) oneOf(field string, list, known []string) {
	if !c.atMost(field, len(list), maxParts) {
		return
	}
	for i, word := range list {
		switch {
		case !slices.Contains(known, word):
			c.fail(fmt.Sprintf("%s[%d]", field, i), "value", core.OneOf(known, word))
		case slices.Contains(list[:i], word):
			c.fail(fmt.Sprintf("%s[%d]", field, i), "duplicate", "is given twice")
		}
	}
}

// link checks the URL of an image. An empty one means that there is no image.
func (c *checker) link(field string, s *string, required bool) {
	switch {
	case s == nil || *s == "":
		if required {
			c.fail(field, "required", "is required")
		}
	case len(*s) > core.MaxURLLength:
		c.fail(field, "length", fmt.Sprintf("must be at most %d bytes long, not %d", core.MaxURLLength, len(*s)))
	default:
		u, err := url.Parse(*s)
		if escaped := escapePercent(*s); err != nil && escaped != *s {
			c.warn(field, "has an unescaped %, stored as %25")
			*s = escaped
			u, err = url.Parse(escaped)
		}
		if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
			c.fail(field, "url", "must be a full URL that begins with https:// or http://")
		}
	}
}
