package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// doctorCommand checks what a hub with the same configuration would work with.
// It takes the flags of serve.
type doctorCommand struct {
	serveCommand
	JSON     bool `help:"Print JSON."`
	mistakes error
}

// verdict is what a check came to.
type verdict string

const (
	fine   verdict = "ok"
	doubt  verdict = "warn"
	broken verdict = "fail"
)

// diagnosis is the outcome of one check.
type diagnosis struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Do      string  `json:"do,omitzero"` // what mends it
}

// doctor gathers diagnoses.
type doctor struct {
	found []diagnosis
	log   *slog.Logger
}

func (d *doctor) say(check string, v verdict, found, do string) {
	d.found = append(d.found, diagnosis{check, v, found, do})
}

// examines takes the mistakes in the environment over (examiner).
func (c *doctorCommand) examines(mistakes error) { c.mistakes = mistakes }

var errUnwell = errors.New("something is broken; see above")

// Run makes every check, prints what it found, and fails if something is broken.
func (c *doctorCommand) Run(ctx context.Context, out output) error {
	d := &doctor{log: slog.New(slog.DiscardHandler)}
	c.examine(ctx, d)
	if c.JSON {
		if err := printJSON(out, d.found, nil); err != nil {
			return err
		}
	} else {
		d.print(out)
	}
	for _, one := range d.found {
		if one.Verdict == broken {
			return errUnwell
		}
	}
	return nil
}

func (c *doctorCommand) examine(ctx context.Context, d *doctor) {
	config, err := c.config()
	if err = errors.Join(c.mistakes, err, c.databaseFlags.check()); err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			d.say("configuration", broken, line, "correct the variable; `servery serve --help` says what it takes")
		}
	} else {
		d.say("configuration", fine, "every variable can be read", "")
	}
	d.disk("data directory", c.DataDir, c.DatabaseURL == "" || c.SecretKey == "")
	if c.databaseFlags.check() != nil {
		d.say("database", broken, "not looked at: its configuration is wrong", "correct what is said of the configuration first")
		return
	}
	db, err := d.open(ctx, c.databaseFlags)
	if err != nil {
		d.say("database", broken, err.Error(), mendsConnection(err))
		return
	}
	defer db.close(d.log)
	if !d.database(ctx, db.DB) {
		return
	}
	d.wall(ctx, db.DB)
	d.secrets(ctx, db.DB)
	d.plugins(ctx, c.dir(), db, c.DataDir)
	d.endpoints(ctx, db.DB, config.allow)
}

func (d *doctor) print(out output) {
	for _, one := range d.found {
		fmt.Fprintf(out.stdout, "%-4s  %-20s  %s\n", one.Verdict, one.Check, one.Found)
		if one.Do != "" {
			fmt.Fprintf(out.stdout, "%28s> %s\n", "", one.Do)
		}
	}
}
