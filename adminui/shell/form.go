package shell

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web/body"
)

// formLimit returns the limits of a form.
func formLimit(class limit.Class) body.Limit {
	return body.Limit{Bytes: 64 << 10, Class: class, Cost: body.Cost{Byte: 64}}
}

const localForm = "form"

// publicForm reads the form of a public page before the handler runs.
func (s *Shell) publicForm(handle fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if err := s.withForm(c, limit.Anonymous, func() error { return handle(c) }); err != nil {
			return s.fail(c, nil, err)
		}
		return nil
	}
}

// withForm reads the form of a request, and holds its memory until then returns.
func (s *Shell) withForm(c *fiber.Ctx, class limit.Class, then func() error) error {
	share := s.Memory.ReservationOf(class, body.ClientSender(c.Context(), s.Proxies))
	defer share.Release()
	fields, err := body.Form(c.UserContext(), c.Context(), formLimit(class), &share)
	if err != nil {
		return err
	}
	c.Locals(localForm, fields)
	return then()
}

// Fields returns the values of a form field.
func Fields(c *fiber.Ctx, name string) []string {
	fields, _ := c.Locals(localForm).(url.Values)
	return fields[name]
}

// Field returns the first value of a form field, or that of the query parameter.
func Field(c *fiber.Ctx, name string) string {
	if values := Fields(c, name); len(values) > 0 {
		return values[0]
	}
	return strings.Clone(c.Query(name))
}
