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
	File string `arg:"" help:"File with {\"method\": …, \"request\": …}, or - for standard input."`
	JSON bool   `help:"Print the response on one line."`
}

// Run makes one call and prints the result, and then the plugin's log to standard error.
func (c pluginRun) Run(ctx context.Context, out output) error {
	text, err := readFile(c.File)
	if err != nil {
		return err
	}
	call, err := plugintest.ParseRequest(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	var called *plugintest.Running
	err = c.with(func(_ string, running *plugintest.Running) error {
		called = running
		response, err := call.ResultJSON(ctx, running.Client)
		if err != nil {
			return err
		}
		return out.show(c.JSON, json.RawMessage(response), "%s", response)
	})
	if called != nil { // it has ended, and its log is complete
		called.WriteLog(out.stderr, "log: ")
	}
	return err
}

func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

type pluginDescribe struct {
	pluginProgram
	JSON     bool `help:"Print the whole description as JSON." xor:"form"`
	Manifest bool `help:"Print a plugin.yaml for the program on this system." xor:"form"`
}

// Run describes a program.
func (c pluginDescribe) Run(ctx context.Context, out output) error {
	if c.Manifest { // an existing manifest may belong to an earlier build
		if isDir(c.Path) {
			return fmt.Errorf("%s is a directory: --manifest needs the program", c.Path)
		}
		text, err := plugintest.ManifestOf(ctx, c.Path, c.Transport)
		if err != nil {
			return err
		}
		return out.show(false, nil, "%s", text)
	}
	return c.with(func(_ string, running *plugintest.Running) error {
		about, err := running.Client.Describe(ctx)
		if err != nil {
			return err
		}
		text, err := sdk.ToJSON(about)
		if err != nil {
			return err
		}
		return out.show(c.JSON, json.RawMessage(text), "%s", sdk.Summary(about))
	})
}
