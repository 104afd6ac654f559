package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginCommand contains the tools for plugin authors, which need no hub and no database. From List on, it contains
// the operation of a hub's plugins.
type pluginCommand struct {
	New      pluginNew      `cmd:"" help:"Write the beginning of a plugin: a Go module of its own, with tests that pass."`
	Check    pluginCheck    `cmd:"" help:"Check a manifest and the digest of the programs that it lists, and start the one for this system once."`
	Test     pluginTest     `cmd:"" help:"Run the conformance suite against a program."`
	Run      pluginRun      `cmd:"" help:"Ask a program one question, from a JSON file."`
	Describe pluginDescribe `cmd:"" help:"Tell what a program says of itself, or write its manifest."`

	List    pluginList    `cmd:"" help:"List the plugins of the hub, how they are and what went wrong with them."`
	Install pluginInstall `cmd:"" help:"Put a plugin where the hub finds it; a running hub starts it. Key-value groups that it declares count from the hubs' next start."`
	Enable  pluginEnable  `cmd:"" help:"Have the hubs run a plugin; one in quarantine is tried again."`
	Disable pluginDisable `cmd:"" help:"Have the hubs end a plugin after its calls under way."`
	Remove  pluginRemove  `cmd:"" help:"Take a plugin that serves no platform off every hub, and delete its files here."`
	Upgrade pluginUpgrade `cmd:"" help:"Put another version in the place of a plugin; running hubs change over without losing a call."`
	Logs    pluginLogs    `cmd:"" help:"Print the last lines that a plugin logged, in the hub that told of it last."`
}

// pluginProgram is the program of a plugin on the command line.
type pluginProgram struct {
	Path      string `arg:"" help:"The program, its plugin.yaml, or the directory of both."`
	Transport string `default:"" enum:",mtls,socket" help:"How it is talked to, mtls or socket; of the manifest, else mtls."`
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

type pluginCheck struct {
	File string `arg:"" help:"The manifest, or the directory it is in."`
	JSON bool   `help:"Print JSON."`
}

// Run checks a manifest.
func (c pluginCheck) Run(ctx context.Context, out output) error {
	file := c.File
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, sdk.ManifestName)
	}
	manifest, err := sdk.ReadManifest(file)
	if err != nil {
		return err
	}
	for _, binary := range manifest.Binaries {
		err = errors.Join(err, binary.VerifyIn(filepath.Dir(file)))
	}
	starts := "" // if this system can run it
	if _, other := manifest.Binary(runtime.GOOS, runtime.GOARCH); err == nil && other == nil &&
		filepath.Base(file) == sdk.ManifestName {
		starts = "; it starts, and says the same of itself"
		err = aggregator.TryOut(ctx, filepath.Dir(file), manifest.ID, func(pluginhost.Plugin) error { return nil })
	}
	if err != nil || c.JSON {
		return printJSON(out, manifest, err)
	}
	_, err = fmt.Fprintf(out.stdout, "%s %s: the manifest is complete, and the digest of %d program(s) is right%s\n",
		manifest.ID, manifest.Version, len(manifest.Binaries), starts)
	return err
}

type pluginTest struct {
	pluginProgram
	Golden string `placeholder:"DIR" help:"Directory of NAME.input.json and NAME.golden.json; testdata beside the program, if there is one."`
	JSON   bool   `help:"Print one line of JSON for each check."`
}

// Run runs the suite.
func (c pluginTest) Run(ctx context.Context, out output) error {
	program, err := plugintest.Find(c.Path)
	if err != nil {
		return err
	}
	if beside := filepath.Join(filepath.Dir(program.Path), "testdata"); c.Golden == "" && isDir(beside) {
		c.Golden = beside
	}
	var failed, ran int
	options := plugintest.Options{Golden: c.Golden, Manifest: program.Manifest}
	err = plugintest.Check(ctx, program.Driver(c.Transport), options, func(r plugintest.Result) {
		ran++
		if r.Error != "" {
			failed++
		}
		c.print(out, r)
	})
	switch {
	case err != nil:
		return err
	case failed > 0:
		return fmt.Errorf("%d of %d checks failed", failed, ran)
	case !c.JSON:
		fmt.Fprintf(out.stdout, "all %d checks passed\n", ran)
	}
	return nil
}

func (c pluginTest) print(out output, r plugintest.Result) {
	switch {
	case c.JSON:
		_ = printJSON(out, r, nil)
	case r.Error != "":
		fmt.Fprintf(out.stdout, "FAIL  %s\n      %s\n", r.Check, r.Error)
	default:
		fmt.Fprintf(out.stdout, "ok    %s\n", r.Check)
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
