// Package compare shows the differences between two bodies that the user selects.
package compare

import (
	"cmp"
	"context"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
)

// Body is a body that can be compared.
type Body struct {
	Key   string // in the URL, unique among the bodies of a page
	Label string
	Read  func(ctx context.Context) ([]byte, error)
}

// Static returns a body that is already read.
func Static(key, label string, body []byte) Body {
	return Body{Key: key, Label: label, Read: func(context.Context) ([]byte, error) { return body, nil }}
}

// Choice is the bodies of a page, and which two it compares unless the user selects others.
type Choice struct {
	Bodies        []Body
	Before, After string      // keys
	Missing       string      // why there is no default body before; "" if there is one
	Kept          []ui.Filter // hidden fields of the URL of the page
}

// Show shows the selection and the differences. The query names the bodies as before and after.
func (s Choice) Show(c *fiber.Ctx, v *shell.PageContext, head shell.Head) error {
	before, after := cmp.Or(v.Query.Get("before"), s.Before), cmp.Or(v.Query.Get("after"), s.After)
	d := ui.Diff{Problem: cmp.Or(s.Missing, text.DiffChoose)}
	if before != "" && after != "" {
		var err error
		if d, err = s.compare(c.UserContext(), before, after); err != nil {
			return err
		}
	}
	filters := append(slices.Clip(s.Kept),
		ui.Filter{Name: "before", Label: text.DiffWas, Value: before, Options: s.options(before)},
		ui.Filter{Name: "after", Label: text.DiffIs, Value: after, Options: s.options(after)})
	return v.Show(c, head, comparison(filters, d))
}

func (s Choice) compare(ctx context.Context, before, after string) (d ui.Diff, err error) {
	var bodies [2][]byte
	for i, key := range []string{before, after} {
		body, known := s.find(key)
		if !known {
			return d, core.Errorf(core.NotFound, text.NotFound)
		}
		switch bodies[i], err = body.Read(ctx); {
		case core.CodeOf(err) == core.Conflict:
			return ui.Diff{Problem: core.PublicMessage(err)}, nil
		case core.CodeOf(err) == core.NotFound:
			return ui.Diff{Problem: text.BodyGone}, nil
		case err != nil:
			return d, err
		}
		d.Before, d.After = d.After, body.Label
	}
	return ui.Compare(d, bodies[0], bodies[1]), nil
}

func (s Choice) find(key string) (Body, bool) {
	i := slices.IndexFunc(s.Bodies, func(b Body) bool { return b.Key == key })
	if i < 0 {
		return Body{}, false
	}
	return s.Bodies[i], true
}

// options returns the bodies as options of a select. Without a selected one it begins with an empty option.
func (s Choice) options(selected string) []ui.Option {
	options := make([]ui.Option, 0, len(s.Bodies)+1)
	if selected == "" {
		options = append(options, ui.Option{Label: text.DiffSelect})
	}
	for _, body := range s.Bodies {
		options = append(options, ui.Option{Value: body.Key, Label: body.Label})
	}
	return options
}

// Source returns the bodies of a page, and a link to the page.
type Source func(c *fiber.Ctx, v *shell.PageContext) (ui.Link, Choice, error)

// Diff returns the handler that compares two bodies of a page.
func Diff(read Source) shell.Handler {
	return func(c *fiber.Ctx, v *shell.PageContext) error {
		page, choice, err := read(c, v)
		if err != nil {
			return err
		}
		return choice.Show(c, v, shell.Head{Title: text.DiffTitle, Parent: page})
	}
}

// Download returns the handler that sends the body of a page with the key of the URL.
func Download(read Source) shell.Handler {
	return func(c *fiber.Ctx, v *shell.PageContext) error {
		_, choice, err := read(c, v)
		if err != nil {
			return err
		}
		body, known := choice.find(c.Params("key"))
		if !known {
			return core.Errorf(core.NotFound, text.NotFound)
		}
		raw, err := body.Read(c.UserContext())
		if err != nil {
			return err
		}
		return ui.File(c, body.Key+".txt", raw)
	}
}
