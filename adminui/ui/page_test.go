package ui_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
)

func TestPageIsWrittenAfterTheRequestDeadline(t *testing.T) {
	app := fiber.New()
	app.Get("/", func(c *fiber.Ctx) error {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		c.SetUserContext(over)
		return ui.Write(c, http.StatusServiceUnavailable, ui.FactsOf([]ui.Fact{{Label: "State", Cell: ui.T("away")}}))
	})
	response, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
}
