package main

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/servery-hub/servery/plugins/scaffold"
)

type pluginNew struct {
	Name       string `arg:"" help:"Id of the plugin: lower-case letters, digits and hyphens."`
	Dir        string `placeholder:"DIR" help:"New directory; in the hub's checkout, plugins/NAME."`
	Module     string `placeholder:"PATH" help:"Go module path, by default example.com/NAME."`
	Source     string `env:"*" placeholder:"DIR" help:"Checkout of the hub, by default above this directory."`
	HubVersion string `placeholder:"VERSION" help:"Released version of the hub, instead of a checkout."`
	JSON       bool   `help:"Print JSON."`
}

// Run writes the package. In a checkout of the hub, it belongs to the hub's module.
func (c pluginNew) Run(out output) error {
	plan := scaffold.Options{ID: c.Name, Dir: c.Dir, Module: cmp.Or(c.Module, "example.com/"+c.Name),
		Source: c.Source, Version: c.HubVersion}
	next := "go test ./..."
	if here := scaffold.Repository("."); plan.Dir == "" && here != "" {
		plan.Dir = filepath.Join(here, "plugins", c.Name)
	}
	plan.Dir = cmp.Or(plan.Dir, c.Name)
	plan.InRepository = c.Module+c.Source+c.HubVersion == "" && scaffold.Repository(plan.Dir) != ""
	switch {
	case plan.InRepository:
		next += " && make -C " + scaffold.Repository(plan.Dir) + " build"
	case plan.Source == "" && plan.Version == "":
		plan.Source, plan.Version = scaffold.DefaultSource(), scaffold.ReleasedVersion()
		fallthrough
	default:
		if plan.Source == "" {
			next = "go mod tidy && " + next
		}
	}
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
