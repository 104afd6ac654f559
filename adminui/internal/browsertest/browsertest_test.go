package browsertest_test

import (
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
)

func TestWithoutChromiumTheTestIsSkipped(t *testing.T) {
	skipped := false
	t.Run("a test", func(t *testing.T) {
		t.Setenv("PATH", "")
		t.Setenv("CHROMIUM", "")
		t.Setenv("CI", "")
		defer func() { skipped = t.Skipped() }()
		browsertest.Start(t)
	})
	assert.True(t, skipped)
}

func TestBrowserProblemsAreCollected(t *testing.T) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", func(c *fiber.Ctx) error {
		c.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'")
		c.Type("html", "utf-8")
		return c.SendString(`<title>t</title><main><p style="color: red">x</p><script>alert(1)</script><script ` +
			`src="/thrown.js"></script></main>`)
	})
	app.Get("/thrown.js", func(c *fiber.Ctx) error {
		c.Type("js", "utf-8")
		return c.SendString(`console.error("logged"); throw new Error("thrown")`)
	})
	app.Get("/favicon.ico", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusNoContent) })
	page := browsertest.Start(t).Open(t, browsertest.Serve(t, app)+"/", browsertest.Views()[0])
	var all string
	for _, problem := range page.Problems() {
		all += problem + "\n"
	}
	for _, part := range []string{"inline style", "inline script", `console: "logged"`, "thrown"} {
		assert.Contains(t, all, part)
	}
}
