package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// misread says what is wrong with every environment variable that the command
// of the arguments has a flag for and cannot read. The parser would stop at the first
// of them: their flags are given their defaults instead.
func misread(parser *kong.Kong, args []string) (mistakes []error) {
	traced, err := kong.Trace(parser, args)
	if err != nil || traced.Error != nil {
		return nil // the arguments themselves are wrong, which the parser says
	}
	for _, flag := range traced.Flags() {
		for _, variable := range flag.Tag.Envs {
			text, set := os.LookupEnv(variable)
			if !set {
				continue
			}
			if err := readable(flag, text); err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %w", variable, err))
				flag.Tag.Envs = nil
			}
		}
	}
	return mistakes
}

func readable(flag *kong.Flag, text string) error {
	value := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text}), value); err != nil {
		return err
	}
	if flag.Enum == "" {
		return nil
	}
	chosen := []string{fmt.Sprint(value.Interface())}
	if list, several := value.Interface().([]string); several {
		chosen = list
	}
	for _, one := range chosen {
		if !slices.Contains(flag.EnumSlice(), one) {
			return fmt.Errorf("must be of %v, not %q", flag.EnumSlice(), one)
		}
	}
	return nil
}

// checked is a command whose configuration can be checked without doing anything.
type checked interface{ check() error }

// examiner is a command that tells of mistakes instead of being kept from
// running by them.
type examiner interface{ examines(mistakes error) }

// beforehand decides about the mistakes in the environment of a parsed command:
// they come at once, together with those that the command finds itself.
func beforehand(parsed *kong.Context, mistakes []error) error {
	command := parsed.Selected().Target.Addr().Interface()
	if e, ok := command.(examiner); ok {
		e.examines(errors.Join(mistakes...))
		return nil
	}
	if c, ok := command.(checked); ok {
		mistakes = append(mistakes, c.check())
	}
	return errors.Join(mistakes...)
}

// check finds what is wrong with the flags of the database, all of it.
func (f databaseFlags) check() error {
	var mistakes []error
	if f.SecretKey != "" {
		if _, err := postgres.NewSealer(f.SecretKey); err != nil {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_SECRET_KEY: %w", err))
		}
	}
	for i, key := range f.SecretKeyPrevious {
		if _, err := postgres.NewSealer(key); err != nil {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_SECRET_KEY_PREVIOUS: key %d: %w", i+1, err))
		}
	}
	if f.DatabaseURL != "" {
		mistakes = append(mistakes, postgres.CheckURL(f.DatabaseURL))
	}
	return errors.Join(mistakes...)
}

// check finds what is wrong with the flags of a hub, all of it.
func (c serveCommand) check() error {
	_, err := c.config()
	return errors.Join(err, c.databaseFlags.check())
}
