package menu

import (
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/servery-hub/servery/core"
)

// bounds are what the tag check of a submitted field declares. "1..1000" is the length of a text or the range of a
// number, and "0.." has no other upper bound than the type. A "price" is an amount that is rounded, and a "link" a URL.
type bounds struct {
	rule        string // range, price, link, or "" for a field that is not checked by its tag
	least, most int64
}

func boundsOf(tag string) bounds {
	from, to, ranged := strings.Cut(tag, "..")
	if !ranged {
		return bounds{rule: tag}
	}
	b := bounds{rule: "range", most: math.MaxInt32}
	var err error
	if b.least, err = strconv.ParseInt(from, 10, 64); err == nil && to != "" {
		b.most, err = strconv.ParseInt(to, 10, 64)
	}
	if err != nil {
		panic("menu: wrong bounds: " + tag)
	}
	return b
}

// check checks the fields of a submitted object that have bounds.
func (l fieldList[T]) check(c *checker, object *T) {
	begin := unsafe.Pointer(object)
	for i := range l {
		f := &l[i]
		switch {
		case f.bounds.rule == "":
		case f.kind == optionalTextKind && f.bounds.rule == "link":
			c.link(f.name, *at[*string](f, begin), false)
		case f.kind == optionalTextKind:
			c.text(f.name, *at[*string](f, begin), int(f.bounds.least), int(f.bounds.most))
		case f.kind == optionalNumberKind:
			c.wholeNumber(f.name, *at[*int64](f, begin), f.bounds.least, f.bounds.most)
		case f.kind == optionalAmountKind:
			amount := *at[*core.Amount](f, begin)
			c.notNegative(f.name, amount)
			if f.bounds.rule == "price" {
				c.roundNoise(amount)
			}
		default:
			panic("menu: " + f.name + " has a tag for another type")
		}
	}
}
