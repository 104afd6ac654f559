package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
)

// copyRows gathers rows in the text format of COPY (PostgreSQL manual, COPY,
// File Formats): one line a row, tab between columns, \N for null.
type copyRows struct {
	buf   bytes.Buffer
	began bool // a column of the present row has been written
	err   error
}

var (
	copyEscaper  = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)
	arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

func (c *copyRows) column() {
	if c.began {
		c.buf.WriteByte('\t')
	}
	c.began = true
}

// end closes the row.
func (c *copyRows) end() {
	c.buf.WriteByte('\n')
	c.began = false
}

func (c *copyRows) null() {
	c.column()
	c.buf.WriteString(`\N`)
}

func (c *copyRows) raw(s string) { // needs no escaping
	c.column()
	c.buf.WriteString(s)
}

// text writes a string. What PostgreSQL cannot hold as text (invalid UTF-8, NUL)
// is replaced: it occurs only in what endpoints answer.
func (c *copyRows) text(s string) {
	c.column()
	_, _ = copyEscaper.WriteString(&c.buf, clean(s))
}

func clean(s string) string {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	return s
}

// copiedTime is an instant in UTC as COPY reads it, cut off after the microsecond.
const copiedTime = "2006-01-02 15:04:05.999999Z"

func (c *copyRows) int(n int64)            { c.raw(strconv.FormatInt(n, 10)) }
func (c *copyRows) id(id core.ID)          { c.raw(id.String()) }
func (c *copyRows) time(t time.Time)       { c.raw(t.UTC().Format(copiedTime)) }
func (c *copyRows) bool(b bool)            { c.raw(strconv.FormatBool(b)) }
func (c *copyRows) bytes(b []byte)         { c.raw(`\\x` + hex.EncodeToString(b)) }
func (c *copyRows) micros(d time.Duration) { c.int(d.Microseconds()) }

// json writes a value as JSON; a nil slice or map is null.
func (c *copyRows) json(isNil bool, v any) {
	if isNil {
		c.null()
		return
	}
	encoded, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		c.err = err
	}
	c.text(string(encoded))
}

// texts writes an array of text; nil is null.
func (c *copyRows) texts(list []string) {
	if list == nil {
		c.null()
		return
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = arrayEscaper.WriteString(&b, s)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	c.text(b.String())
}

// nonZero writes a number; 0 is null.
func nonZero(c *copyRows, n int64) {
	if n == 0 {
		c.null()
		return
	}
	c.int(n)
}

// nonEmpty writes a text; "" is null.
func nonEmpty(c *copyRows, s string) {
	if s == "" {
		c.null()
		return
	}
	c.text(s)
}

// optional writes the value that p points at, or null.
func optional[T any](c *copyRows, p *T, write func(T)) {
	if p == nil {
		c.null()
		return
	}
	write(*p)
}

// copyInto sends the rows to the table, on the connection of a transaction.
func (c *copyRows) copyInto(ctx context.Context, conn bun.Conn, table, columns string) error {
	if c.err != nil {
		return fmt.Errorf("writing rows for %s: %w", table, c.err)
	}
	if c.buf.Len() == 0 {
		return nil
	}
	if _, err := pgdriver.CopyFrom(ctx, conn, &c.buf, "COPY "+table+" ("+columns+") FROM STDIN"); err != nil {
		return fmt.Errorf("copying rows into %s: %w", table, copyEnded(conn, err))
	}
	return nil
}

// copyEnded gives the connection up where a COPY broke off in the middle: what the
// server still sends belongs to no later query.
func copyEnded(conn bun.Conn, err error) error {
	var answer pgdriver.Error
	if !errors.As(err, &answer) {
		discard(conn)
	}
	return err
}

// stage sends the rows to a temporary table, which is made where the session does
// not have it and empty again when the transaction has ended.
func (c *copyRows) stage(ctx context.Context, tx bun.Conn, table, definition, columns string) error {
	if _, err := tx.ExecContext(ctx, "CREATE TEMP TABLE IF NOT EXISTS "+table+" ("+definition+") ON COMMIT DELETE ROWS"); err != nil {
		return fmt.Errorf("making %s: %w", table, err)
	}
	return c.copyInto(ctx, tx, table, columns)
}
