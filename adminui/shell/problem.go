package shell

import (
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/problem"
)

// problems are the messages of access errors.
var problems = map[*core.Error]string{
	access.ErrSignIn: text.ProblemSignIn, access.ErrTooManyAttempts: text.ProblemTooOften,
	access.ErrBusy: text.ProblemBusy,
	access.ErrLink: text.ProblemLink, access.ErrNoAccount: text.ProblemUnknown,
	access.ErrCurrentPassword: text.ProblemPresent,
	access.ErrPassword:        format(text.ProblemPassword, access.MinPassword, access.MaxPassword),
	access.ErrEmail:           text.ProblemEmail,
	access.ErrRole:            text.ProblemRole, access.ErrOwnAccess: text.ProblemOwnAccess,
	access.ErrUserChanged: text.ProblemUserChanged,
	access.ErrUsername:    text.ProblemUsername,
	access.ErrScope:       text.ProblemScope, access.ErrPlatform: text.ProblemPlatform,
}

// Problem returns the status and the message of an error. It logs errors of the hub, and their message contains the
// request id.
func (s *Shell) Problem(c *fiber.Ctx, err error) (int, string) {
	id := string(c.Response().Header.Peek(fiber.HeaderXRequestID))
	var coded *core.Error
	if errors.As(err, &coded) && coded.Code != core.Internal {
		if coded.Cause != nil {
			s.Log.Warn("console request rejected", "request", id, "path", c.Path(), "error", err)
		}
		if message := problems[coded]; message != "" {
			return problem.Status(coded.Code), message
		}
		return problem.Status(coded.Code), coded.Message
	}
	if core.IsDatabaseUnavailable(err) {
		s.Log.Error("console page failed without database", "request", id, "path", c.Path(), "error",
			err)
		message := text.Unavailable
		if c.Method() != http.MethodGet {
			message = text.UnavailableDuringAction
		}
		return http.StatusServiceUnavailable, message
	}
	s.Log.Error("console page failed", "request", id, "path", c.Path(), "error", err)
	return http.StatusInternalServerError, format(text.Broken, id)
}
