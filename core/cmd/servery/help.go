package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
)

// examples contains the arguments of example commands, which the help shows.
var examples = map[string][]string{
	"serve":           {"--demo", "--database-url postgres://servery:PASSWORD@db.example.com/servery"},
	"simulator":       {"", "--fault fail:platform=aggregator-a,call=menu,status=500,times=2"},
	"listen":          {"--secret whsec_…", "--fail-first 2 --body"},
	"business create": {"--name Tasty --country US --timezone America/Chicago --currency USD"},
	"business list":   {""},
	"business set": {"--business 1 --acknowledge-within 5m --pos-silent-after 15m",
		"--business 1 --list-stores all"},
	"business callback-secret": {"--business 1"},
	"platform list":            {"--business 1"},
	"platform alias add":       {"--business 1 tasty-eats tasty"},
	"platform alias set":       {"--business 1 tasty-eats --no-sent"},
	"platform alias list":      {"--business 1"},
	"platform alias remove":    {"--business 1 tasty-eats"},
	"platform set": {"--business 1 tasty --plugin aggregator-a --settings @settings.json",
		"--business 1 tasty --endpoint api=https://api.example.com --secret api_key=@api.key"},
	"key create":           {"--business 1 --username pos", "--business 1 --username shop --scope channel"},
	"key list":             {"--business 1"},
	"key revoke":           {"--business 1 7"},
	"callback create":      {"--business 1 --platform tasty"},
	"user create":          {"--email sam@example.com --role admin", "--email kim@example.com --business 1"},
	"doctor":               {"", "--json"},
	"migrate up":           {""},
	"migrate down":         {"--yes"},
	"migrate status":       {""},
	"secrets rotate":       {"--dry-run", ""},
	"simulate order":       {"--store S-1 --count 10"},
	"simulate rush":        {"--store S-1 --rate 50 --for 10s"},
	"simulate rider":       {"--store S-1 --step 500ms"},
	"simulate cancel":      {"--store S-1 --count 10 --share 0.5"},
	"simulate edit":        {"--store S-1"},
	"simulate faults list": {""},
	"simulate faults on":   {"delay:platform=aggregator-b,call=rider_status,delay=2s,for=5m"},
	"simulate faults off":  {""},
	"version":              {""},
	"plugin dev":           {"./tasty"}, "plugin new": {"tasty --module example.com/tasty"},
	"plugin check":    {"bin/plugins/aggregator-a"},
	"plugin test":     {"bin/plugins/aggregator-a", "./tasty --golden testdata"},
	"plugin run":      {"./tasty request.json"},
	"plugin describe": {"./tasty", "./tasty --manifest"},
	"plugin list":     {""},
	"plugin install":  {"bin/plugins/tasty", "bin/plugins/tasty --wait"},
	"plugin enable":   {"tasty"},
	"plugin disable":  {"tasty"},
	"plugin remove":   {"tasty"},
	"plugin upgrade":  {"bin/plugins/tasty", "bin/plugins/tasty --wait --timeout 2m"},
	"plugin faults":   {"tasty", "tasty --stack"},
	"plugin retry":    {"tasty", "tasty 17 18"},
	"plugin logs":     {"tasty", "tasty --follow"},
	"plugin shared":   {"tasty", "tasty --secret signing_key=@signing.key"},
}

// notes are texts for the help of commands, before the examples.
var notes = map[string]string{
	"plugin list": pluginhost.QuarantineRule, "plugin enable": pluginhost.QuarantineRule,
	"plugin faults": pluginhost.QuarantineRule, "plugin retry": pluginhost.QuarantineRule,
	"doctor": "For each plugin it reports the state in the running hubs. If no hub runs a plugin, it tries to start " +
		"it here. " + pluginhost.QuarantineRule,
}

// describe adds the notes and examples to the help of the commands. It also sets the environment variable of each flag
// with the tag env:"*": SERVERY_ and the name of the flag.
func describe(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		switch node := node.(type) {
		case *kong.Command:
			name := strings.TrimSpace(strings.TrimPrefix(node.FullPath(), k.Model.Name))
			node.Detail = notes[name]
			if lines := examples[name]; lines != nil {
				node.Detail = strings.TrimPrefix(node.Detail+"\n\nExamples:\n", "\n\n")
				for _, line := range lines {
					node.Detail += "\n    " + strings.TrimSpace(node.FullPath()+" "+line)
				}
			}
		case *kong.Flag:
			if len(node.Envs) == 1 && node.Envs[0] == "*" {
				node.Envs = []string{"SERVERY_" + strings.ToUpper(strings.ReplaceAll(node.Name, "-", "_"))}
				node.Tag.Envs = node.Envs
			}
		}
		return next(nil)
	})
}

// remedies are the commands that help with an error, by a part of its text.
var remedies = []struct{ part, command string }{
	{"no business", "business list"}, {"no key", "key list --business ID"},
	{"no platform", "platform list --business ID"}, {"no plugin", "plugin list"},
}

// remedy names the command that helps with an error, if there is one.
func remedy(err error) string {
	if core.IsDatabaseUnavailable(err) {
		return "Run `servery doctor` to check the database.\n"
	}
	for _, r := range remedies {
		if core.CodeOf(err) != core.Internal && strings.Contains(err.Error(), r.part) {
			return "Run `servery " + r.command + "` to see what there is.\n"
		}
	}
	return ""
}

// helpHint names the command that explains a mistake in the arguments.
func helpHint(err error) string {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context.Selected() == nil {
		return "Run `servery --help` for the commands.\n"
	}
	return fmt.Sprintf("Run `%s --help` for its flags and examples.\n", parse.Context.Selected().FullPath())
}
