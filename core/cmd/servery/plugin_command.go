package main

import (
	"context"
	"errors"
	"os"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/plugins/plugintest"
)

// pluginCommand contains the tools for plugin authors, which need no hub and no database. From List on, it contains
// the operation of a hub's plugins.
type pluginCommand struct {
	New      pluginNew      `cmd:"" help:"Create a Go module for a plugin, with tests."`
	Check    pluginCheck    `cmd:"" help:"Check a manifest, its digests and the start of its program."`
	Test     pluginTest     `cmd:"" help:"Run the conformance suite against a program."`
	Run      pluginRun      `cmd:"" help:"Call a program with a request from a JSON file."`
	Describe pluginDescribe `cmd:"" help:"Describe a program, or write its manifest."`

	List    pluginList    `cmd:"" help:"List the plugins of the hubs, with state and faults."`
	Install pluginInstall `cmd:"" help:"Install a plugin, which running hubs start."`
	Enable  pluginEnable  `cmd:"" help:"Enable a plugin, also one in quarantine."`
	Disable pluginDisable `cmd:"" help:"Disable a plugin after its running calls."`
	Remove  pluginRemove  `cmd:"" help:"Remove a plugin without platforms, and its files here."`
	Upgrade pluginUpgrade `cmd:"" help:"Replace a plugin without losing a call."`
	Faults  pluginFaults  `cmd:"" help:"Print the faults of a plugin and the requests set aside."`
	Retry   pluginRetry   `cmd:"" help:"Call a plugin again with requests that are set aside."`
	Shared  pluginShared  `cmd:"" help:"Set secrets of a plugin's shared URL, and print its paths."`
	Logs    pluginLogs    `cmd:"" help:"Print the last faults and log lines of a plugin."`
	Dev     pluginDev     `cmd:"" help:"Rebuild a plugin at each change, and show its calls."`
}

// pluginProgram is the program of a plugin on the command line.
type pluginProgram struct {
	Path      string `arg:"" help:"Program, its plugin.yaml, or the directory of both."`
	Transport string `default:"" enum:",mtls,socket" help:"Transport, by default that of the manifest."`
}

// with starts the program and calls do.
func (p pluginProgram) with(do func(program string, running *plugintest.Running) error) error {
	program, err := plugintest.Find(p.Path)
	if err != nil {
		return err
	}
	running, err := program.Driver(p.Transport).Start()
	if err != nil {
		return err
	}
	return errors.Join(do(program.Path, running), running.Stop())
}

// pluginCheck needs no hub. The program that it starts must not see the secrets and plugins of one on this machine.
type pluginCheck struct {
	databaseFlags
	pluginFlags
	File string `arg:"" help:"Manifest, or its directory."`
	JSON bool   `help:"Print JSON."`
}

// Run checks a manifest.
func (c pluginCheck) Run(ctx context.Context, out output) error {
	starts := ""
	manifest, started, err := aggregator.CheckManifest(ctx, c.File, append(c.config().SecretDirs(), c.dir()))
	if err != nil {
		return err
	}
	if started {
		starts = ", and it starts with the same description"
	}
	return out.show(c.JSON, manifest, "%s %s: the manifest is complete, the digests of %d programs are right%s\n",
		manifest.ID, manifest.Version, len(manifest.Binaries), starts)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
