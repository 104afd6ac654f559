package main

import (
	"slices"

	"github.com/servery-hub/servery/plugins/scaffold"
)

type pluginNew struct {
	Name       string `arg:"" help:"Id of the plugin: lower-case letters, digits and hyphens."`
	Dir        string `placeholder:"DIR" help:"New directory, plugins/NAME in the hub's checkout."`
	Module     string `placeholder:"PATH" help:"Go module path, by default example.com/NAME."`
	Source     string `env:"*" placeholder:"DIR" help:"Checkout of the hub, by default above this directory."`
	HubVersion string `placeholder:"VERSION" help:"Released version of the hub, instead of a checkout."`
	JSON       bool   `help:"Print JSON."`
}

// Run writes the package. In a checkout of the hub, it belongs to the hub's module.
func (c pluginNew) Run(out output) error {
	plan, next := scaffold.Options{ID: c.Name, Dir: c.Dir, Module: c.Module, Source: c.Source,
		Version: c.HubVersion}.WithDefaults()
	files, err := scaffold.Write(plan)
	if err != nil {
		return err
	}
	slices.Sort(files)
	return out.show(c.JSON, struct {
		Dir   string   `json:"dir"`
		Files []string `json:"files"`
	}{plan.Dir, files}, "wrote %d files to %s; next:\n\n    cd %s && %s\n", len(files), plan.Dir, plan.Dir, next)
}
