package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

type pluginRun struct {
	pluginProgram
	File string `arg:"" help:"The question: {\"method\": \"Riders.PlanStatus\", \"request\": {…}}; - for standard input."`
	JSON bool   `help:"Print the answer on one line."`
}

// Run asks one question and prints the answer.
func (c pluginRun) Run(ctx context.Context, out output) error {
	text, err := readFile(c.File)
	if err != nil {
		return err
	}
	question, err := plugintest.ParseQuestion(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return c.with(func(_ string, running *plugintest.Running) error {
		answer, err := question.Answer(ctx, running.Client)
		if err != nil || c.JSON {
			return printJSON(out, json.RawMessage(answer), err)
		}
		_, err = out.stdout.Write(answer)
		return err
	})
}

func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

type pluginDescribe struct {
	pluginProgram
	JSON     bool `help:"Print everything, as JSON." xor:"form"`
	Manifest bool `help:"Print a plugin.yaml for the program on this system." xor:"form"`
}

// Run describes a program.
func (c pluginDescribe) Run(ctx context.Context, out output) error {
	if c.Manifest { // the one beside it may be of an earlier build
		if isDir(c.Path) {
			return fmt.Errorf("%s is a directory; --manifest needs the program", c.Path)
		}
		return c.manifest(ctx, out)
	}
	return c.with(func(_ string, running *plugintest.Running) error {
		about, err := running.Client.Describe(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			text, err := sdk.ToJSON(about)
			return printJSON(out, json.RawMessage(text), err)
		}
		return summarize(out, about)
	})
}

func (c pluginDescribe) manifest(ctx context.Context, out output) error {
	running, err := plugintest.Subprocess(c.Path, c.Transport).Start()
	if err != nil {
		return err
	}
	about, err := running.Client.Describe(ctx)
	if stopped := running.Stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	binary, err := binaryOf(c.Path)
	if err != nil {
		return err
	}
	text, err := sdk.ManifestOf(about, c.Transport, binary).YAML()
	if err == nil {
		_, err = out.stdout.Write(text)
	}
	return err
}

// binaryOf is the entry of a program in a manifest beside it. A script runs on
// every system.
func binaryOf(path string) (sdk.Binary, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return sdk.Binary{}, err
	}
	digest, err := sdk.Digest(strings.NewReader(string(text)))
	binary := sdk.Binary{OS: runtime.GOOS, Arch: runtime.GOARCH, Path: filepath.Base(path), SHA256: digest}
	if strings.HasPrefix(string(text), "#!") {
		binary.OS, binary.Arch = sdk.AnySystem, sdk.AnySystem
	}
	return binary, err
}

func summarize(out output, about *sdk.Description) error {
	var text strings.Builder
	row := func(name string, values ...string) {
		if len(values) > 0 {
			fmt.Fprintf(&text, "%-13s %s\n", name, strings.Join(values, ", "))
		}
	}
	row("plugin", about.GetId()+" "+about.GetVersion()+" ("+about.GetDisplayName()+")")
	row("capabilities", about.GetCapabilities()...)
	var groups, actions, endpoints, secrets, inbound []string
	for _, g := range about.GetVocabulary() {
		groups = append(groups, fmt.Sprintf("%s (%d keys)", g.GetGroup(), len(g.GetKeys())))
	}
	for _, a := range about.GetActions() {
		actions = append(actions, a.GetName())
	}
	for _, e := range about.GetEndpoints() {
		endpoints = append(endpoints, e.GetName()+" at "+strings.Join(e.GetHosts(), " or "))
	}
	for _, s := range about.GetSecrets() {
		secrets = append(secrets, s.GetName())
	}
	for _, i := range about.GetInbound() {
		inbound = append(inbound, i.GetKind())
	}
	row("vocabulary", groups...)
	row("actions", actions...)
	row("endpoints", endpoints...)
	row("secrets", secrets...)
	row("receives", inbound...)
	row("limits", fmt.Sprintf("%d MB, %d calls at a time", about.GetLimits().GetMemoryMb(), about.GetLimits().GetInFlight()))
	_, err := io.WriteString(out.stdout, text.String())
	return err
}
