package pluginhost

import (
	"strings"

	"github.com/servery-hub/servery/plugins/sdk"
)

// SettingsProblems describes the problems of settings, by the schema in a plugin's description. It does not call the
// plugin, which may reject them for other reasons.
func SettingsProblems(schema, settings []byte) (found []string) {
	problems, _ := sdk.CheckSettings(schema, settings) // a plugin with a broken schema does not start
	for _, p := range problems {
		found = append(found, FormatProblem(p))
	}
	return found
}

// FormatProblem formats a problem of a setting for people.
func FormatProblem(p *sdk.Problem) string {
	return strings.TrimSuffix("settings."+p.GetPath(), ".") + " " + p.GetMessage()
}
