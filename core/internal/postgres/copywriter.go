package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// CopyWriter collects rows in the text format of COPY: one line per row, tab between
// columns, \N for null (PostgreSQL manual, COPY, File Formats).
type CopyWriter struct {
	Buf        bytes.Buffer
	scratch    bytes.Buffer // of the JSON of a column
	rowStarted bool         // the current row has a column
	err        error
}

var (
	copyEscaper  = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)
	arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

func (c *CopyWriter) column() {
	if c.rowStarted {
		c.Buf.WriteByte('\t')
	}
	c.rowStarted = true
}

// End ends the row.
func (c *CopyWriter) End() {
	c.Buf.WriteByte('\n')
	c.rowStarted = false
}

func (c *CopyWriter) null() {
	c.column()
	c.Buf.WriteString(`\N`)
}

// Raw writes a column that needs no escaping.
func (c *CopyWriter) Raw(s string) {
	c.column()
	c.Buf.WriteString(s)
}

// Text writes a string. It replaces what PostgreSQL cannot store as text: invalid UTF-8
// and NUL. Only responses of endpoints contain such bytes.
func (c *CopyWriter) Text(s string) {
	c.column()
	_, _ = copyEscaper.WriteString(&c.Buf, CleanText(s))
}

// CleanText replaces the bytes that PostgreSQL cannot store as text.
func CleanText(s string) string {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	return s
}

// CopyTimeLayout is the layout of a UTC time for COPY, with microseconds.
const CopyTimeLayout = "2006-01-02 15:04:05.999999Z"

// Int writes an integer column.
func (c *CopyWriter) Int(n int64) { c.Raw(strconv.FormatInt(n, 10)) }

// ID writes an id column.
func (c *CopyWriter) ID(id core.ID) { c.Raw(id.String()) }

// Time writes a time column.
func (c *CopyWriter) Time(t time.Time) { c.Raw(t.UTC().Format(CopyTimeLayout)) }

// Bool writes a boolean column.
func (c *CopyWriter) Bool(b bool) { c.Raw(strconv.FormatBool(b)) }

// Bytes writes a bytea column.
func (c *CopyWriter) Bytes(b []byte) { c.Raw(`\\x` + hex.EncodeToString(b)) }

// Micros writes a duration in microseconds.
func (c *CopyWriter) Micros(d time.Duration) { c.Int(d.Microseconds()) }

// JSON writes a value as JSON, or null if isNil is set.
func (c *CopyWriter) JSON(isNil bool, v any) {
	if isNil {
		c.null()
		return
	}
	if headers, simple := v.(map[string]string); simple { // of each attempt: without reflection
		c.Text(string(appendObject(nil, headers)))
		return
	}
	c.scratch.Reset()
	if err := json.MarshalWrite(&c.scratch, v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		c.err = err
	}
	c.column()
	for rest := c.scratch.Bytes(); len(rest) > 0; { // JSON has no other bytes that COPY escapes
		end := bytes.IndexByte(rest, '\\') + 1
		if end == 0 {
			c.Buf.Write(rest)
			return
		}
		c.Buf.Write(rest[:end])
		c.Buf.WriteByte('\\')
		rest = rest[end:]
	}
}

// appendObject appends a JSON object with sorted names. Invalid UTF-8 is replaced.
func appendObject(b []byte, members map[string]string) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, name)
		b = append(b, ':')
		b, _ = jsontext.AppendQuote(b, members[name])
	}
	return append(b, '}')
}

// Texts writes an array of text, or null for a nil list.
func (c *CopyWriter) Texts(list []string) {
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
	c.Text(b.String())
}

// NonZero writes a value, or null for 0 and "".
func NonZero[T int64 | string](c *CopyWriter, v T, write func(T)) {
	if v == *new(T) {
		c.null()
		return
	}
	write(v)
}

// Optional writes the value that p points to, or null.
func Optional[T any](c *CopyWriter, p *T, write func(T)) {
	if p == nil {
		c.null()
		return
	}
	write(*p)
}

// CopyInto copies the rows into the table, on the connection of a transaction.
func (c *CopyWriter) CopyInto(ctx context.Context, conn bun.Conn, table, columns string) error {
	if c.err != nil {
		return fmt.Errorf("writing rows for %s: %w", table, c.err)
	}
	if c.Buf.Len() == 0 {
		return nil
	}
	if _, err := pgdriver.CopyFrom(ctx, conn, &c.Buf, "COPY "+table+" ("+columns+") FROM STDIN"); err != nil {
		return fmt.Errorf("copying rows into %s: %w", table, discardBrokenCopy(conn, err))
	}
	return nil
}

// discardBrokenCopy discards the connection if a COPY ended in the middle. The server may still
// send data that the next query would read.
func discardBrokenCopy(conn bun.Conn, err error) error {
	var rejection pgdriver.Error
	if !errors.As(err, &rejection) {
		Discard(conn)
	}
	return err
}

// Stage copies the rows into a temporary table that has no others. The session creates the table once.
func (c *CopyWriter) Stage(ctx context.Context, tx bun.Conn, table, definition, columns string) error {
	if _, err := tx.ExecContext(ctx, "CREATE TEMP TABLE IF NOT EXISTS "+table+" ("+definition+
		") ON COMMIT DELETE ROWS; DELETE FROM "+table); err != nil {
		return fmt.Errorf("creating %s: %w", table, err)
	}
	return c.CopyInto(ctx, tx, table, columns)
}
