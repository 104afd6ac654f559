package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

type pluginRun struct {
	pluginProgram
	File string `arg:"" help:"The question: {\"method\": \"Riders.PlanStatus\", \"request\": {…}}; - for standard input."`
	JSON bool   `help:"Print the answer on one line."`
}

// Run makes one call and prints the result.
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
	if c.Manifest { // an existing manifest may belong to an earlier build
		if isDir(c.Path) {
			return fmt.Errorf("%s is a directory: --manifest needs the program", c.Path)
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
		_, err = io.WriteString(out.stdout, sdk.Summary(about))
		return err
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
	binary, err := sdk.BinaryOf(c.Path)
	if err != nil {
		return err
	}
	text, err := sdk.ManifestOf(about, c.Transport, binary).YAML()
	if err == nil {
		_, err = out.stdout.Write(text)
	}
	return err
}
