package shell

import (
	"net/http"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core/access"
)

// preference is a choice of the user about how pages look. A cookie keeps it.
type preference struct {
	path, field, cookie string
	values              []string // besides "", the default
}

var (
	themePreference   = preference{ThemePath, "theme", "servery-theme", []string{"light", "dark"}}
	zonePreference    = preference{ZonePath, "zone", "servery-zone", []string{"utc"}}
	densityPreference = preference{DensityPath, "density", "servery-density", []string{"compact"}}
	keysPreference    = preference{KeysPath, "keys", "servery-keys", []string{"off"}}
)

// of returns what the user has chosen.
func (p preference) of(c *fiber.Ctx) string {
	if i := slices.Index(p.values, c.Cookies(p.cookie)); i >= 0 {
		return p.values[i]
	}
	return ""
}

// route returns the route of the form that stores the choice and returns to the previous page.
func (p preference) route() Route {
	return Post(p.path, access.Viewer, func(c *fiber.Ctx, _ *PageContext) error {
		chosen := Field(c, p.field)
		if !slices.Contains(p.values, chosen) {
			chosen = ""
		}
		c.Cookie(&fiber.Cookie{Name: p.cookie, Value: chosen, Path: Root, HTTPOnly: true,
			SameSite: fiber.CookieSameSiteLaxMode, MaxAge: 365 * 24 * 3600})
		return c.Redirect(refererPath(c), http.StatusSeeOther)
	})
}

// look is how pages look to a user.
type look struct {
	Theme   string // light, dark, or "": as the system
	Density string // compact, or ""
	Keys    string // off, or "": keyboard shortcuts work
}

func lookOf(c *fiber.Ctx) look {
	return look{Theme: themePreference.of(c), Density: densityPreference.of(c), Keys: keysPreference.of(c)}
}

// ThemeOf returns the chosen theme, for public pages.
func ThemeOf(c *fiber.Ctx) string { return themePreference.of(c) }

// choices is a fieldset of the user menu.
type choices struct {
	preference
	legend, chosen string
	options        [][2]string // values with their labels
}

// choices returns the preferences of the user menu.
func (v *PageContext) choices() []choices {
	list := []choices{
		{themePreference, text.Theme, v.Theme,
			[][2]string{{"", text.ThemeSystem}, {"light", text.ThemeLight}, {"dark", text.ThemeDark}}},
		{densityPreference, text.Density, v.Density, [][2]string{{"", text.Comfortable}, {"compact", text.Compact}}},
		{keysPreference, text.KeysTitle, v.Keys, [][2]string{{"", text.KeysOn}, {"off", text.KeysOff}}},
	}
	if v.Business.ID != 0 && v.Business.Timezone != time.UTC.String() {
		chosen := ""
		if v.UTC {
			chosen = zonePreference.values[0]
		}
		list = append(list, choices{zonePreference, text.TimesIn, chosen,
			[][2]string{{"", v.Business.Timezone}, {zonePreference.values[0], "UTC"}}})
	}
	return list
}

// shortcut is a keyboard shortcut of the help.
type shortcut struct {
	keys []string
	what string
}

// shortcuts lists the keyboard shortcuts, which keys.js implements.
var shortcuts = []shortcut{
	{[]string{"j", "k"}, text.KeysMove}, {[]string{"o", "Enter"}, text.KeysOpen}, {[]string{"x"}, text.KeysSelect},
	{[]string{"r"}, text.KeysResend}, {[]string{"/", "Ctrl+K"}, text.KeysSearch}, {[]string{"?"}, text.KeysHelp},
}
