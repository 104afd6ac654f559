package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

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

// misnamed are the variables of the environment that are no flag's, but nearly: what
// they were to say would go unheard.
func misnamed(parser *kong.Kong, environ []string) (mistakes []error) {
	var known []string
	_ = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, is := node.(*kong.Flag); is {
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
			mistakes = append(mistakes, fmt.Errorf("%s: there is no such variable; is %s meant?", name, near))
		}
	}
	return mistakes
}

// distance is how many letters are added, taken away or changed between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0]++
		for j := range len(b) {
			changed := corner
			if a[i] != b[j] {
				changed++
			}
			corner = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
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
	if f.Connections != 0 && (f.Connections < 8 || f.Connections > 1000) {
		mistakes = append(mistakes, errors.New("SERVERY_DATABASE_CONNECTIONS: must be from 8 to 1000"))
	}
	if f.DatabaseURL != "" {
		mistakes = append(mistakes, postgres.CheckURL(f.DatabaseURL))
	} else if _, set := os.LookupEnv("SERVERY_DATABASE_URL"); set {
		mistakes = append(mistakes, errors.New("SERVERY_DATABASE_URL: is set, but empty; unset it where the private PostgreSQL is meant"))
	}
	return errors.Join(mistakes...)
}

// check finds what is wrong with the flags of a hub, all of it.
func (c serveCommand) check() error {
	_, err := c.config()
	err = errors.Join(err, c.databaseFlags.check())
	if c.LogFile == "" {
		return err
	}
	opened, unlogged := openLog(c.LogFile)
	if unlogged == nil {
		unlogged = opened.Close()
	}
	return errors.Join(err, unlogged)
}

// places tells which addresses and directories of the flags are none.
func (c serveCommand) places() (mistakes []error) {
	if _, port, err := net.SplitHostPort(c.Listen); err != nil {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_LISTEN: must be HOST:PORT, not %q", c.Listen))
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_LISTEN: there is no port %q", port))
	}
	if info, err := os.Stat(c.PluginDir); c.PluginDir != "" && (err != nil || !info.IsDir()) {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_PLUGIN_DIR: there is no directory %s", c.PluginDir))
	}
	return append(mistakes, c.simulatorFlags.wrong())
}

// wrongBase tells what is wrong with a hub's address as people reach it: its pages
// name each other from the root on, so nothing may follow the host.
func wrongBase(text string) error {
	u, err := url.Parse(text)
	if err == nil && isAddress(text) && strings.EqualFold(strings.TrimSuffix(text, "/"), u.Scheme+"://"+u.Host) {
		return nil
	}
	return errors.New("SERVERY_BASE_URL: must be an address such as https://hub.example.com, without a path")
}

// isAddress tells whether a text is the address of something that speaks HTTP.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && (u.Scheme == "https" || u.Scheme == "http")
}
