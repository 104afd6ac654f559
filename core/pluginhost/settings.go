package pluginhost

import (
	"strings"

	"github.com/servery-hub/servery/plugins/sdk"
)

// WrongSettings tells in words what settings lack, or have that is wrong, by the schema
// that a plugin describes: the plugin itself is not asked, and may have more against them.
func WrongSettings(schema, settings []byte) (found []string) {
	problems, _ := sdk.CheckSettings(schema, settings) // a plugin whose schema is wrong does not start
	for _, p := range problems {
		found = append(found, InWords(p))
	}
	return found
}

// InWords says what is wrong with which setting.
func InWords(p *sdk.Problem) string {
	return strings.TrimSuffix("settings."+p.GetPath(), ".") + " " + p.GetMessage()
}
