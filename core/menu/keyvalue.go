package menu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
)

// KeyValueGroup is a named group of values on an item or option.
type KeyValueGroup struct {
	Group string     `json:"group"`
	Data  []KeyValue `json:"key_value_data"`
}

// KeyValue is one value of a group.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// maxDigits bounds the digits of a whole number in a key-value group.
const maxDigits = 15

func (c *checker) keyValueGroups(list []KeyValueGroup, on Target) {
	if !c.atMost("key_value_groups", len(list), maxParts) {
		return
	}
	for i := range list {
		group := &list[i]
		c.enter("key_value_groups", i)
		words := c.rules.Vocabulary.groups[group.Group]
		same := func(other KeyValueGroup) bool { return other.Group == group.Group }
		switch {
		case words == nil || words.on&on == 0:
			c.fail("group", "value", core.OneOf(c.rules.Vocabulary.names(on), group.Group))
		case slices.ContainsFunc(list[:i], same):
			c.fail("group", "duplicate", "is given twice")
		default:
			c.keyValues(group.Data, words)
		}
		c.leave()
	}
}

func (c *checker) keyValues(data []KeyValue, words *keyGroup) {
	if !c.atMost("key_value_data", len(data), maxParts) {
		return
	}
	for i, pair := range data {
		c.enter("key_value_data", i)
		key, known := words.keys[pair.Key]
		same := func(other KeyValue) bool { return other.Key == pair.Key }
		switch {
		case !known:
			c.fail("key", "value", core.OneOf(slices.Sorted(maps.Keys(words.keys)), pair.Key))
		case slices.ContainsFunc(data[:i], same):
			c.fail("key", "duplicate", "is given twice")
		case key.Rule == OneOf && !slices.Contains(key.Allowed, pair.Value):
			c.fail("value", "value", "of "+pair.Key+" "+core.OneOf(key.Allowed, pair.Value))
		case key.Rule == WholeNumber && !isPositiveInt(pair.Value):
			c.fail("value", "value",
				"of "+pair.Key+
					fmt.Sprintf(" must be a positive whole number of at most %d digits, without leading zeros",
						maxDigits))
		case key.Rule == AnyText:
			c.text("value", &data[i].Value, 1, maxTitle)
		}
		c.leave()
	}
	c.ranges(data, words)
}

// ranges checks that of each pair of keys *_min and *_max the first is not above the second.
func (c *checker) ranges(data []KeyValue, words *keyGroup) {
	for _, low := range data {
		name, isMin := strings.CutSuffix(low.Key, "_min")
		if !isMin {
			continue
		}
		at := slices.IndexFunc(data, func(pair KeyValue) bool { return pair.Key == name+"_max" })
		if at < 0 || words.keys[low.Key].Rule != WholeNumber {
			continue
		}
		if high := data[at]; isPositiveInt(low.Value) && isPositiveInt(high.Value) && exceeds(low.Value, high.Value) {
			c.fail("key_value_data", "range", "must not have a "+low.Key+" above its "+high.Key)
		}
	}
}

// isPositiveInt reports whether a value is a number above zero, without sign, decimals or leading zeros.
func isPositiveInt(s string) bool {
	if s == "" || len(s) > maxDigits || s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// exceeds compares two numbers that isPositiveInt accepts.
func exceeds(a, b string) bool {
	return len(a) > len(b) || len(a) == len(b) && a > b
}
