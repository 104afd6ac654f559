package main

import (
	"cmp"
	"slices"

	"github.com/servery-hub/servery/plugins/scaffold"
)

type pluginNew struct {
	Name       string `arg:"" help:"Id of the plugin: lower-case letters, digits and hyphens."`
	Dir        string `placeholder:"DIR" help:"New directory, by default named as the plugin."`
	Module     string `placeholder:"PATH" help:"Go module path, by default example.com/NAME."`
	Source     string `env:"*" placeholder:"DIR" help:"Checkout of the hub, by default above this directory."`
	HubVersion string `placeholder:"VERSION" help:"Released version of the hub, instead of a checkout."`
	JSON       bool   `help:"Print JSON."`
}

// Run writes the module.
func (c pluginNew) Run(out output) error {
	plan := scaffold.Options{ID: c.Name, Dir: cmp.Or(c.Dir, c.Name), Module: cmp.Or(c.Module, "example.com/"+c.Name),
		Source: c.Source, Version: c.HubVersion}
	if plan.Source == "" && plan.Version == "" {
		plan.Source, plan.Version = scaffold.DefaultSource(), scaffold.ReleasedVersion()
	}
	files, err := scaffold.Write(plan)
	if err != nil {
		return err
	}
	slices.Sort(files)
	next := "go test ./..."
	if plan.Source == "" {
		next = "go mod tidy && " + next
	}
	return out.show(c.JSON, struct {
		Dir   string   `json:"dir"`
		Files []string `json:"files"`
	}{plan.Dir, files}, "wrote %d files to %s; next:\n\n    cd %s && %s\n", len(files), plan.Dir, plan.Dir, next)
}
