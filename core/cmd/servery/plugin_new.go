package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/servery-hub/servery/plugins/scaffold"
)

type pluginNew struct {
	Name       string `arg:"" help:"Id of the plugin: lower-case letters, digits and hyphens."`
	Dir        string `placeholder:"DIR" help:"Where to write it; a new directory of the plugin's name."`
	Module     string `placeholder:"PATH" help:"Path of its Go module; example.com/NAME."`
	Source     string `env:"SERVERY_SOURCE" placeholder:"DIR" help:"A checkout of the hub to build with; found by itself above this directory or the program."`
	HubVersion string `name:"hub-version" placeholder:"VERSION" help:"A released version of the hub to build with, instead of a checkout."`
	JSON       bool   `help:"Print JSON."`
}

// Run writes the module.
func (c pluginNew) Run(out output) error {
	plan := scaffold.Plan{ID: c.Name, Dir: c.Dir, Module: c.Module, Source: c.Source, Version: c.HubVersion}
	if plan.Dir == "" {
		plan.Dir = c.Name
	}
	if plan.Module == "" {
		plan.Module = "example.com/" + c.Name
	}
	if plan.Source == "" && plan.Version == "" {
		plan.Source, plan.Version = hubSource(), releasedVersion()
	}
	files, err := scaffold.Write(plan)
	if err != nil {
		return err
	}
	slices.Sort(files)
	if c.JSON {
		return printJSON(out, struct {
			Dir   string   `json:"dir"`
			Files []string `json:"files"`
		}{plan.Dir, files}, nil)
	}
	next := "go test ./..."
	if plan.Source == "" {
		next = "go mod tidy && " + next
	}
	_, err = fmt.Fprintf(out.stdout, "wrote %d files to %s; next:\n\n    cd %s && %s\n", len(files), plan.Dir, plan.Dir,
		next)
	return err
}

// hubSource returns a checkout of the hub above this directory or the program, or "" if there is none.
func hubSource() string {
	program, _ := os.Executable() // without it, only the directory counts
	return scaffold.Source(".", filepath.Dir(program))
}

// releasedVersion returns the version of this program's module, or "" if it was built from a checkout.
func releasedVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(info.Main.Version) {
		return ""
	}
	return info.Main.Version
}
