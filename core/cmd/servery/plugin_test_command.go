package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/servery-hub/servery/plugins/plugintest"
)

type pluginTest struct {
	pluginProgram
	Golden string `placeholder:"DIR" help:"Directory of NAME.input.json, else testdata beside or above the program."`
	JSON   bool   `help:"Print one line of JSON for each check."`
}

// Run runs the suite.
func (c pluginTest) Run(ctx context.Context, out output) error {
	program, err := plugintest.Find(c.Path)
	if err != nil {
		return err
	}
	var failed, ran int
	options := plugintest.Options{Golden: cmp.Or(c.Golden, program.Golden()), Manifest: program.Manifest}
	err = plugintest.Check(ctx, program.Driver(c.Transport), options, func(r plugintest.Result) {
		ran++
		if r.Error == "" {
			_ = out.show(c.JSON, r, "ok    %s\n", r.Check)
			return
		}
		failed++
		_ = out.show(c.JSON, r, "FAIL  %s\n      %s\n", r.Check, r.Error)
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
