package listen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/webhook"
)

// Check returns all mistakes. They name the flags of `servery listen`, and repeat no secret.
func (c Config) Check() error {
	var mistakes []error
	wrong := func(format string, values ...any) { mistakes = append(mistakes, fmt.Errorf(format, values...)) }
	for i, secret := range c.Secret {
		if err := webhook.CheckSecret(secret); err != nil {
			wrong("--secret number %d: %w", i+1, err)
		}
	}
	if c.Status != nil && (*c.Status < 200 || *c.Status > 599) {
		wrong("--status: must be from 200 to 599")
	}
	if c.FailStatus != nil && (*c.FailStatus < 300 || *c.FailStatus > 599) {
		wrong("--fail-status: must be from 300 to 599")
	}
	if c.Redirect != "" && !environ.IsURL(c.Redirect) {
		wrong("--redirect: must be a URL such as https://pos.example.com/hooks")
	}
	if c.Forward != "" && !environ.IsURL(c.Forward) {
		wrong("--forward: must be a URL such as http://127.0.0.1:3000/hooks")
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
	for _, choice := range []struct {
		flag  string
		given bool
	}{
		{"--status", c.Status != nil}, {"--hang", c.Hang}, {"--drop", c.Drop},
		{"--redirect", c.Redirect != ""}, {"--forward", c.Forward != ""},
	} {
		if choice.given {
			chosen = append(chosen, choice.flag)
		}
	}
	if len(chosen) > 1 {
		mistakes = append(mistakes,
			fmt.Errorf("%s cannot be combined: use one of them", strings.Join(chosen, " and ")))
	}
	if c.Hang && c.Delay > 0 {
		mistakes = append(mistakes,
			errors.New("--delay and --hang cannot be combined: use one of them"))
	}
	if c.FailFirst > 0 && (c.Hang || c.Drop || c.Redirect != "") {
		mistakes = append(mistakes,
			errors.New("--fail-first cannot be combined with --hang, --drop or --redirect"))
	}
	if c.FailStatus != nil && c.FailFirst == 0 {
		mistakes = append(mistakes, errors.New("--fail-status requires --fail-first"))
	}
	return mistakes
}
