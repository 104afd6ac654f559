package listen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/webhook"
)

// Validate returns all mistakes. They name the flags of `servery listen`, and repeat no secret.
func (c Config) Validate() error {
	var mistakes []error
	wrong := func(format string, values ...any) { mistakes = append(mistakes, fmt.Errorf(format, values...)) }
	for i, secret := range c.Secrets {
		if err := webhook.CheckSecret(secret); err != nil {
			wrong("--secret number %d: %w", i+1, err)
		}
	}
	if c.Status != nil && (*c.Status < 200 || *c.Status > 599) {
		wrong("--status: must be from 200 to 599; what begins with 1 is no final answer")
	}
	if c.FailStatus != nil && (*c.FailStatus < 300 || *c.FailStatus > 599) {
		wrong("--fail-status: must be from 300 to 599, or it is no failure")
	}
	if c.Redirect != "" && !environ.IsURL(c.Redirect) {
		wrong("--redirect: must be an address such as https://pos.example.com/hooks")
	}
	if c.Forward != "" && !environ.IsURL(c.Forward) {
		wrong("--forward: must be an address such as http://127.0.0.1:3000/hooks")
	}
	if c.ForwardTimeout <= 0 {
		wrong("--forward-timeout: must be longer than 0")
	}
	if c.Delay < 0 || c.FailFirst < 0 {
		wrong("--delay and --fail-first: must not be negative")
	}
	return errors.Join(append(mistakes, c.conflicts()...)...)
}

// conflicts returns the flags that exclude each other.
func (c Config) conflicts() (mistakes []error) {
	var chosen []string
	for _, answer := range []struct {
		flag  string
		given bool
	}{
		{"--status", c.Status != nil}, {"--hang", c.Hang}, {"--drop", c.Drop},
		{"--redirect", c.Redirect != ""}, {"--forward", c.Forward != ""},
	} {
		if answer.given {
			chosen = append(chosen, answer.flag)
		}
	}
	if len(chosen) > 1 {
		mistakes = append(mistakes,
			fmt.Errorf("%s are different answers: give one of them", strings.Join(chosen, " and ")))
	}
	if c.Hang && c.Delay > 0 {
		mistakes = append(mistakes,
			errors.New("--delay waits before an answer, and --hang gives none: give one of them"))
	}
	if c.FailFirst > 0 && (c.Hang || c.Drop || c.Redirect != "") {
		mistakes = append(mistakes,
			errors.New("--fail-first fails and then accepts: it goes with --status or --forward, not with --hang, "+
				"--drop or --redirect"))
	}
	if c.FailStatus != nil && c.FailFirst == 0 {
		mistakes = append(mistakes, errors.New("--fail-status says what --fail-first answers: give --fail-first too"))
	}
	return mistakes
}
