// Package environ checks the environment variables of a command line before a command runs.
package environ

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Invalid returns an error for every environment variable that the selected command cannot parse. The parser would
// stop at the first one, so Invalid also resets their flags to the defaults.
func Invalid(parser *kong.Kong, args []string) (mistakes []error) {
	traced, err := kong.Trace(parser, args)
	if err != nil || traced.Error != nil {
		return nil // the arguments are wrong, which the parser reports
	}
	for _, flag := range traced.Flags() {
		for _, variable := range flag.Tag.Envs {
			text, set := os.LookupEnv(variable)
			if !set {
				continue
			}
			if err := parseError(flag, text); err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %w", variable, err))
				flag.Tag.Envs = nil
			}
		}
	}
	return mistakes
}

// Unknown returns an error for every environment variable whose name is almost that of a flag. The program would
// otherwise ignore it silently.
func Unknown(parser *kong.Kong, environ []string) (mistakes []error) {
	var known []string
	_ = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			known = append(known, flag.Tag.Envs...)
		}
		return next(nil)
	})
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "SERVERY_") || slices.Contains(known, name) {
			continue
		}
		near := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
		if distance(name, near) <= 2 {
			mistakes = append(mistakes, fmt.Errorf("%s: there is no such variable, did you mean %s?", name, near))
		}
	}
	return mistakes
}

// distance returns the edit distance of two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func parseError(flag *kong.Flag, text string) error {
	value := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text}), value); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "--"+flag.Name+": "))
	}
	if flag.Enum == "" {
		return nil
	}
	values := []string{fmt.Sprint(value.Interface())}
	if list, ok := value.Interface().([]string); ok {
		values = list
	}
	for _, one := range values {
		if !slices.Contains(flag.EnumSlice(), one) {
			return fmt.Errorf("must be one of: %s, not %q", strings.Join(flag.EnumSlice(), ", "), one)
		}
	}
	return nil
}

// checker is a command whose configuration can be checked without side effects.
type checker interface{ Check() error }

// mistakeReceiver is a command that reports configuration mistakes instead of failing because of them.
type mistakeReceiver interface{ SetMistakes(mistakes error) }

// Validate reports the environment mistakes of a parsed command, together with those that the command finds itself.
func Validate(parsed *kong.Context, mistakes []error) error {
	command := parsed.Selected().Target.Addr().Interface()
	if e, ok := command.(mistakeReceiver); ok {
		e.SetMistakes(errors.Join(mistakes...))
		return nil
	}
	if c, ok := command.(checker); ok {
		mistakes = append(mistakes, c.Check())
	}
	return errors.Join(mistakes...)
}
